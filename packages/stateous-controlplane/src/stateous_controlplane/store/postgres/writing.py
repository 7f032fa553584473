"""Statements that write many rows at once, columns as arrays.

A statement that changes rows divides by zero when it has not found them all, so that the commit
that was sent along with it fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from stateous_controlplane.store.postgres.arrays import Columns
from stateous_controlplane.store.postgres.rounds import Statement
from stateous_controlplane.store.rows import Row

#: What a write says whose rows are not all there: SQLSTATE of a division by zero.
ROWS_MISSING: Final = "22012"


class Insert:
    """New rows of a table; ``more`` stands behind them."""

    def __init__(self, table: str, names: str, *, more: str = "") -> None:
        self._columns = Columns(names)
        self._text = f"INSERT INTO {table} ({names}) SELECT * FROM {self._columns.unnested}{more}"

    def __call__(self, values: Sequence[Row]) -> Iterator[Statement]:
        """The statement for ``values``; none when there are none."""
        if values:
            yield self._text, self._columns.arrays(values)


class Update:
    """Rows of a table that change, each of which must be there: the key, then ``names``."""

    def __init__(self, table: str, key: str, names: str) -> None:
        self._columns = Columns(f"{key}, {names}")
        changed = ", ".join(f"{name} = new.{name}" for name in names.split(", "))
        self._text = (
            f"WITH done AS (UPDATE {table} SET {changed} "
            f"FROM {self._columns.unnested} AS new ({key}, {names}) "
            f"WHERE {table}.{key} = new.{key} RETURNING 1) "
            "SELECT 1 / (count(*) = %s::bigint)::int FROM done"
        )

    def __call__(self, values: Sequence[Row]) -> Iterator[Statement]:
        """The statement for ``values``; none when there are none."""
        if values:
            yield self._text, [*self._columns.arrays(values), len(values)]


class Delete:
    """Rows of a table that go, found by ``names``."""

    def __init__(self, table: str, names: str) -> None:
        self._columns = Columns(names)
        same = " AND ".join(f"{table}.{name} = old.{name}" for name in names.split(", "))
        self._text = (
            f"DELETE FROM {table} USING {self._columns.unnested} AS old ({names}) WHERE {same}"
        )

    def __call__(self, values: Sequence[Row]) -> Iterator[Statement]:
        """The statement for ``values``; none when there are none."""
        if values:
            yield self._text, self._columns.arrays(values)
