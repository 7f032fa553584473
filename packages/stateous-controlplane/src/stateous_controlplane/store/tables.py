"""The tables, their keys and their indexes (`docs/spec/wire.md` 5.1), for both databases.

They are what the migrations must lead to (a test compares them) and what cold reads select from.
Hot paths use SQL of their own. Partial indexes hold only the rows that the clock, claims and moves
look up, so that the cost of a look-up does not grow with what is over.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index, MetaData, Text, text
from sqlmodel import Field, SQLModel, col

from stateous_controlplane.store.columns import Id, Moment, Whole

#: Conditions of partial indexes; a query has to repeat them word by word. SQLite builds a table for
#: an IN of three, each time that a task is written, and none for this.
LIVE = "status IN ('active', 'paused')"
OPEN = "status = 'queued' OR status = 'claimed' OR status = 'waiting'"
CLAIMED = "status = 'claimed'"
UNCLAIMED = "status IN ('waiting', 'queued')"
RUN = "kind = 'run'"


def _index(name: str, *columns: str, where: str | None = None, unique: bool = False) -> Index:
    condition: dict[str, Any] = (
        {} if where is None else {"sqlite_where": text(where), "postgresql_where": text(where)}
    )
    return Index(name, *columns, unique=unique, **condition)


class Stored(SQLModel):
    """What all tables have in common: one set of metadata, apart from SQLModel's own."""

    metadata = MetaData()


class TokenRow(Stored, table=True):
    """Workflow tokens and runs. ``(top, status)`` finds a family's live rows among its ended."""

    __tablename__ = "tokens"
    __table_args__ = (
        _index("tokens_folded", "folded", unique=True),
        _index("tokens_top", "top", "status"),
        _index("tokens_parent", "parent", "parent_state", "parent_visit"),
        _index("tokens_graph_live", "graph", where=LIVE),
        _index("tokens_key_live", "key", where=LIVE, unique=True),
        _index("runs_key", "key", where="key IS NOT NULL"),
    )

    token: str = Field(sa_type=Id, primary_key=True)
    folded: str = Field(sa_type=Id)
    kind: str = Field(sa_type=Id)
    top: str = Field(sa_type=Id)
    parent: str | None = Field(sa_type=Id)
    parent_state: str | None = Field(sa_type=Id)
    parent_visit: int | None = Field(sa_type=Whole)
    workflow: str | None = Field(sa_type=Id)
    graph: str = Field(sa_type=Id)
    state: str = Field(sa_type=Id)
    visit: int = Field(sa_type=Whole)
    status: str = Field(sa_type=Text)
    configuration: str = Field(sa_type=Text)
    context: str = Field(sa_type=Text)
    entered_by: str = Field(sa_type=Text)
    counts: str = Field(sa_type=Text)
    visits: str = Field(sa_type=Text)
    seq: int = Field(sa_type=Whole)
    at: datetime = Field(sa_type=Moment)
    entered_at: datetime = Field(sa_type=Moment)
    started_at: datetime = Field(sa_type=Moment)
    paused_at: datetime | None = Field(sa_type=Moment)
    ended_at: datetime | None = Field(sa_type=Moment)
    key: str | None = Field(sa_type=Id)
    job: str | None = Field(sa_type=Id)
    input: str | None = Field(sa_type=Text)
    output: str | None = Field(sa_type=Text)
    outputs: str | None = Field(sa_type=Text)
    error: str | None = Field(sa_type=Text)
    starter: str | None = Field(sa_type=Text)


# Lists of tokens come most recently moved first.
_moved = (col(TokenRow.entered_at).desc(), col(TokenRow.token))
Index("tokens_moved", col(TokenRow.kind), *_moved)
Index("tokens_status_moved", col(TokenRow.kind), col(TokenRow.status), *_moved)

# Lists of runs come newest first. Nothing of a workflow token stands in these. To SQLite's planner
# an index is worth more that has a column to compare: hence the kind, which is one.
_newest = (col(TokenRow.started_at).desc(), col(TokenRow.token))
_of_runs: Any = {"sqlite_where": text(RUN), "postgresql_where": text(RUN)}
Index("runs_newest", col(TokenRow.kind), *_newest, **_of_runs)
Index("runs_status_newest", col(TokenRow.kind), col(TokenRow.status), *_newest, **_of_runs)


class TaskRow(Stored, table=True):
    """Tasks. Only what a claim can have stands in ``tasks_queue``: a claim needs no join."""

    __tablename__ = "tasks"
    __table_args__ = (
        _index("tasks_queue", "queue", "queued_at", "id", where="ready"),
        _index("tasks_lease", "lease_until", where=CLAIMED),
        _index("tasks_open", "token", where=OPEN),
        _index("tasks_unclaimed", "status", "id", where=UNCLAIMED),
        _index("tasks_timeout", "timeout", where="timeout IS NOT NULL"),
        {"sqlite_autoincrement": True},
    )

    id: int | None = Field(default=None, sa_type=Whole, primary_key=True)
    token: str = Field(sa_type=Id)
    state: str = Field(sa_type=Id)
    visit: int = Field(sa_type=Whole)
    queue: str = Field(sa_type=Id)
    status: str = Field(sa_type=Text)
    ready: bool
    attempt: int = Field(sa_type=Whole)
    claimed_by: str | None = Field(sa_type=Id)
    lease_until: datetime | None = Field(sa_type=Moment)
    queued_at: datetime = Field(sa_type=Moment)
    job: str | None = Field(sa_type=Id)
    input: str | None = Field(sa_type=Text)
    timeout: str | None = Field(sa_type=Text)
    lost: int | None = Field(sa_type=Whole)
    emitted: int | None = Field(sa_type=Whole)
    last_number: int = Field(sa_type=Whole)


class TimerRow(Stored, table=True):
    """Timers."""

    __tablename__ = "timers"
    __table_args__ = (
        _index("timers_due", "due_at", "id", where="ready"),
        _index("timers_pending", "token", where="status = 'pending'"),
        {"sqlite_autoincrement": True},
    )

    id: int | None = Field(default=None, sa_type=Whole, primary_key=True)
    token: str = Field(sa_type=Id)
    state: str = Field(sa_type=Id)
    visit: int = Field(sa_type=Whole)
    kind: str = Field(sa_type=Id)
    event: str = Field(sa_type=Id)
    payload: str | None = Field(sa_type=Text)
    text: str | None = Field(sa_type=Text)
    set_at: datetime = Field(sa_type=Moment)
    due_at: datetime = Field(sa_type=Moment)
    status: str = Field(sa_type=Text)
    ready: bool


class LedgerRow(Stored, table=True):
    """Ledger entries. A token's stand side by side, in order."""

    __tablename__ = "ledger"
    __table_args__ = (
        _index("ledger_key", "token", "key", where="key IS NOT NULL", unique=True),
        {"sqlite_with_rowid": False},
    )

    token: str = Field(sa_type=Id, primary_key=True)
    seq: int = Field(sa_type=Whole, primary_key=True)
    at: datetime = Field(sa_type=Moment)
    kind: str = Field(sa_type=Id)
    key: str | None = Field(sa_type=Id)
    data: str = Field(sa_type=Text)


class KeptRow(Stored, table=True):
    """Events that wait: held by a pause, or deferred by a chart."""

    __tablename__ = "kept"
    __table_args__ = (_index("kept_top", "top", "arrival"), {"sqlite_with_rowid": False})

    token: str = Field(sa_type=Id, primary_key=True)
    seq: int = Field(sa_type=Whole, primary_key=True)
    top: str = Field(sa_type=Id)
    why: str = Field(sa_type=Text)
    arrival: int = Field(sa_type=Whole)


class MemoryRow(Stored, table=True):
    """What routines remember of a token and state."""

    __tablename__ = "memory"
    __table_args__ = ({"sqlite_with_rowid": False},)

    token: str = Field(sa_type=Id, primary_key=True)
    state: str = Field(sa_type=Id, primary_key=True)
    key: str = Field(sa_type=Id, primary_key=True)
    value: str = Field(sa_type=Text)


class ClaimRow(Stored, table=True):
    """What each supervisor's last granted request got."""

    __tablename__ = "claims"
    __table_args__ = ({"sqlite_with_rowid": False},)

    supervisor: str = Field(sa_type=Id, primary_key=True)
    request: str = Field(sa_type=Id, primary_key=True)
    task: int = Field(sa_type=Whole, primary_key=True)
    attempt: int = Field(sa_type=Whole)


class TicketRow(Stored, table=True):
    """Tickets of runs; ``digest`` is that of the value, which is not stored."""

    __tablename__ = "tickets"
    __table_args__ = (
        _index("tickets_digest", "digest", unique=True),
        _index("tickets_open", "token", where="status = 'open'"),
    )

    token: str = Field(sa_type=Id, primary_key=True)
    state: str = Field(sa_type=Id, primary_key=True)
    visit: int = Field(sa_type=Whole, primary_key=True)
    ticket: str = Field(sa_type=Id, primary_key=True)
    digest: str = Field(sa_type=Id)
    status: str = Field(sa_type=Text)
    issued_at: datetime = Field(sa_type=Moment)


class OutboxRow(Stored, table=True):
    """Sends to other families that have not been delivered yet."""

    __tablename__ = "outbox"
    __table_args__ = (
        _index("outbox_sent", "token", "seq", unique=True),
        {"sqlite_autoincrement": True},
    )

    id: int | None = Field(default=None, sa_type=Whole, primary_key=True)
    token: str = Field(sa_type=Id)
    seq: int = Field(sa_type=Whole)
    target: str = Field(sa_type=Id)
    event: str = Field(sa_type=Id)
    data: str | None = Field(sa_type=Text)
    at: datetime = Field(sa_type=Moment)


class GraphRow(Stored, table=True):
    """Graph documents by checksum."""

    __tablename__ = "graphs"

    graph: str = Field(sa_type=Id, primary_key=True)
    kind: str = Field(sa_type=Id)
    name: str = Field(sa_type=Id)
    structure: str = Field(sa_type=Id)
    contract: str = Field(sa_type=Id)
    document: str = Field(sa_type=Text)
    added_at: datetime = Field(sa_type=Moment)


class MachineRow(Stored, table=True):
    """The machines of the statecharts on record: `.` is the chart itself."""

    __tablename__ = "machines"

    graph: str = Field(sa_type=Id, primary_key=True)
    path: str = Field(sa_type=Id, primary_key=True)
    name: str = Field(sa_type=Id)


class ControlPlaneRow(Stored, table=True):
    """The one row that says who serves, and what."""

    __tablename__ = "control_plane"

    id: int = Field(sa_type=Whole, primary_key=True, sa_column_kwargs={"autoincrement": False})
    structure: str | None = Field(sa_type=Id)
    checksum: str | None = Field(sa_type=Id)
    serving: str | None = Field(sa_type=Id)
    since: datetime | None = Field(sa_type=Moment)
    ticket_key: str | None = Field(sa_type=Text)
    key_fingerprint: str | None = Field(sa_type=Text)
