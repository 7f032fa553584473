"""The selects of the filtered lists, `GET /tokens` and `GET /tasks`, for both databases.

Names and ids are compared by code point, never by a pattern. A page is walked in the order of an
index and filtered on the way; where a filter finds few rows by an index of its own, these are
looked up and sorted (``narrow``). The kind then stands in an expression, which no index serves.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, TextClause, and_, func, or_, select, text
from sqlmodel import col

from stateous_controlplane.store.json_members import JsonNumber
from stateous_controlplane.store.port import Place, TaskFilter, TokenFilter
from stateous_controlplane.store.tables import (
    CLAIMED,
    OPEN,
    UNCLAIMED,
    LedgerRow,
    TaskRow,
    TokenRow,
)

#: Up to so many ids with a prefix are looked up and sorted, instead of a walk by time.
FEW: Final = 1000

_token = col(TokenRow.token)
_moved = col(TokenRow.entered_at)
_WORKFLOW_KIND: Final = "token"

# Before each lease: the index of leases serves only a query that compares them.
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)

# The partial index that serves a status: its condition has to stand in the query word by word.
_INDEXED: Final = {"queued": UNCLAIMED, "waiting": UNCLAIMED, "claimed": CLAIMED}


def behind_prefix(prefix: str) -> str | None:
    """The first text, by code point, behind all that start with ``prefix``; None: there is none."""
    while prefix:
        last = ord(prefix[-1])
        prefix = prefix[:-1]
        if last < sys.maxunicode:
            # Surrogates are no characters of their own.
            return prefix + chr(0xE000 if last == 0xD7FF else last + 1)
    return None


def _starting_with(prefix: str) -> ColumnElement[bool]:
    end = behind_prefix(prefix)
    return _token >= prefix if end is None else and_(_token >= prefix, _token < end)


def matching_prefix(prefix: str) -> Select[int]:
    """How many ids start with ``prefix``, counted up to one more than :data:`FEW`."""
    some = select(_token).where(_starting_with(prefix)).limit(FEW + 1).subquery()
    return select(func.count()).select_from(some)


def tokens_page(
    where: TokenFilter, *, behind: Place | None, limit: int, narrow: bool
) -> Select[*tuple[Any, ...]]:
    """The columns of a :class:`TokenView`, at most ``limit`` rows behind ``behind``.

    ``narrow``: few ids have the prefix that ``where`` asks for.
    """
    kind = col(TokenRow.kind)
    looked_up = narrow or where.parent is not None
    conditions = [(kind.concat("") if looked_up else kind) == _WORKFLOW_KIND]
    if where.status is not None:
        status = col(TokenRow.status)
        conditions.append((status.concat("") if looked_up else status) == where.status)
    if where.state is not None:
        conditions.append(col(TokenRow.state) == where.state)
    if where.top_only:
        conditions.append(col(TokenRow.workflow).is_(None))
    elif where.workflow is not None:
        conditions.append(col(TokenRow.workflow) == where.workflow)
    if where.parent is not None:
        conditions.append(col(TokenRow.parent) == where.parent)
    if where.prefix is not None:
        conditions.append(_starting_with(where.prefix))
    if where.moved_after is not None:
        conditions.append(_moved > where.moved_after)
    if where.moved_before is not None:
        conditions.append(_moved < where.moved_before)
    if behind is not None:
        conditions += [
            _moved <= behind.entered_at,
            or_(_moved < behind.entered_at, _token > behind.token),
        ]
    return (
        select(
            _token,
            col(TokenRow.state),
            col(TokenRow.status),
            col(TokenRow.visit),
            col(TokenRow.context),
            _moved,
            col(TokenRow.parent),
        )
        .where(*conditions)
        .order_by(_moved.desc(), _token)
        .limit(limit)
    )


def tasks_page(where: TaskFilter, *, behind: int, limit: int) -> Select[*tuple[Any, ...]]:
    """The columns of a :class:`TaskView`, at most ``limit`` rows with a greater id.

    The tasks of a token that may be over are found through its ledger, which has queued each: no
    index of the tasks has to hold those for ever.
    """
    # As an expression the id calls for no walk along the ids: an index finds few rows to sort.
    by_index = where.token is not None or where.status == "claimed"
    task = col(TaskRow.id) + 0 if by_index else col(TaskRow.id)
    indexed = _INDEXED.get(where.status or "")
    conditions: list[ColumnElement[bool] | TextClause] = [
        (task + 0 if by_index else task) > behind,
        col(TaskRow.job).is_(None),
    ]
    if where.status is not None:
        conditions.append(col(TaskRow.status) == where.status)
    if where.state is not None:
        conditions.append(col(TaskRow.queue) == where.state)
    if where.token is not None:
        conditions.append(col(TaskRow.token) == where.token)
        if indexed is not None:
            conditions.append(text(f"({OPEN})"))
        else:
            queued = select(JsonNumber(col(LedgerRow.data), "task")).where(
                col(LedgerRow.token) == where.token, col(LedgerRow.kind) == "task_queued"
            )
            conditions.append(col(TaskRow.id).in_(queued))
    elif indexed is not None:
        conditions.append(text(indexed))
        if where.status == "claimed":
            conditions.append(col(TaskRow.lease_until) > _LONG_AGO)
    return (
        select(
            col(TaskRow.id),
            col(TaskRow.token),
            col(TaskRow.queue),
            col(TaskRow.visit),
            col(TaskRow.status),
            col(TaskRow.attempt),
            col(TaskRow.claimed_by),
            col(TaskRow.lease_until),
            col(TaskRow.queued_at),
        )
        .where(*conditions)
        .order_by(task)
        .limit(limit)
    )
