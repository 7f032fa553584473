"""Failed attempts, retries, and leases that ended (`docs/spec/wire.md` 3.11)."""

from __future__ import annotations

from typing import assert_never

from stateous.durations import spell_seconds
from stateous.graph.machine import RoutineWork
from stateous.names import ERROR
from stateous_controlplane.engine.choosing import Ambiguous, Untaken
from stateous_controlplane.engine.commands import EndLease
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.enter import take
from stateous_controlplane.engine.holding import hold_error
from stateous_controlplane.engine.leave import cancel_timers, fail, flow_of
from stateous_controlplane.engine.replies import Reply, Skipped, TokenReply
from stateous_controlplane.engine.routing import Taken, route
from stateous_controlplane.engine.rows import Status, Task, TaskStatus, TimerKind

DEFAULT_ERROR = "the routine failed without saying why"


def end_lease(draft: Draft, command: EndLease) -> Reply:
    """Take a claimed task back whose lease is over; look again, for it may have been renewed."""
    task = draft.family.tasks.get(command.task)
    if task is None or task.status is not TaskStatus.CLAIMED or task.lease_until is None:
        return Skipped()
    if task.lease_until > draft.now:
        return Skipped()
    lease = spell_seconds(command.lease.total_seconds())
    fail_attempt(draft, task, f"{task.claimed_by} stopped answering: no heartbeat for {lease}")
    return TokenReply(draft.seen(task.token))


def fail_attempt(draft: Draft, task: Task, error: str) -> None:
    """The attempt has failed: try again while retries are left, else ``error`` decides."""
    draft.record(task.token, "task_failed", task=task.id, error=error)
    work = flow_of(draft, task.token).states[task.state].work
    if isinstance(work, RoutineWork) and task.attempt <= work.retries:
        _retry(draft, task)
    else:
        draft.close_task(task.id, TaskStatus.FAILED)
        _raise_error(draft, task, error)


def _retry(draft: Draft, task: Task) -> None:
    row = draft.task(task.id)
    row.status = TaskStatus.QUEUED
    row.ready = draft.seen(task.token).status is Status.ACTIVE
    row.claimed_by = None
    row.lease_until = None
    row.queued_at = draft.now
    cancel_timers(draft, task.token, kind=TimerKind.TIMER)
    draft.record(task.token, "task_retrying", task=task.id, attempt=task.attempt + 1)


def _raise_error(draft: Draft, task: Task, error: str) -> None:
    if draft.seen(task.token).status is Status.PAUSED:
        hold_error(draft, task)
        return
    flow = flow_of(draft, task.token)
    if ERROR not in flow.states[task.state].groups:
        fail(
            draft,
            task.token,
            f"{task.state!r} failed, and has no transition on 'error': {error}",
        )
        return
    token = draft.seen(task.token)
    chosen = route(draft, flow, token, ERROR, None, token.context)
    match chosen:
        case Taken():
            take(draft, flow, task.token, ERROR, None, chosen)
        case Untaken(reason) | Ambiguous(reason):
            fail(draft, task.token, f"{task.state!r} failed, and {reason}: {error}")
        case _:
            assert_never(chosen)
