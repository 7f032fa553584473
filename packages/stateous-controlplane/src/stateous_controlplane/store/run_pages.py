"""The selects of runs and documents, for both databases: cold reads, by SQLModel's tables.

The condition of a partial index has to stand in a query word by word, and not as a parameter.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, TextClause, and_, func, or_, select, text
from sqlalchemy.orm import aliased
from sqlmodel import col

from stateous_controlplane.store.json_members import JsonMember, JsonNumber
from stateous_controlplane.store.run_views import NewestPlace, RunFilter
from stateous_controlplane.store.tables import (
    LIVE,
    RUN,
    GraphRow,
    KeptRow,
    LedgerRow,
    MachineRow,
    TaskRow,
    TicketRow,
    TimerRow,
    TokenRow,
)

_run = col(TokenRow.token)
_started = col(TokenRow.started_at)

#: The columns of a :class:`~stateous_controlplane.store.run_views.RunView`.
_SHOWN = (
    _run,
    col(MachineRow.name),
    col(TokenRow.graph),
    col(TokenRow.key),
    col(TokenRow.parent),
    col(TokenRow.job),
    col(TokenRow.status),
    col(TokenRow.configuration),
    col(TokenRow.error),
    _started,
    col(TokenRow.ended_at),
)
_OF_MACHINE = and_(
    col(MachineRow.graph) == col(TokenRow.graph), col(MachineRow.path) == col(TokenRow.workflow)
)


def runs_page(
    where: RunFilter, *, behind: NewestPlace | None, limit: int
) -> Select[*tuple[Any, ...]]:
    """At most ``limit`` runs behind ``behind``, newest first."""
    # As an expression the kind calls for no walk along the newest: an index finds few rows to sort.
    looked_up = where.key is not None or where.parent is not None
    conditions: list[ColumnElement[bool] | TextClause] = [
        col(TokenRow.kind).concat("") == "run" if looked_up else text(f"tokens.{RUN}")
    ]
    for column, value in (
        (col(TokenRow.status), where.status),
        (col(MachineRow.name), where.machine),
        (col(TokenRow.key), where.key),
        (col(TokenRow.parent), where.parent),
    ):
        if value is not None:
            conditions.append(column == value)
    if where.key is not None:
        conditions.append(col(TokenRow.key).is_not(None))
    if behind is not None:
        conditions += [
            _started <= behind.moment,
            or_(_started < behind.moment, _run > behind.name),
        ]
    return (
        select(*_SHOWN)
        .join(MachineRow, _OF_MACHINE)
        .where(*conditions)
        .order_by(_started.desc(), _run)
        .limit(limit)
    )


def one_run(run: str) -> Select[*tuple[Any, ...]]:
    """A run's view, then input, output, outputs and starter."""
    more = (
        col(TokenRow.input),
        col(TokenRow.output),
        col(TokenRow.outputs),
        col(TokenRow.starter),
    )
    return (
        select(*_SHOWN, *more)
        .join(MachineRow, _OF_MACHINE)
        .where(_run == run, col(TokenRow.kind).concat("") == "run")
    )


def jobs_of(run: str) -> Select[*tuple[Any, ...]]:
    """The jobs that the run's last state has started: the entries, the tasks and the child runs."""
    entry, entered = aliased(LedgerRow), aliased(LedgerRow)
    last_entered = (
        select(col(entered.seq))
        .where(col(entered.token) == run, col(entered.kind) == "entered")
        .order_by(col(entered.seq).desc())
        .limit(1)
        .scalar_subquery()
    )
    return (
        select(
            col(entry.kind),
            col(entry.data),
            col(TaskRow.queue),
            col(TaskRow.status),
            col(TaskRow.attempt),
            col(TokenRow.status),
        )
        .select_from(entry)
        .outerjoin(
            TaskRow,
            and_(
                col(entry.kind) == "task_queued",
                col(TaskRow.id) == JsonNumber(col(entry.data), "task"),
            ),
        )
        .outerjoin(
            TokenRow,
            and_(col(entry.kind) == "branch_started", _run == JsonMember(col(entry.data), "run")),
        )
        .where(
            col(entry.token) == run,
            col(entry.seq) > last_entered,
            or_(col(entry.kind) == "task_queued", col(entry.kind) == "branch_started"),
        )
        .order_by(col(entry.seq))
    )


def timers_of(run: str) -> Select[*tuple[Any, ...]]:
    """The timers that run, in the order that they were started in."""
    return (
        select(col(TimerRow.event), col(TimerRow.state), col(TimerRow.text), col(TimerRow.due_at))
        .where(col(TimerRow.token) == run, text("timers.status = 'pending'"))
        .order_by(col(TimerRow.id))
    )


def tickets_of(run: str) -> Select[*tuple[Any, ...]]:
    """The open tickets."""
    return select(
        col(TicketRow.ticket),
        col(TicketRow.state),
        col(TicketRow.visit),
        col(TicketRow.digest),
        col(TicketRow.issued_at),
    ).where(col(TicketRow.token) == run, text("tickets.status = 'open'"))


def kept_of(run: str) -> Select[*tuple[Any, ...]]:
    """The entries of kept events, oldest first."""
    return (
        select(col(LedgerRow.data), col(LedgerRow.at))
        .select_from(KeptRow)
        .join(
            LedgerRow,
            and_(
                col(LedgerRow.token) == col(KeptRow.token), col(LedgerRow.seq) == col(KeptRow.seq)
            ),
        )
        .where(col(KeptRow.token) == run, col(KeptRow.why) == "deferred")
        .order_by(col(KeptRow.seq))
    )


def graphs_page(*, behind: NewestPlace | None, limit: int) -> Select[*tuple[Any, ...]]:
    """At most ``limit`` documents behind ``behind``, newest first; without machines."""
    graph, added = col(GraphRow.graph), col(GraphRow.added_at)
    live = (
        select(func.count())
        .select_from(TokenRow)
        .where(col(TokenRow.graph) == graph, text(f"tokens.{LIVE}"))
        .correlate(GraphRow)
        .scalar_subquery()
    )
    conditions = []
    if behind is not None:
        conditions = [added <= behind.moment, or_(added < behind.moment, graph > behind.name)]
    return (
        select(graph, col(GraphRow.kind), col(GraphRow.name), added, live)
        .where(*conditions)
        .order_by(added.desc(), graph)
        .limit(limit)
    )


def machines_of(graphs: list[str]) -> Select[*tuple[Any, ...]]:
    """The machines of documents, but for the charts themselves."""
    graph, path = col(MachineRow.graph), col(MachineRow.path)
    return (
        select(graph, col(MachineRow.name))
        .where(graph.in_(graphs), path != ".")
        .order_by(graph, path)
    )
