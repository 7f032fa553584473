"""The port that every store implements: what the writer, the clock, reads and `serve` need of one.

The writer works in transactions. In one it loads all that a batch of commands needs, the engine
decides each command on it, and the net changes are written and committed at once. Each commit is
fenced: inside the transaction the store must find the name of this control plane's hold on record,
else nothing is committed and :class:`HoldLost` is raised (`docs/spec/wire.md` 6.1).

All methods block. A store is used by one writer thread; :class:`Reads` by several threads at once.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import NamedTuple, Protocol

from stateous.errors import StateousError
from stateous.json import JsonText
from stateous_controlplane.engine.rows import (
    Entry,
    Held,
    Kept,
    KeyUse,
    Sent,
    Task,
    Ticket,
    Timer,
    Token,
)

# Parts of the port that have rooms of their own.
from stateous_controlplane.store.records import GraphRecord as GraphRecord
from stateous_controlplane.store.records import KeyOnRecord as KeyOnRecord
from stateous_controlplane.store.records import NewGraph as NewGraph
from stateous_controlplane.store.views import Place as Place
from stateous_controlplane.store.views import Reads as Reads
from stateous_controlplane.store.views import TaskFilter as TaskFilter
from stateous_controlplane.store.views import TaskView as TaskView
from stateous_controlplane.store.views import TokenFilter as TokenFilter
from stateous_controlplane.store.views import TokenView as TokenView

# ── errors ──────────────────────────────────────────────────────────────


class StoreError(StateousError):
    """The database cannot be used, said in one sentence (a refusal at start)."""


class DatabaseUnreachable(StoreError):
    """The database cannot be reached now, and may be the next time that it is tried."""


class DatabaseBusy(StateousError):
    """The transaction could not be done now: a lock or statement limit, a lost connection."""

    code = "database_busy"


class CommitUnknown(DatabaseBusy):
    """The connection was lost while the commit was on its way: it was done, or it was not.

    Nothing of the transaction may be tried again by who does not know it to be safe to repeat.
    """


class TransactionConflict(DatabaseBusy):
    """The database stopped the transaction so that another one can go on; nothing was committed.

    The same transaction again will most likely be done.
    """


class HoldLost(StateousError):
    """Another control plane's name stands in the row; nothing was committed."""

    code = "not_serving"


# ── what the writer loads and writes ────────────────────────────────────


class Granted(NamedTuple):
    """One task of a claim that is remembered, and its attempt then."""

    task: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """The last request of a supervisor that was granted something (`docs/spec/wire.md` 3.8)."""

    request: str
    granted: tuple[Granted, ...]


class Queued(NamedTuple):
    """A ready task's place in its queue: the oldest comes first."""

    queued_at: datetime
    task: int


@dataclass(slots=True)
class Needs:
    """What a batch has to know. Everything that is named brings the rows of its family along.

    A token brings: its row, the live rows of its family, the children (ended ones too) of each
    live row's current visit, and the open tasks and pending timers of them all. A task or timer
    brings itself, whatever its status, and the same of its token.
    """

    #: Exact ids.
    tokens: set[str] = field(default_factory=set)
    #: Ids that a start asks for, or that could be parents of one: found without regard to case.
    folded: set[str] = field(default_factory=set)
    tasks: set[int] = field(default_factory=set)
    timers: set[int] = field(default_factory=set)
    #: (token, idempotency key).
    keys: set[tuple[str, str]] = field(default_factory=set)
    #: Supervisors whose last granted request is wanted; those of its tasks that are still claimed,
    #: on that attempt, come along.
    supervisors: set[str] = field(default_factory=set)
    #: Queue to how many of its oldest ready tasks are wanted.
    queues: dict[str, int] = field(default_factory=dict)
    #: Tasks whose memory (of their token and state) is wanted.
    memory_of: set[int] = field(default_factory=set)
    #: Tokens whose families' held events are wanted, with the tasks that they come from.
    held: set[str] = field(default_factory=set)
    #: Checksums of documents that may be on record.
    graphs: set[str] = field(default_factory=set)
    #: Digests of tickets' values, and with each the keys that its run may have used for an answer.
    digests: dict[str, set[str]] = field(default_factory=dict)
    #: Keys of runs whose live run is wanted.
    run_keys: set[str] = field(default_factory=set)
    #: Rows of the outbox, each by sender and ``seq``: with them come the live runs with their keys.
    sends: set[tuple[str, int]] = field(default_factory=set)

    def __bool__(self) -> bool:
        return any(_parts_of_needs(self))


_parts_of_needs = attrgetter(*Needs.__slots__)


@dataclass(slots=True)
class Loaded:
    """What a load found. Absent is what does not exist."""

    tokens: dict[str, Token] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    timers: dict[int, Timer] = field(default_factory=dict)
    #: Of each queue that was asked for its oldest ready tasks, in order: as many as were wanted, or
    #: all there are.
    queued: dict[str, list[Queued]] = field(default_factory=dict)
    #: Queues of which some are left out, because somebody else has locked their families.
    passed_over: set[str] = field(default_factory=set)
    #: Folded id to the id as it is written.
    ids: dict[str, str] = field(default_factory=dict)
    keys: dict[tuple[str, str], KeyUse] = field(default_factory=dict)
    remembered: dict[str, Remembered] = field(default_factory=dict)
    #: (token, state) to the memory there; present (maybe empty) for each that was asked for.
    memory: dict[tuple[str, str], dict[str, JsonText]] = field(default_factory=dict)
    #: Top token to how many events a pause of its family holds, for those that hold any.
    holding: dict[str, int] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)
    #: Those of the checksums that are on record.
    graphs: set[str] = field(default_factory=set)
    #: By digest: those that were asked for, and the open ones of runs.
    tickets: dict[str, Ticket] = field(default_factory=dict)
    kept: list[Kept] = field(default_factory=list)
    outbox: dict[tuple[str, int], Sent] = field(default_factory=dict)
    #: Each key of runs that was looked up, and the live run that has it, or None.
    key_holders: dict[str, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class Changes:
    """The net effects of a batch: each row once, as it is at the end."""

    new_tokens: list[Token] = field(default_factory=list)
    #: Rows of which anything may have changed but what never does: ids, parent, workflow, start.
    tokens: list[Token] = field(default_factory=list)
    #: Rows that moved, and kept their status, document, and when they were paused and ended. Half
    #: of the indexes of tokens hold one of these, and need not be touched.
    moves: list[Token] = field(default_factory=list)
    #: Rows of which only ``seq`` and ``at`` changed.
    positions: list[Token] = field(default_factory=list)
    new_tasks: list[Task] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    new_timers: list[Timer] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    #: (token, state, key) to the value, None deletes.
    memory: dict[tuple[str, str, str], JsonText | None] = field(default_factory=dict)
    #: Tokens that ended: all their memory goes.
    forgotten: set[str] = field(default_factory=set)
    remembered: dict[str, Remembered] = field(default_factory=dict)
    #: Events that a pause holds from now on, and (token, seq) of those that it holds no longer.
    held: list[Held] = field(default_factory=list)
    released: set[tuple[str, int]] = field(default_factory=set)
    graphs: list[NewGraph] = field(default_factory=list)
    #: New tickets, and those whose status changed.
    tickets: list[Ticket] = field(default_factory=list)
    #: Events that runs keep from now on, and (token, seq) of those that they keep no longer.
    kept: list[Kept] = field(default_factory=list)
    unkept: set[tuple[str, int]] = field(default_factory=set)
    #: New rows of the outbox, in order, and (token, seq) of those that were delivered.
    outbox: list[Sent] = field(default_factory=list)
    delivered: set[tuple[str, int]] = field(default_factory=set)

    @property
    def touched(self) -> set[str]:
        """The tokens whose rows are new or changed."""
        rows = (self.new_tokens, self.tokens, self.moves, self.positions)
        return {token.token for tokens in rows for token in tokens}

    @property
    def of_runs(self) -> bool:
        """Whether there is anything that only runs have."""
        return bool(self.tickets or self.kept or self.unkept or self.outbox or self.delivered)

    def __bool__(self) -> bool:
        return any(_parts_of_changes(self))


_parts_of_changes = attrgetter(*Changes.__slots__)


class Due(NamedTuple):
    """What the clock has to look at, oldest first: ids of tasks and of timers.

    ``overtime``: tasks whose attempt has lasted too long.
    """

    leases: tuple[int, ...]
    timers: tuple[int, ...]
    overtime: tuple[int, ...] = ()


class NextIds(NamedTuple):
    """The ids that the next new task and timer get. None is ever given twice."""

    task: int
    timer: int


class Transaction(Protocol):
    """One fenced transaction of the writer. Leaving the block without an error commits it."""

    def load(self, needs: Needs) -> Loaded:
        """All that ``needs`` names, locked against other writers. May be called again."""
        ...

    def memory(self, places: set[tuple[str, str]]) -> dict[tuple[str, str], dict[str, JsonText]]:
        """The memory of each (token, state)."""
        ...

    def due(self, now: datetime, *, leases: bool, limit: int) -> Due:
        """Claimed tasks whose lease ended before ``now``, and ready timers due by then.

        Also attempts that are over their time. At most ``limit`` of each; no leases at all when
        ``leases`` is false.
        """
        ...

    def undelivered(self, limit: int) -> tuple[tuple[str, int], ...]:
        """The oldest rows of the outbox, by sender and ``seq``."""
        ...

    def graph(self, checksum: str) -> str | None:
        """The text of a document on record."""
        ...

    def write(self, changes: Changes) -> None:
        """Write a batch's changes; they are durable once the transaction has committed."""
        ...


# ── the hold, and what is on record ─────────────────────────────────────


class HoldState(Enum):
    """What a renewal of the hold found."""

    OURS = "ours"
    #: It was nobody's any more, and has been taken back.
    TAKEN_BACK = "taken back"
    #: Another control plane's name stands there.
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Holder:
    """Another control plane that holds the database: its name, and when it was last seen."""

    name: str
    since: datetime | None


class Store(Protocol):
    """A database of one control plane."""

    def take_hold(self, holder: str, now: datetime) -> Holder | None:
        """Take the serving hold, then make or upgrade the tables under it.

        Returns None when taken, else who holds it. Nothing is written or migrated before it is
        taken (`docs/spec/wire.md` 6.1, 5.4).

        Raises:
            StoreError: the database cannot be opened, is newer than this Stateous, or is no
                database of Stateous.
        """
        ...

    def renew_hold(self, holder: str, now: datetime) -> HoldState:
        """Renew ``since`` when it is old enough; find out whether the hold is still ours.

        Raises:
            CommitUnknown: the row was free; whether it was taken back is not known.
            DatabaseBusy: it could not be found out now.
        """
        ...

    def give_up_hold(self, holder: str) -> None:
        """Clear the row when it is ours, and free the lock."""
        ...

    def serve_graph(self, holder: str, record: GraphRecord, now: datetime) -> int:
        """Put ``record`` on record as what is served, and pin live tokens to it (6.2).

        All in one fenced transaction. Returns 0, or, with nothing changed, how many workflow
        tokens are live on another structure.
        """
        ...

    def ticket_key(self) -> KeyOnRecord:
        """What is on record of the ticket key."""
        ...

    def record_ticket_key(self, holder: str, *, key: str | None, fingerprint: str) -> None:
        """Put the ticket key's fingerprint on record; and ``key``, None takes it from there."""
        ...

    def next_ids(self) -> NextIds:
        """The first ids that were never used."""
        ...

    @property
    def generation(self) -> int:
        """Grows when somebody else may have written; to be read inside a transaction.

        What was loaded and committed in transactions of the same generation is still true: no other
        control plane can have written in between, whose name would stand in the fence.
        """
        ...

    def transaction(self, holder: str) -> AbstractContextManager[Transaction]:
        """A fenced transaction.

        Raises:
            HoldLost: the name on record is not ``holder``; from the block's end or before.
            TransactionConflict: it was stopped, and should be tried again.
            CommitUnknown: from the block's end; whether it was committed is not known.
            DatabaseBusy: it could not be done now.
        """
        ...

    def stop_waiting(self) -> None:
        """The control plane stops: a transaction that waits for another program's lock gives up.

        Those to come do not wait at all, but for a moment that :meth:`give_up_hold` takes. Any
        thread may call this, also while another one is in a transaction.
        """
        ...

    def reads(self) -> Reads:
        """Reads on connections of their own, never behind the writer."""
        ...

    def close(self) -> None:
        """Close all connections. The hold is not given up."""
        ...
