"""The rows that the engine decides on: tokens, tasks, timers, ledger entries.

A row says what is so; the ledger says how it came about (`docs/spec/wire.md` 5.1). Rows that a
family holds are read-only by agreement: a command changes copies of its own (:mod:`.effects`). The
copies name each field, which takes a quarter of the time of ``dataclasses.replace``.
"""

from __future__ import annotations

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
    """What a timer means when nothing takes its event: a timeout fails the token."""

    TIMEOUT = "timeout"
    TIMER = "timer"


class TimerStatus(StrEnum):
    """The status of a timer."""

    PENDING = "pending"
    FIRED = "fired"
    CANCELLED = "cancelled"


class Active(NamedTuple):
    """One state of a configuration, with the visit that is going on."""

    state: str
    visit: int


@dataclass(slots=True)
class Token:
    """One execution of a workflow. ``configuration`` is the path of active states, outermost first.

    A workflow's configuration has length one; after the end it is the last one. ``seq`` and ``at``
    are those of the last ledger entry. ``counts`` says how often each event was accepted,
    ``visits`` how often each state was entered.
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
    #: A child's workflow; None for a top token.
    workflow: str | None = None
    paused_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def state(self) -> str:
        """The innermost active state; after the end the last one."""
        return self.configuration[-1].state

    @property
    def visit(self) -> int:
        """Which visit of :attr:`state` it is, from 1."""
        return self.configuration[-1].visit

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
        )


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
        )


@dataclass(slots=True)
class Timer:
    """An event that comes at a time. ``ready`` is true while it is pending and its token active."""

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
        )


class Entry(NamedTuple):
    """One ledger entry. ``key`` is the idempotency key, which no answer shows."""

    token: str
    seq: int
    at: datetime
    kind: str
    data: JsonText
    key: str | None = None


class KeyUse(NamedTuple):
    """What an idempotency key was used for: an event and its payload (None when it had none)."""

    event: str
    payload: JsonText | None


@dataclass(frozen=True, slots=True)
class Held:
    """An event that arrived during a pause, as its ``event_deferred`` entry has it.

    ``arrival`` is its place in the family. An event of a task (a report, or ``error``) is bound to
    the state and visit that it came from; a report has the changes and timers that came with it.
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
