"""What the engine is asked to do. Every call, due timer and ended lease is one command.

Commands are values: shapes are checked, texts encoded, before they are made. Which family a command
works on follows from the token, task or timer that it names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import TypeAlias

from stateous.json import JsonText
from stateous.names import job_queue


@dataclass(frozen=True, slots=True)
class Start:
    """Start the top token ``token`` (`docs/spec/wire.md` 3.4). ``context`` is an object or None."""

    token: str
    context: JsonText | None = None


@dataclass(frozen=True, slots=True)
class Fire:
    """An event from outside (3.5). ``payload`` is an object, or None when it has none."""

    token: str
    event: str
    payload: JsonText | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class SubmitRun:
    """Start a run of the chart ``graph`` (`docs/spec/statechart.md` 3).

    ``run`` is the id that was given or made; ``input`` None when there is none; ``starter`` the
    SHA-256 in hex of the starter's secret.
    """

    run: str
    graph: str
    input: JsonText | None = None
    key: str | None = None
    starter: str | None = None


@dataclass(frozen=True, slots=True)
class SendEvent:
    """An event for a run, from a client (`docs/spec/statechart.md` 5)."""

    run: str
    event: str
    data: JsonText
    key: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerTicket:
    """An answer to the ticket whose value has this digest (`docs/spec/statechart.md` 8.2).

    ``run`` is the run that it must belong to, None for any.
    """

    digest: str
    run: str | None
    answer: JsonText
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Deliver:
    """Deliver what ``sender`` sent to a key in its entry ``seq``: a row of the outbox.

    Its family holds the sender's row, and of the live run with the key, where there is one, the
    whole family.
    """

    sender: str
    seq: int


class Subject(Enum):
    """What a caller means by an id: a workflow's token, or a run. Neither is found as the other."""

    TOKEN = "token"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Pause:
    """Pause a top token with all below it (3.15)."""

    token: str
    subject: Subject = Subject.TOKEN


@dataclass(frozen=True, slots=True)
class Resume:
    """Let a paused top token go on (3.15)."""

    token: str
    subject: Subject = Subject.TOKEN


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel a live top token with all below it (3.15)."""

    token: str
    subject: Subject = Subject.TOKEN


@dataclass(frozen=True, slots=True)
class ClaimTask:
    """Give the ready task ``task`` to ``supervisor`` (3.8). Which task comes next is the queue's."""

    task: int
    supervisor: str
    lease: timedelta


@dataclass(frozen=True, slots=True)
class RepeatGrant:
    """Grant an attempt again whose answer was lost (3.8, request ids)."""

    task: int
    supervisor: str
    attempt: int
    lease: timedelta


@dataclass(frozen=True, slots=True)
class RenewLease:
    """One task of a heartbeat (3.9). ``grace``: also renew a lease whose end has passed."""

    task: int
    supervisor: str
    lease: timedelta
    grace: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """A timer that a report asks for; ``after`` is a duration, and checked to be one."""

    event: str
    after: str
    payload: JsonText | None = None


@dataclass(frozen=True, slots=True)
class ReportEvent:
    """A task's outcome is an event (3.10)."""

    task: int
    event: str
    payload: JsonText | None = None
    changes: JsonText | None = None
    schedules: tuple[Schedule, ...] = ()
    attempt: int | None = None
    supervisor: str | None = None


@dataclass(frozen=True, slots=True)
class ReportWaiting:
    """A task's routine has returned, and waits for an event (3.10)."""

    task: int
    changes: JsonText | None = None
    schedules: tuple[Schedule, ...] = ()
    attempt: int | None = None
    supervisor: str | None = None


@dataclass(frozen=True, slots=True)
class ReportFailed:
    """An attempt has failed (3.11). ``status`` and ``output`` are told of a job alone."""

    task: int
    error: str
    attempt: int | None = None
    supervisor: str | None = None
    status: str = "failed"
    output: JsonText | None = None


@dataclass(frozen=True, slots=True)
class ReportDone:
    """A job has finished well (`docs/spec/statechart.md` 10.4)."""

    task: int
    output: JsonText
    attempt: int | None = None
    supervisor: str | None = None


@dataclass(frozen=True, slots=True)
class Emit:
    """A value that a job emits, the ``number``-th of its attempt from 1 (10.4)."""

    task: int
    number: int
    event: str
    data: JsonText
    attempt: int | None = None
    supervisor: str | None = None


@dataclass(frozen=True, slots=True)
class AddNote:
    """A note for the history (3.12); ``text`` is trimmed and 1 to 500 characters long."""

    task: int
    text: str
    attempt: int | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class WriteMemory:
    """Set, or with ``value`` None delete, one key of a routine's memory (3.12)."""

    task: int
    key: str
    value: JsonText | None
    attempt: int | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class EndLease:
    """The clock found that a claimed task's lease is over (3.11). ``lease`` is for the sentence."""

    task: int
    lease: timedelta


@dataclass(frozen=True, slots=True)
class EndAttempt:
    """The clock found that a job's attempt is over its time (`docs/spec/statechart.md` 10.2)."""

    task: int


@dataclass(frozen=True, slots=True)
class FireTimer:
    """The clock found that a timer is due (3.14)."""

    timer: int


OnTask: TypeAlias = (
    ClaimTask
    | RepeatGrant
    | RenewLease
    | ReportEvent
    | ReportWaiting
    | ReportFailed
    | ReportDone
    | Emit
    | AddNote
    | WriteMemory
    | EndLease
    | EndAttempt
)
OnToken: TypeAlias = Fire | Pause | Resume | Cancel
OnRun: TypeAlias = SubmitRun | SendEvent
Command: TypeAlias = Start | OnToken | OnRun | OnTask | FireTimer | AnswerTicket | Deliver


@dataclass(frozen=True, slots=True)
class Claim:
    """A request for work: it becomes :class:`ClaimTask` or :class:`RepeatGrant` commands.

    ``wait`` is in seconds. Without ``max`` the answer is one grant or nothing, with it a list.
    """

    supervisor: str
    states: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    request: str | None = None
    wait: int = 0
    max: int | None = None

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that it names. Those of jobs have names that no state's queue has."""
        return (*self.states, *map(job_queue, self.jobs)) if self.jobs else self.states


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A request to keep tasks: it becomes a :class:`RenewLease` for each."""

    supervisor: str
    tasks: tuple[int, ...] = field(default=())


Request: TypeAlias = (
    Start
    | OnToken
    | Claim
    | Heartbeat
    | ReportEvent
    | ReportWaiting
    | ReportFailed
    | AddNote
    | WriteMemory
    | OnRun
    | AnswerTicket
    | ReportDone
    | Emit
)
