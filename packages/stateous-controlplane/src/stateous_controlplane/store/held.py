"""Held events, as their `event_deferred` entries have them.

Of workflow tokens: `docs/spec/wire.md` 3.15, 4; of runs: `docs/spec/statechart.md` 13, 15.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from stateous.json import JsonText
from stateous_controlplane.engine.rows import Held


def held_event(token: str, seq: int, top: str, arrival: int, at: datetime, data: JsonText) -> Held:
    """The held event of an entry and its row of `kept`."""
    value: dict[str, Any] = data.value
    return Held(
        token=token,
        seq=seq,
        top=top,
        arrival=arrival,
        at=at,
        event=value["event"],
        payload=JsonText.of(value["data"]) if "from" in value else _text(value.get("payload")),
        task=value.get("task"),
        state=value.get("state"),
        visit=value.get("visit"),
        changes=_text(value.get("context")),
        schedules=_text(value.get("schedules")),
        source=value.get("from"),
        sender=value.get("sender"),
        send=value.get("send"),
    )


def _text(value: Any) -> JsonText | None:
    return None if value is None else JsonText.of(value)
