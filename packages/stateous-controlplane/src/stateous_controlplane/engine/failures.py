"""Failed attempts, retries, and leases and attempts that ended.

`docs/spec/wire.md` 3.11, `docs/spec/statechart.md` 10.2. A retry is for work that failed. What it
costs when the runner died is the policy's.
"""

from __future__ import annotations

from dataclasses import replace

from stateous.durations import spell_seconds
from stateous.graph.machine import Flow
from stateous_controlplane.engine.commands import EndAttempt, EndLease
from stateous_controlplane.engine.conduct import LOST, AttemptFailure
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.leave import cancel_timers, conduct_of, flow_of
from stateous_controlplane.engine.replies import Reply, Skipped, TokenReply
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
    error = f"{task.claimed_by} stopped answering: no heartbeat for {lease}"
    fail_attempt(draft, task, AttemptFailure(error, LOST))
    return TokenReply(draft.seen(task.token))


def end_attempt(draft: Draft, command: EndAttempt) -> Reply:
    """End a job's attempt that its runner should have stopped; look again first."""
    task = draft.family.tasks.get(command.task)
    if task is None or task.status is not TaskStatus.CLAIMED or task.job is None:
        return Skipped()
    if task.job.ends_at is None or task.job.ends_at > draft.now:
        return Skipped()
    timeout = flow_of(draft, task.token).states[task.state].jobs[task.job.job].timeout
    error = f"it took longer than {spell_seconds(timeout.total_seconds())}"
    fail_attempt(draft, task, AttemptFailure(error, "timeout"))
    return TokenReply(draft.seen(task.token))


def fail_attempt(draft: Draft, task: Task, failure: AttemptFailure) -> None:
    """The attempt has failed: try again while that is left, else it has failed for good."""
    conduct = conduct_of(draft, task.token)
    conduct.attempt_failed(draft, task, failure)
    if _tried_again(draft, flow_of(draft, task.token), task, failure):
        _retry(draft, task)
    else:
        draft.close_task(task.id, TaskStatus.FAILED)
        conduct.given_up(draft, task, failure)


def _tried_again(draft: Draft, flow: Flow, task: Task, failure: AttemptFailure) -> bool:
    retries = flow.states[task.state].retries_of(None if task.job is None else task.job.job)
    allowed = flow.policy.lost_attempts
    if allowed is None or task.job is None:
        return task.attempt <= retries
    if not failure.lost:
        return task.attempt - task.job.lost <= retries
    lost = task.job.lost + 1
    draft.task(task.id).job = replace(task.job, lost=lost)
    return lost < allowed


def _retry(draft: Draft, task: Task) -> None:
    row = draft.task(task.id)
    row.status = TaskStatus.QUEUED
    row.ready = draft.seen(task.token).status is Status.ACTIVE
    row.claimed_by = None
    row.lease_until = None
    row.queued_at = draft.now
    if row.job is not None:
        row.job = replace(row.job, ends_at=None)
    cancel_timers(draft, task.token, kind=TimerKind.TIMER)
    draft.record(task.token, "task_retrying", task=task.id, attempt=task.attempt + 1)
