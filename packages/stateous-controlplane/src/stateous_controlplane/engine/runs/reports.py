"""What runners say of jobs: results and emitted values (`docs/spec/statechart.md` 10.4)."""

from __future__ import annotations

from dataclasses import replace

from stateous.limits import MAX_EMITTED, MAX_NAME
from stateous.statechart.fields import RESERVED, is_part_name
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.commands import Emit, ReportDone
from stateous_controlplane.engine.conduct import AttemptFailure
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.failures import fail_attempt
from stateous_controlplane.engine.replies import Done, Reply, TokenReply
from stateous_controlplane.engine.reports import reported
from stateous_controlplane.engine.rows import JobPart, Task, TaskStatus
from stateous_controlplane.engine.runs.jobs import job_done
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.offered import bring
from stateous_controlplane.engine.runs.offering import admit
from stateous_controlplane.engine.runs.values import over_limit


def report_done(draft: Draft, command: ReportDone) -> Reply:
    """The job has finished well. An output over a limit fails the attempt."""
    found = _job(draft, command.task, command.attempt, command.supervisor)
    if isinstance(found, Refusal):
        return found
    task, part = found
    excess = over_limit(command.output)
    if excess is not None:
        fail_attempt(draft, task, AttemptFailure(f"the output {excess}"))
        return TokenReply(draft.seen(task.token))
    draft.close_task(task.id, TaskStatus.DONE)
    draft.record(task.token, "task_done", task=task.id, output=command.output)
    event = job_done(draft, task.token, task.state, part.job, command.output)
    if event is not None:
        bring(draft, task, event)
    return TokenReply(draft.seen(task.token))


def emit(draft: Draft, command: Emit) -> Reply:
    """Take an emitted value. A number that was seen before is a resend, and skipped."""
    found = _job(draft, command.task, command.attempt, command.supervisor)
    if isinstance(found, Refusal):
        return found
    task, part = found
    if command.number <= part.emitted:
        return Done()
    refusal = _misplaced(part, command.number) or _no_event(command.event)
    if refusal is not None:
        return refusal
    if command.number > MAX_EMITTED:
        failure = AttemptFailure(f"the job emitted more than {MAX_EMITTED} values")
        fail_attempt(draft, task, failure)
        return Done()
    excess = over_limit(command.data)
    if excess is not None:
        fail_attempt(draft, task, AttemptFailure(f"the emitted value {excess}"))
        return Done()
    draft.task(task.id).job = replace(part, emitted=command.number)
    event = Occurrence(command.event, command.data, part.job)
    if admit(draft, task.token, event):
        bring(draft, task, event)
    return Done()


def _job(
    draft: Draft, task_id: int, attempt: int | None, supervisor: str | None
) -> tuple[Task, JobPart] | Refusal:
    task = reported(draft, task_id, attempt, supervisor)
    if isinstance(task, Refusal):
        return task
    if task.job is None:
        sentence = f"task {task.id} is a workflow's, and no job: report an event of it"
        return Refusal(Code.INVALID_BODY, sentence)
    return task, task.job


def _misplaced(part: JobPart, number: int) -> Refusal | None:
    if number == part.emitted + 1:
        return None
    sentence = f"the value {number} was emitted, and {part.emitted + 1} is missing before it"
    return Refusal(Code.INVALID_BODY, sentence)


def _no_event(event: str) -> Refusal | None:
    if is_part_name(event) and event not in RESERVED:
        return None
    return Refusal(Code.EVENT_NOT_ALLOWED, f"a job cannot emit {event[: MAX_NAME + 1]!r}")
