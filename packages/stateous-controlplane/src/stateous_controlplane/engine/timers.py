"""Timers that are due (`docs/spec/wire.md` 3.14)."""

from __future__ import annotations

from typing import assert_never

from stateous_controlplane.engine.choosing import Ambiguous, Untaken
from stateous_controlplane.engine.commands import FireTimer
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.enter import take
from stateous_controlplane.engine.fire import refuse_event
from stateous_controlplane.engine.leave import fail, flow_of
from stateous_controlplane.engine.replies import Reply, Skipped, TokenReply
from stateous_controlplane.engine.routing import Taken, route
from stateous_controlplane.engine.rows import Status, TimerKind, TimerStatus


def fire_timer(draft: Draft, command: FireTimer) -> Reply:
    """Let a due timer's event move its token; look again, for it may be over or moved."""
    timer = draft.family.timers.get(command.timer)
    if timer is None or not timer.ready or timer.due_at > draft.now:
        return Skipped()
    token = draft.seen(timer.token)
    if token.status is not Status.ACTIVE or (token.state, token.visit) != (
        timer.state,
        timer.visit,
    ):
        return Skipped()
    row = draft.timer(timer.id)
    row.status = TimerStatus.FIRED
    row.ready = False
    draft.record(timer.token, "timer_fired", event=timer.event)
    flow = flow_of(draft, timer.token)
    chosen = route(draft, flow, token, timer.event, timer.payload, token.context)
    match chosen:
        case Taken():
            take(draft, flow, timer.token, timer.event, timer.payload, chosen)
        case Ambiguous(reason):
            fail(draft, timer.token, reason)
        case Untaken(reason) if timer.kind is TimerKind.TIMEOUT:
            fail(draft, timer.token, f"{timer.state!r} timed out: {reason}")
        case Untaken(reason):
            refuse_event(draft, timer.token, timer.event, reason)
        case _:
            assert_never(chosen)
    return TokenReply(draft.seen(timer.token))
