"""The rows that the engine decides on: tokens, tasks, timers, tickets, ledger entries.

A row says what is so; the ledger says how it came about (`docs/spec/wire.md` 5.1). Rows that a
family holds are read-only by agreement: a command changes copies of its own (:mod:`.effects`). The
copies name each field, which takes a quarter of the time of ``dataclasses.replace``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from stateous.json import JsonText


class Status(StrEnum):
    """The status of a token. The first two are live, the others final."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def live(self) -> bool:
        """Whether the token has not ended."""
        return self is Status.ACTIVE or self is Status.PAUSED


class TaskStatus(StrEnum):
    """The status of a task. The first three are open."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def open(self) -> bool:
        """Whether the task can still become something else."""
        return self in _OPEN

    @property
    def worked_on(self) -> bool:
        """Whether reports, notes and memory writes are taken for it."""
        return self is TaskStatus.CLAIMED or self is TaskStatus.WAITING


_OPEN = frozenset({TaskStatus.QUEUED, TaskStatus.CLAIMED, TaskStatus.WAITING})


class TimerKind(StrEnum):
    """What a timer is: of a workflow's state, of its routine, or of a chart's state.

    When nothing takes its event, a timeout fails the token. A pause moves all but a clock time.
    """

    TIMEOUT = "timeout"
    TIMER = "timer"
    LENGTH = "length"
    CLOCK = "clock"


class TimerStatus(StrEnum):
    """The status of a timer."""

    PENDING = "pending"
    FIRED = "fired"
    CANCELLED = "cancelled"


class TicketStatus(StrEnum):
    """The status of a ticket."""

    OPEN = "open"
    ANSWERED = "answered"
    VOID = "void"


class Active(NamedTuple):
    """One state of a configuration, with the visit that is going on."""

    state: str
    visit: int


class Failure(NamedTuple):
    """Why a run failed (`docs/spec/statechart.md` 3)."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Run:
    """What a token has besides when it is a run of a chart. A change makes a new one.

    ``entered`` says when each state of the configuration was entered. ``outputs`` has the last
    output of each state that had one. ``finished`` tells, of each active state with several jobs,
    how those came out that have finished: the output, or None for a failure.
    """

    input: JsonText
    key: str | None = None
    #: The name of the job that it does for its parent.
    job: str | None = None
    entered: tuple[datetime, ...] = ()
    output: JsonText | None = None
    outputs: Mapping[str, JsonText] = field(default_factory=dict)
    finished: Mapping[str, Mapping[str, JsonText | None]] = field(default_factory=dict)
    error: Failure | None = None
    #: SHA-256 in hex of the secret of who submitted it.
    starter: str | None = None


@dataclass(slots=True)
class Token:
    """One execution of a workflow or chart. ``configuration`` is the active path, outermost first.

    A workflow's has length one. After the end it is the last one; it is empty only until a run has
    entered its first state. ``seq`` and ``at`` are those of the last ledger entry. ``counts`` says
    how often each event was accepted, ``visits`` how often each state was entered.
    """

    token: str
    top: str
    graph: str
    status: Status
    context: JsonText
    entered_by: JsonText
    started_at: datetime
    entered_at: datetime
    at: datetime
    seq: int = 0
    configuration: tuple[Active, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    visits: dict[str, int] = field(default_factory=dict)
    parent: str | None = None
    parent_state: str | None = None
    parent_visit: int | None = None
    #: A child's workflow, None for a top token; the path of a run's machine in its document.
    workflow: str | None = None
    paused_at: datetime | None = None
    ended_at: datetime | None = None
    #: Of runs only.
    run: Run | None = None

    @property
    def state(self) -> str:
        """The innermost active state; after the end the last one."""
        return self.configuration[-1].state

    @property
    def visit(self) -> int:
        """Which visit of :attr:`state` it is, from 1."""
        return self.configuration[-1].visit

    @property
    def run_part(self) -> Run:
        """What it has besides as a run, of a token that is known to be one."""
        assert self.run is not None
        return self.run

    @property
    def branch(self) -> str | None:
        """The name by which its parent's state started it: a job's, or its workflow's."""
        return self.workflow if self.run is None else self.run.job

    def copy(self) -> Token:
        """A row that may be changed without changing this one."""
        return Token(
            self.token,
            self.top,
            self.graph,
            self.status,
            self.context,
            self.entered_by,
            self.started_at,
            self.entered_at,
            self.at,
            self.seq,
            self.configuration,
            dict(self.counts),
            dict(self.visits),
            self.parent,
            self.parent_state,
            self.parent_visit,
            self.workflow,
            self.paused_at,
            self.ended_at,
            self.run,
        )


@dataclass(frozen=True, slots=True)
class JobPart:
    """What a task has besides when it is a job of a chart. A change makes a new one.

    ``lost`` counts the attempts of this visit whose runner died; ``emitted`` is the number of the
    last value that was taken of this attempt. The attempt is ended at ``ends_at``, while there is
    one.
    """

    job: str
    input: JsonText
    ends_at: datetime | None = None
    lost: int = 0
    emitted: int = 0


@dataclass(slots=True)
class Task:
    """A piece of work of one visit, its retries included.

    ``queue`` is what a claim names. ``ready`` is true while a claim can have it: queued, and its
    token active. ``last_number`` is the number of the last message kept of this attempt.
    """

    id: int
    token: str
    state: str
    visit: int
    queue: str
    queued_at: datetime
    status: TaskStatus = TaskStatus.QUEUED
    ready: bool = True
    attempt: int = 0
    claimed_by: str | None = None
    lease_until: datetime | None = None
    last_number: int = 0
    #: Of jobs only.
    job: JobPart | None = None

    def copy(self) -> Task:
        """A row that may be changed without changing this one."""
        return Task(
            self.id,
            self.token,
            self.state,
            self.visit,
            self.queue,
            self.queued_at,
            self.status,
            self.ready,
            self.attempt,
            self.claimed_by,
            self.lease_until,
            self.last_number,
            self.job,
        )


@dataclass(slots=True)
class Timer:
    """An event that comes at a time. ``ready`` is true while it is pending and its token active.

    ``text`` is the time as a chart has it, after its expressions.
    """

    id: int
    token: str
    state: str
    visit: int
    kind: TimerKind
    event: str
    payload: JsonText | None
    set_at: datetime
    due_at: datetime
    status: TimerStatus = TimerStatus.PENDING
    ready: bool = True
    text: str | None = None

    @property
    def pending(self) -> bool:
        """Whether it can still fire."""
        return self.status is TimerStatus.PENDING

    def copy(self) -> Timer:
        """A row that may be changed without changing this one."""
        return Timer(
            self.id,
            self.token,
            self.state,
            self.visit,
            self.kind,
            self.event,
            self.payload,
            self.set_at,
            self.due_at,
            self.status,
            self.ready,
            self.text,
        )


@dataclass(frozen=True, slots=True)
class Ticket:
    """One issue of a ticket. ``digest`` is that of its value, which no row has."""

    token: str
    state: str
    visit: int
    ticket: str
    digest: str
    issued_at: datetime
    status: TicketStatus = TicketStatus.OPEN


class Entry(NamedTuple):
    """One ledger entry. ``key`` is the idempotency key, which no answer shows."""

    token: str
    seq: int
    at: datetime
    kind: str
    data: JsonText
    key: str | None = None


class KeyUse(NamedTuple):
    """What an idempotency key was used for: an event and its payload (None when it had none).

    Of a run it also tells what the event came to, and the id of the ticket that was answered: the
    entry with the key is the `event_accepted` right behind that ticket's `ticket_answered`.
    """

    event: str
    payload: JsonText | None
    result: str | None = None
    ticket: str | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """An event that arrived during a pause, as its ``event_deferred`` entry has it.

    ``arrival`` is its place in the family. An event of a task (a report, or ``error``) is bound to
    the state and visit that it came from; a report has the changes and timers that came with it.
    An event of a run tells where it is from, and of a send who sent it, in which entry.
    """

    token: str
    seq: int
    top: str
    arrival: int
    at: datetime
    event: str
    payload: JsonText | None = None
    task: int | None = None
    state: str | None = None
    visit: int | None = None
    changes: JsonText | None = None
    schedules: JsonText | None = None
    source: str | None = None
    sender: str | None = None
    send: int | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """An event that a run keeps, as its `event_kept` entry has it. They arrived by ``seq``."""

    token: str
    seq: int
    top: str
    at: datetime
    event: str
    data: JsonText
    source: str
    sender: str | None = None
    send: int | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """A send to a key that was not delivered yet: one row of the outbox.

    It is found by the run that sent it and the ``seq`` of the `sent` entry. With ``machine`` (a
    path in the sender's document) a run is started where none has the key.
    """

    token: str
    seq: int
    key: str
    machine: str | None
    event: str
    data: JsonText
    at: datetime
