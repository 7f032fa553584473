"""What an idempotency key was used for, as the entry that keeps it says.

For workflow tokens `docs/spec/wire.md` 3.16, for runs `docs/spec/statechart.md` 16.
"""

from __future__ import annotations

from typing import Any, Final

from stateous.json import JsonText
from stateous_controlplane.engine.rows import KeyUse
from stateous_controlplane.store.port import Loaded, Needs

#: What the caller was told, by the kind of the entry that has the key.
_RESULTS: Final = {
    "event_accepted": "taken",
    "event_kept": "kept",
    "event_dropped": "dropped",
    "event_deferred": "held",
}


def key_use(kind: str, data: JsonText) -> KeyUse:
    """The event, and what came with it, of the entry with a key."""
    value: dict[str, Any] = data.value
    if "from" in value:
        return KeyUse(value["event"], JsonText.of(value["data"]), _RESULTS[kind])
    payload = value.get("payload")
    return KeyUse(value["event"], None if payload is None else JsonText.of(payload))


def of_ticket(use: KeyUse, answered: JsonText) -> KeyUse:
    """``use`` of an answer; ``answered`` is the `ticket_answered` entry before that of the key."""
    return use._replace(ticket=answered.value["id"])


def answer_keys(needs: Needs, found: Loaded) -> set[tuple[str, str]]:
    """The keys that answers came with, each with the run of its ticket."""
    return {
        (ticket.token, key)
        for digest, keys in needs.digests.items()
        if (ticket := found.tickets.get(digest)) is not None
        for key in keys
    }
