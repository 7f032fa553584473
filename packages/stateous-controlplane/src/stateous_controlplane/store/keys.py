"""What an idempotency key was used for, as the entry that keeps it says (`wire.md` 3.16)."""

from __future__ import annotations

from stateous.json import JsonText
from stateous_controlplane.engine.rows import KeyUse


def key_use(data: JsonText) -> KeyUse:
    """The event and payload in ``data``, of an `event_accepted` or `event_deferred` entry."""
    payload = data.value.get("payload")
    return KeyUse(data.value["event"], None if payload is None else JsonText.of(payload))
