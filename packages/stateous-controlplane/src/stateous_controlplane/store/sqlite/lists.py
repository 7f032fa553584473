"""The filtered lists on SQLite: cold reads, selected by SQLModel's tables.

Each page has a connection of its own, closed with it. This module brings SQLAlchemy along, so it
is imported with the first list that somebody asks for.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from stateous_controlplane.engine.rows import TaskStatus
from stateous_controlplane.store import pages
from stateous_controlplane.store.paging import page_of, page_of_tokens
from stateous_controlplane.store.port import Place, TaskFilter, TaskView, TokenFilter, TokenView
from stateous_controlplane.store.sqlite import connecting


class SqliteLists:
    """Pages of the database in ``file``."""

    def __init__(self, file: Path, busy_timeout: float) -> None:
        self._file = file
        self._engine = create_engine(
            "sqlite://",
            creator=partial(connecting.open_reader, file, busy_timeout),
            poolclass=NullPool,
        )

    def tokens(
        self, where: TokenFilter, *, behind: Place | None, limit: int, max_bytes: int
    ) -> tuple[list[TokenView], bool]:
        """A page of tokens."""
        with self._reading() as connection:
            narrow = where.prefix is not None and (
                connection.execute(pages.matching_prefix(where.prefix)).scalar_one() <= pages.FEW
            )
            found = connection.execute(
                pages.tokens_page(where, behind=behind, limit=limit + 1, narrow=narrow)
            )
            views = (TokenView(*row) for row in found)
            return page_of_tokens(views, limit=limit, max_bytes=max_bytes)

    def tasks(self, where: TaskFilter, *, behind: int, limit: int) -> tuple[list[TaskView], bool]:
        """A page of tasks."""
        with self._reading() as connection:
            found = connection.execute(pages.tasks_page(where, behind=behind, limit=limit + 1))
            views = (TaskView(*row)._replace(status=TaskStatus(row.status)) for row in found)
            return page_of(views, limit=limit)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except sqlite3.Error as error:
            raise connecting.failure(self._file, error) from error
        except DBAPIError as error:
            if not isinstance(error.orig, sqlite3.Error):
                raise
            raise connecting.failure(self._file, error.orig) from error
