"""Leaving a state: what cancels its work (`docs/spec/wire.md` 3.7, 3.13)."""

from __future__ import annotations

from stateous.graph.machine import Flow
from stateous_controlplane.engine.effects import Draft
from stateous_controlplane.engine.rows import Status, TaskStatus, TimerKind, TimerStatus


def leave_on(draft: Draft, flow: Flow, token: str, event: str) -> None:
    """Leave the state on an accepted event: a task that was worked on is done by its own event."""
    emitted = event in flow.states[draft.seen(token).state].emits
    _close_tasks(draft, token, done=emitted)
    cancel_timers(draft, token)


def fail(draft: Draft, token: str, reason: str) -> None:
    """The token fails: it leaves its state without an event, and its memory goes."""
    _close_tasks(draft, token, done=False)
    cancel_timers(draft, token)
    draft.record(token, "failed", reason=reason)
    draft.end(token, Status.FAILED)


def cancel_timers(draft: Draft, token: str, *, kind: TimerKind | None = None) -> None:
    """Cancel the token's pending timers, or those of one kind. No entry says so."""
    for timer in draft.pending_timers(token):
        if kind is None or timer.kind is kind:
            row = draft.timer(timer.id)
            row.status = TimerStatus.CANCELLED
            row.ready = False


def _close_tasks(draft: Draft, token: str, *, done: bool) -> None:
    for task in draft.open_tasks(token):
        if done and task.status.worked_on:
            draft.close_task(task.id, TaskStatus.DONE)
            draft.record(token, "task_done", task=task.id)
        else:
            draft.close_task(task.id, TaskStatus.CANCELLED)
            draft.record(token, "task_cancelled", task=task.id)
