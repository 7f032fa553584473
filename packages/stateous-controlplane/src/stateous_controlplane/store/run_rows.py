"""What rows have besides when they belong to runs, as the engine's values and back.

These columns are read and written for runs alone. A run's configuration has more than a workflow
token's: when each state was entered, and which of its jobs have finished.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from stateous.json import JsonText, write_json
from stateous_controlplane.engine.rows import (
    Active,
    Failure,
    JobPart,
    Kept,
    Run,
    Sent,
    Task,
    TaskStatus,
    Ticket,
    TicketStatus,
    Token,
)
from stateous_controlplane.store.moments import moment_of, moment_or_none, text_of, text_or_none
from stateous_controlplane.store.rows import (
    TASK_CHANGING,
    TASK_FIXED,
    TOKEN_CHANGING,
    TOKEN_FIXED,
    Row,
    task_changing,
    task_fixed,
    token_fixed,
    token_standing,
)
from stateous_controlplane.store.run_views import KeptView, RunState, Step

_TICKET_STATUS: Final = {status.value: status for status in TicketStatus}

# ── tokens ──────────────────────────────────────────────────────────────

RUN: Final = "token, configuration, key, job, input, output, outputs, error, starter"


def run_of(row: Row) -> Run:
    """What a token is besides, of a row of :data:`RUN`."""
    path: list[list[Any]] = JsonText(row[1]).value
    return Run(
        input=JsonText(row[4]),
        key=row[2],
        job=row[3],
        entered=tuple([moment_of(step[2]) for step in path]),
        output=_text_or_none(row[5]),
        outputs=_texts(row[6]),
        finished={step[0]: _outcomes(step[3]) for step in path if len(step) > 3},
        error=failure_of(row[7]),
        starter=row[8],
    )


def configuration_of(text: str) -> tuple[Active, ...]:
    """The active path of a run."""
    return tuple([Active(step[0], step[1]) for step in JsonText(text).value])


def failure_of(text: str | None) -> Failure | None:
    """Why a run failed, of the column `error`."""
    error = None if text is None else JsonText(text).value
    return None if error is None else Failure(error["code"], error["message"])


def path_of(configuration: str) -> tuple[Step, ...]:
    """The active path, as answers show it."""
    return tuple(
        [Step(step[0], step[1], moment_of(step[2])) for step in JsonText(configuration).value]
    )


#: How it is with a run; the last column: whether a ticket is open.
STATE: Final = (
    "status, starter, EXISTS (SELECT 1 FROM tickets WHERE tickets.token = tokens.token "
    "AND tickets.status = 'open')"
)


def state_of(row: Row) -> RunState:
    """The state of a row of :data:`STATE`."""
    return RunState(row[0], row[1], bool(row[2]))


#: What a child run's status means for the job that it does.
CHILD: Final = {
    "active": "running",
    "paused": "running",
    "completed": "done",
    "failed": "failed",
    "cancelled": "failed",
}


#: What of a run never changes once it was started, beside what of no token does.
RUN_FIXED: Final = "key, job, input, starter"
RUN_CHANGING: Final = "output, outputs, error"
NEW_RUN: Final = f"{TOKEN_FIXED}, {TOKEN_CHANGING}, {RUN_FIXED}, {RUN_CHANGING}"
CHANGED_RUN: Final = f"{TOKEN_CHANGING}, {RUN_CHANGING}"


def new_run_row(token: Token) -> Row:
    """The values of :data:`NEW_RUN`."""
    run = _run(token)
    fixed = (run.key, run.job, run.input.text, run.starter)
    return (*token_fixed(token, "run"), *_changing(token, run), *fixed, *_of_run(run))


def changed_run_row(token: Token) -> Row:
    """The id, and the values of :data:`CHANGED_RUN`."""
    run = _run(token)
    return (token.token, *_changing(token, run), *_of_run(run))


def _run(token: Token) -> Run:
    assert token.run is not None, token.token
    return token.run


def _of_run(run: Run) -> Row:
    error = None if run.error is None else write_json(run.error._asdict())
    return (None if run.output is None else run.output.text, _object(run.outputs), error)


def _changing(token: Token, run: Run) -> Row:
    # A run that fails as it starts has entered no state.
    state, visit = token.configuration[-1] if token.configuration else ("", 0)
    return (
        state,
        visit,
        _path(token, run),
        token.context.text,
        token.entered_by.text,
        write_json(token.counts),
        write_json(token.visits),
        token.seq,
        text_of(token.at),
        text_of(token.entered_at),
        *token_standing(token),
    )


def _path(token: Token, run: Run) -> str:
    steps: list[str] = []
    for (state, visit), entered in zip(token.configuration, run.entered, strict=True):
        finished = run.finished.get(state)
        more = "" if finished is None else f",{_written_outcomes(finished)}"
        steps.append(f'["{state}",{visit},"{text_of(entered)}"{more}]')
    return f"[{','.join(steps)}]"


# ── tasks ───────────────────────────────────────────────────────────────

JOB: Final = "id, job, input, timeout, lost, emitted"
NEW_JOB: Final = f"{TASK_FIXED}, {TASK_CHANGING}, job, input, timeout, lost, emitted"
CHANGED_JOB: Final = f"{TASK_CHANGING}, timeout, lost, emitted"


def job_of(row: Row) -> JobPart:
    """What a task is besides, of a row of :data:`JOB`. ``timeout`` is when the attempt ends."""
    return JobPart(row[1], JsonText(row[2]), moment_or_none(row[3]), row[4], row[5])


def new_job_row(task: Task) -> Row:
    """The values of :data:`NEW_JOB`."""
    job = _job(task)
    return (*task_fixed(task), *task_changing(task), job.job, job.input.text, *_of_job(task, job))


def changed_job_row(task: Task) -> Row:
    """The id, and the values of :data:`CHANGED_JOB`."""
    return (task.id, *task_changing(task), *_of_job(task, _job(task)))


def _job(task: Task) -> JobPart:
    assert task.job is not None, task.id
    return task.job


def _of_job(task: Task, job: JobPart) -> Row:
    # The clock looks for ends that are to come: an attempt that is over has none.
    ends_at = job.ends_at if task.status is TaskStatus.CLAIMED else None
    return (text_or_none(ends_at), job.lost, job.emitted)


# ── tickets, kept events, the outbox ────────────────────────────────────

TICKET: Final = "token, state, visit, ticket, digest, status, issued_at"


def ticket_of(row: Row) -> Ticket:
    """The ticket of a row of :data:`TICKET`."""
    return Ticket(
        token=row[0],
        state=row[1],
        visit=row[2],
        ticket=row[3],
        digest=row[4],
        status=_TICKET_STATUS[row[5]],
        issued_at=moment_of(row[6]),
    )


def ticket_row(ticket: Ticket) -> Row:
    """The values of :data:`TICKET`."""
    return (
        ticket.token,
        ticket.state,
        ticket.visit,
        ticket.ticket,
        ticket.digest,
        ticket.status.value,
        text_of(ticket.issued_at),
    )


def kept_of(row: Row) -> Kept:
    """A kept event, of its place, top, moment, and the data of its `event_kept` entry."""
    token, seq, top, at, data = row
    value: dict[str, Any] = JsonText(data).value
    return Kept(
        token=token,
        seq=seq,
        top=top,
        at=moment_of(at),
        event=value["event"],
        data=JsonText.of(value["data"]),
        source=value["from"],
        sender=value.get("sender"),
        send=value.get("send"),
    )


def kept_view(data: dict[str, Any], at: datetime) -> KeptView:
    """What answers show of a kept event, of its entry."""
    return KeptView(data["event"], data["from"], at)


SENT: Final = "token, seq, target, event, data, at"


def sent_of(row: Row) -> Sent:
    """The send of a row of :data:`SENT`."""
    target: dict[str, str] = JsonText(row[2]).value
    return Sent(
        token=row[0],
        seq=row[1],
        key=target["key"],
        machine=target.get("machine"),
        event=row[3],
        data=JsonText(row[4]),
        at=moment_of(row[5]),
    )


def sent_row(sent: Sent) -> Row:
    """The values of :data:`SENT`."""
    target = {"key": sent.key} | ({} if sent.machine is None else {"machine": sent.machine})
    return (sent.token, sent.seq, write_json(target), sent.event, sent.data.text, text_of(sent.at))


# ── values ──────────────────────────────────────────────────────────────


def _object(members: Mapping[str, JsonText | None]) -> str:
    texts = [
        f"{write_json(name)}:{'null' if text is None else text.text}"
        for name, text in members.items()
    ]
    return f"{{{','.join(texts)}}}"


def _texts(text: str | None) -> dict[str, JsonText]:
    members: dict[str, Any] = {} if text is None else JsonText(text).value
    return {name: JsonText.of(value) for name, value in members.items()}


def _written_outcomes(finished: Mapping[str, JsonText | None]) -> str:
    listed = {
        name: None if output is None else JsonText(f"[{output.text}]")
        for name, output in finished.items()
    }
    return _object(listed)


def _outcomes(members: dict[str, Any]) -> dict[str, JsonText | None]:
    # A failure is kept as null, an output in a list: null is one too.
    return {
        name: None if value is None else JsonText.of(value[0]) for name, value in members.items()
    }


def _text_or_none(text: str | None) -> JsonText | None:
    return None if text is None else JsonText(text)
