"""Reads of runs and graph documents: what can be asked, and what an answer shows (a part of the port)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from stateous_controlplane.engine.rows import Entry, Failure


class Step(NamedTuple):
    """One state of a run's active path."""

    state: str
    visit: int
    entered_at: datetime


class RunView(NamedTuple):
    """What lists show of a run. ``machine`` is its chart's name."""

    run: str
    machine: str
    graph: str
    key: str | None
    parent: str | None
    job: str | None
    status: str
    configuration: tuple[Step, ...]
    error: Failure | None
    started_at: datetime
    ended_at: datetime | None


class JobView(NamedTuple):
    """A job of the active path: a task, or the child run that does it."""

    job: str
    state: str
    kind: str
    status: str
    attempt: int | None = None
    task: int | None = None
    run: str | None = None


class TimerView(NamedTuple):
    """A timer that runs."""

    timer: str
    state: str
    text: str
    due_at: datetime


class TicketView(NamedTuple):
    """An open ticket."""

    ticket: str
    state: str
    visit: int
    digest: str
    issued_at: datetime


class KeptView(NamedTuple):
    """An event that a run keeps."""

    event: str
    source: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RunInFull:
    """All that an answer shows of one run; values as JSON texts.

    ``starter`` is the digest of the secret of who submitted it.
    """

    view: RunView
    input: str
    output: str | None
    outputs: str
    starter: str | None
    jobs: tuple[JobView, ...] = ()
    timers: tuple[TimerView, ...] = ()
    tickets: tuple[TicketView, ...] = ()
    kept: tuple[KeptView, ...] = ()


class RunState(NamedTuple):
    """What a wait for a run has to know, and who may see more of it."""

    status: str
    starter: str | None
    has_tickets: bool


@dataclass(frozen=True, slots=True)
class RunFilter:
    """The filters of `GET /runs`, which combine (`docs/spec/statechart.md` 16)."""

    status: str | None = None
    #: A chart's name.
    machine: str | None = None
    key: str | None = None
    parent: str | None = None


class NewestPlace(NamedTuple):
    """Where a page ended that begins with the newest: behind this moment and id."""

    moment: datetime
    name: str


class GraphView(NamedTuple):
    """What a list shows of a document on record. ``live``: how many tokens and runs go by it."""

    graph: str
    kind: str
    name: str
    machines: tuple[str, ...]
    added_at: datetime
    live: int


class RunReads(Protocol):
    """Read-only queries of runs and documents, each on a committed state."""

    def run_state(self, run: str) -> RunState | None:
        """How it is with one run, by its exact id."""
        ...

    def run(self, run: str) -> RunInFull | None:
        """One run, by its exact id."""
        ...

    def runs(
        self, where: RunFilter, *, behind: NewestPlace | None, limit: int
    ) -> tuple[list[RunView], bool]:
        """A page of runs, most recently started first, then by id; and whether there is more."""
        ...

    def run_history(self, run: str, *, after: int, limit: int | None) -> list[Entry] | None:
        """The entries behind ``after``, oldest first; None when there is no such run."""
        ...

    def graph(self, checksum: str) -> str | None:
        """The text of a document on record."""
        ...

    def graphs(self, *, behind: NewestPlace | None, limit: int) -> tuple[list[GraphView], bool]:
        """A page of documents, most recently added first; and whether there is more."""
        ...
