"""The filtered lists on either database: cold reads, selected by SQLModel's tables.

This module brings SQLAlchemy along, so it is imported with the first list that somebody asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from stateous_controlplane.engine.rows import TaskStatus
from stateous_controlplane.store import pages
from stateous_controlplane.store.paging import page_of, page_of_tokens
from stateous_controlplane.store.port import Place, TaskFilter, TaskView, TokenFilter, TokenView

_E = TypeVar("_E", bound=Exception)


class Lists(Generic[_E]):
    """Pages of the database behind ``engine``.

    ``driver_error`` is what the driver raises, and ``failure`` what it means.
    """

    def __init__(
        self, engine: Engine, driver_error: type[_E], failure: Callable[[_E], Exception]
    ) -> None:
        self._engine = engine
        self._driver_error = driver_error
        self._failure = failure

    def tokens(
        self, where: TokenFilter, *, behind: Place | None, limit: int, max_bytes: int
    ) -> tuple[list[TokenView], bool]:
        """A page of tokens."""
        with self._reading() as connection:
            narrow = where.prefix is not None and (
                connection.execute(pages.matching_prefix(where.prefix)).scalar_one() <= pages.FEW
            )
            page = pages.tokens_page(where, behind=behind, limit=limit + 1, narrow=narrow)
            with connection.execution_options(stream_results=True).execute(page) as found:
                views = (TokenView(*row) for row in found)
                return page_of_tokens(views, limit=limit, max_bytes=max_bytes)

    def tasks(self, where: TaskFilter, *, behind: int, limit: int) -> tuple[list[TaskView], bool]:
        """A page of tasks."""
        with self._reading() as connection:
            found = connection.execute(pages.tasks_page(where, behind=behind, limit=limit + 1))
            views = (TaskView(*row)._replace(status=TaskStatus(row.status)) for row in found)
            return page_of(views, limit=limit)

    def close(self) -> None:
        """Close the connections that are open."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except self._driver_error as error:
            raise self._failure(error) from error
        except DBAPIError as error:
            if not isinstance(error.orig, self._driver_error):
                raise
            raise self._failure(error.orig) from error
