"""Timers that are due (`docs/spec/wire.md` 3.14)."""

from __future__ import annotations

from stateous_controlplane.engine.commands import FireTimer
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.leave import conduct_of
from stateous_controlplane.engine.replies import Reply, Skipped, TokenReply
from stateous_controlplane.engine.rows import Status, TimerStatus


def fire_timer(draft: Draft, command: FireTimer) -> Reply:
    """Fire a due timer; look again, for it may be over or moved."""
    timer = draft.family.timers.get(command.timer)
    if timer is None or not timer.ready or timer.due_at > draft.now:
        return Skipped()
    token = draft.seen(timer.token)
    if token.status is not Status.ACTIVE or (timer.state, timer.visit) not in token.configuration:
        return Skipped()
    row = draft.timer(timer.id)
    row.status = TimerStatus.FIRED
    row.ready = False
    conduct_of(draft, timer.token).timer_due(draft, row)
    return TokenReply(draft.seen(timer.token))
