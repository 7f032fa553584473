"""Rounds of statements: sent together, answered together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from stateous_controlplane.store.postgres.connecting import Connection
from stateous_controlplane.store.rows import Row

#: A statement with its parameters; None: one that is not worth preparing.
Statement: TypeAlias = tuple[str, Sequence[Any] | None]


def ask(connection: Connection, statements: Sequence[Statement]) -> list[list[Row]]:
    """The rows that each of ``statements`` gives, in one round trip.

    Raises:
        psycopg.Error: the first that failed; those behind it were not run.
    """
    with connection.pipeline():
        cursors = [
            connection.execute(text, parameters, prepare=parameters is not None)
            for text, parameters in statements
        ]
    return [[] if cursor.description is None else cursor.fetchall() for cursor in cursors]
