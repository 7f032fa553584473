"""Tasks and their leases: claims, repeated grants, heartbeats (`docs/spec/wire.md` 3.8, 3.9).

A claimed task belongs to its supervisor until its lease ends. A heartbeat moves the end; once it is
over, :mod:`.failures` takes the task back. An attempt's number never comes again, so that whatever
an earlier attempt still says is told apart.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.commands import ClaimTask, RenewLease, RepeatGrant
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.leave import flow_of
from stateous_controlplane.engine.replies import (
    GrantReply,
    Lost,
    Renewed,
    Reply,
    Skipped,
)
from stateous_controlplane.engine.rows import Task, TaskStatus

#: How long a runner has to stop an attempt that took too long, before the control plane ends it.
_STOPPING: Final = timedelta(seconds=30)


def claim(draft: Draft, command: ClaimTask) -> Reply:
    """Give a ready task to a supervisor: a new attempt with a lease of its own."""
    found = draft.family.tasks.get(command.task)
    if found is None or not found.ready:
        return Skipped()
    task = draft.task(command.task)
    task.status = TaskStatus.CLAIMED
    task.ready = False
    task.claimed_by = command.supervisor
    task.attempt += 1
    task.last_number = 0
    task.lease_until = draft.now + command.lease
    draft.record(
        task.token,
        "task_claimed",
        task=task.id,
        supervisor=command.supervisor,
        attempt=task.attempt,
    )
    granted = _grant(draft, task)
    if granted.job is not None and task.job is not None:
        ends_at = draft.now + granted.job.timeout + _STOPPING
        task.job = replace(task.job, ends_at=ends_at, emitted=0)
    return granted


def repeat(draft: Draft, command: RepeatGrant) -> Reply:
    """Grant an attempt again, with its lease renewed and without an entry."""
    task = draft.family.tasks.get(command.task)
    if task is None or task.attempt != command.attempt or not _held(task, command.supervisor):
        return Lost(command.task)
    if _lease_over(draft, task):
        return Lost(command.task)
    renewed = draft.task(command.task)
    renewed.lease_until = draft.now + command.lease
    return _grant(draft, renewed)


def renew(draft: Draft, command: RenewLease) -> Reply:
    """Move the end of one lease, or say that the task is lost."""
    task = draft.family.tasks.get(command.task)
    if task is None or not _held(task, command.supervisor):
        return Lost(command.task)
    if _lease_over(draft, task) and not command.grace:
        return Lost(command.task)
    draft.task(command.task).lease_until = draft.now + command.lease
    return Renewed(command.task)


def _grant(draft: Draft, task: Task) -> GrantReply:
    token = draft.seen(task.token)
    if task.job is None:
        return GrantReply(task, token)
    flow = flow_of(draft, task.token)
    return GrantReply(task, token, flow.states[task.state].jobs[task.job.job], flow.name)


def worked_on(draft: Draft, task_id: int, attempt: int | None) -> Task | Refusal:
    """The task, when it is worked on and ``attempt`` is its current one (3.10, checks 2 to 4)."""
    task = draft.family.tasks.get(task_id)
    if task is None:
        return Refusal(Code.TASK_NOT_FOUND, f"there is no task {task_id}")
    if attempt is not None and attempt < task.attempt:
        return Refusal(
            Code.ATTEMPT_OVER,
            f"attempt {attempt} of task {task_id} is over: attempt {task.attempt} started",
        )
    if attempt is not None and attempt > task.attempt:
        return Refusal(Code.TASK_NOT_HELD, f"attempt {attempt} of task {task_id} has not started")
    if not task.status.worked_on:
        return Refusal(
            Code.TASK_NOT_HELD,
            f"task {task_id} is {task.status.value}: nobody works on it now",
        )
    return task


def _held(task: Task, supervisor: str) -> bool:
    return task.status is TaskStatus.CLAIMED and task.claimed_by == supervisor


def _lease_over(draft: Draft, task: Task) -> bool:
    return task.lease_until is not None and task.lease_until <= draft.now
