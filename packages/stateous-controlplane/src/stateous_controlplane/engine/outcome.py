"""What an outcome leaves behind besides its event: context changes and timers."""

from __future__ import annotations

from collections.abc import Sequence

from stateous.durations import parse_duration
from stateous.json import JsonText
from stateous_controlplane.engine.commands import Schedule
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.enter import record_timer
from stateous_controlplane.engine.rows import TimerKind


def save_changes(draft: Draft, token: str, context: JsonText, changes: JsonText | None) -> None:
    """The token's context is ``context`` now; the ledger names the keys of ``changes``."""
    if changes is not None and changes.value:
        draft.token(token).context = context
        draft.record(token, "context_changed", keys=sorted(changes.value))


def save_schedules(draft: Draft, token: str, schedules: Sequence[Schedule]) -> None:
    """Set the timers; their time counts from now."""
    for each in schedules:
        timer = draft.add_timer(
            draft.seen(token),
            TimerKind.TIMER,
            each.event,
            parse_duration(each.after),
            each.payload,
        )
        record_timer(draft, timer)
