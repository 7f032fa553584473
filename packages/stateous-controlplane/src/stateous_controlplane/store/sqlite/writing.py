"""Statements that write many rows at once.

Each step of a statement lets other threads run and may have to wait until they let go, so rows are
written many at a time: a statement has a fixed number of rows, and its text is prepared once. Rows
that are left over are changed by a plain UPDATE each, a third of what one costs that joins a list.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import Final

from stateous_controlplane.store.port import StoreError
from stateous_controlplane.store.rows import Row

# So many rows have a statement of their own, greatest first. The last must be 1.
_ROWS_INSERTED: Final = (32, 16, 8, 4, 2, 1)
_ROWS_CHANGED: Final = (32, 16, 8, 1)


class Write:
    """A statement over rows of values; ``changes`` tells whether each row must find one to change.

    ``text`` has `{rows}` where the rows go; ``single``: what one row alone is written with, if that
    is something else.
    """

    def __init__(
        self, text: str, width: int, *, single: str | None = None, changes: bool = False
    ) -> None:
        row = f"({', '.join('?' * width)})"
        counts = _ROWS_CHANGED if changes else _ROWS_INSERTED
        texts = {count: text.format(rows=", ".join([row] * count)) for count in counts}
        if single is not None:
            texts[1] = single
        self._texts = tuple(texts.items())
        self._changes = changes

    def __call__(self, connection: sqlite3.Connection, values: Sequence[Row]) -> None:
        """Write ``values``.

        Raises:
            StoreError: a row to change is not there.
        """
        at, left = 0, len(values)
        for count, text in self._texts:
            while left >= count:
                flat = [*chain.from_iterable(values[at : at + count])]
                cursor = connection.execute(text, flat)
                if self._changes and cursor.rowcount != count:
                    raise StoreError(f"a row to change is not there (`{text}`)")
                at, left = at + count, left - count
            if not left:
                return


def insert(table: str, columns: str, *, more: str = "") -> Write:
    """New rows of ``table``; ``more`` stands behind them."""
    return Write(f"INSERT INTO {table} ({columns}) VALUES {{rows}}{more}", columns.count(",") + 1)


def update(table: str, key: str, columns: str) -> Write:
    """Rows of ``table`` that change, each of which must be there: the key, then ``columns``."""
    names = columns.split(", ")
    # SQLite names the columns of VALUES column1, column2 and so on.
    changed = ", ".join(f"{name} = new.column{at}" for at, name in enumerate(names, 2))
    changed_alone = ", ".join(f"{name} = ?{at}" for at, name in enumerate(names, 2))
    return Write(
        f"UPDATE {table} SET {changed} FROM (VALUES {{rows}}) AS new "
        f"WHERE {table}.{key} = new.column1",
        len(names) + 1,
        single=f"UPDATE {table} SET {changed_alone} WHERE {key} = ?1",
        changes=True,
    )


def delete(table: str, key: str) -> Write:
    """Rows of ``table`` that go, by ``key``; none has to be there."""
    return Write(
        f"DELETE FROM {table} WHERE {key} IN (VALUES {{rows}})",
        1,
        single=f"DELETE FROM {table} WHERE {key} = ?",
    )
