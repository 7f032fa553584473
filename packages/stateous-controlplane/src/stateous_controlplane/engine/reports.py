"""Reports: what became of a task, in the order of checks of `docs/spec/wire.md` 3.10."""

from __future__ import annotations

from typing import assert_never

from stateous.graph.machine import Flow
from stateous.json import JsonText
from stateous.names import OWN_EVENTS
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.choosing import Ambiguous, Untaken
from stateous_controlplane.engine.commands import (
    ReportEvent,
    ReportFailed,
    ReportWaiting,
    Schedule,
)
from stateous_controlplane.engine.conduct import AttemptFailure
from stateous_controlplane.engine.context import Misfit, changed_context, check_payload
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.enter import take
from stateous_controlplane.engine.failures import DEFAULT_ERROR, fail_attempt
from stateous_controlplane.engine.fire import refuse_event, shown_event
from stateous_controlplane.engine.holding import hold_reported
from stateous_controlplane.engine.leave import fail, flow_of
from stateous_controlplane.engine.outcome import save_changes, save_schedules
from stateous_controlplane.engine.replies import Reply, TokenReply
from stateous_controlplane.engine.routing import Taken, route
from stateous_controlplane.engine.rows import Status, Task, TaskStatus
from stateous_controlplane.engine.tasks import worked_on


def report_event(draft: Draft, command: ReportEvent) -> Reply:
    """The outcome is an event, which moves the token."""
    task = _of_a_workflow(reported(draft, command.task, command.attempt, command.supervisor))
    if isinstance(task, Refusal):
        return task
    flow = flow_of(draft, task.token)
    context = _outcome_context(draft, flow, task, command.changes, command.schedules)
    if isinstance(context, Refusal):
        return context
    emits = flow.states[task.state].emits
    if command.event not in emits:
        event = shown_event(command.event)
        may = f"it may emit {', '.join(map(repr, emits))}" if emits else "it emits nothing"
        return refuse_event(
            draft, task.token, event, f"{task.state!r} does not emit {event!r}: {may}"
        )
    misfit = check_payload(flow.events[command.event], command.payload)
    if misfit is not None:
        return Refusal(Code.INVALID_PAYLOAD, misfit.reason)
    token = draft.seen(task.token)
    chosen = route(draft, flow, token, command.event, command.payload, context)
    match chosen:
        case Untaken(reason):
            return refuse_event(draft, task.token, command.event, reason)
        case Ambiguous() | Taken() if token.status is Status.PAUSED:
            hold_reported(
                draft, task, command.event, command.payload, command.changes, command.schedules
            )
            draft.close_task(task.id, TaskStatus.DONE)
            draft.record(task.token, "task_done", task=task.id)
        case Ambiguous(reason):
            save_changes(draft, task.token, context, command.changes)
            fail(draft, task.token, reason)
        case Taken():
            save_changes(draft, task.token, context, command.changes)
            save_schedules(draft, task.token, command.schedules)
            take(draft, flow, task.token, command.event, command.payload, chosen)
        case _:
            assert_never(chosen)
    return TokenReply(draft.seen(task.token))


def report_waiting(draft: Draft, command: ReportWaiting) -> Reply:
    """The routine has returned, and the task waits; changes and timers are saved at once."""
    task = _of_a_workflow(reported(draft, command.task, command.attempt, command.supervisor))
    if isinstance(task, Refusal):
        return task
    if command.supervisor is None:
        return Refusal(
            Code.TASK_NOT_HELD,
            f"only the supervisor of task {task.id} can let it wait, and none is named",
        )
    flow = flow_of(draft, task.token)
    context = _outcome_context(draft, flow, task, command.changes, command.schedules)
    if isinstance(context, Refusal):
        return context
    save_changes(draft, task.token, context, command.changes)
    save_schedules(draft, task.token, command.schedules)
    draft.close_task(task.id, TaskStatus.WAITING)
    draft.record(task.token, "task_waiting", task=task.id)
    return TokenReply(draft.seen(task.token))


def report_failed(draft: Draft, command: ReportFailed) -> Reply:
    """The attempt has failed; whatever else the report says is dropped."""
    task = reported(draft, command.task, command.attempt, command.supervisor)
    if isinstance(task, Refusal):
        return task
    failure = AttemptFailure(command.error or DEFAULT_ERROR, command.status, command.output)
    fail_attempt(draft, task, failure)
    return TokenReply(draft.seen(task.token))


def reported(
    draft: Draft, task_id: int, attempt: int | None, supervisor: str | None
) -> Task | Refusal:
    """Checks 2 to 5: the task is worked on, on this attempt, by this supervisor if one is named."""
    task = worked_on(draft, task_id, attempt)
    if isinstance(task, Refusal) or supervisor is None:
        return task
    if task.status is TaskStatus.WAITING:
        return Refusal(Code.TASK_NOT_HELD, f"task {task_id} waits: no supervisor holds it")
    if task.claimed_by != supervisor:
        return Refusal(Code.TASK_NOT_HELD, f"task {task_id} is not held by {supervisor!r}")
    return task


def _of_a_workflow(task: Task | Refusal) -> Task | Refusal:
    if isinstance(task, Refusal) or task.job is None:
        return task
    return Refusal(
        Code.INVALID_BODY,
        f"task {task.id} is a job of a run: report that it is 'done', or has 'failed'",
    )


def _outcome_context(
    draft: Draft,
    flow: Flow,
    task: Task,
    changes: JsonText | None,
    schedules: tuple[Schedule, ...],
) -> JsonText | Refusal:
    """Checks 8 and 9: the context with the changes, when it and each timer is in order."""
    context = changed_context(flow, draft.seen(task.token).context, changes)
    if isinstance(context, Misfit):
        return Refusal(Code.INVALID_CONTEXT, context.reason)
    for schedule in schedules:
        event = shown_event(schedule.event)
        if schedule.event in OWN_EVENTS:
            sentence = f"the timer {event!r}: only Stateous fires this event"
            return Refusal(Code.INVALID_PAYLOAD, sentence)
        shape = flow.events.get(schedule.event)
        if shape is None:
            sentence = f"the timer {event!r}: the workflow {flow.name!r} has no such event"
            return Refusal(Code.INVALID_PAYLOAD, sentence)
        misfit = check_payload(shape, schedule.payload)
        if misfit is not None:
            return Refusal(Code.INVALID_PAYLOAD, f"the timer {misfit.reason}")
    return context
