"""The filtered lists on either database: cold reads, selected by SQLModel's tables.

This module brings SQLAlchemy along, so it is imported with the first list that somebody asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from stateous.json import JsonText
from stateous.names import SCRIPTS, job_queue
from stateous_controlplane.engine.rows import TaskStatus
from stateous_controlplane.store import pages, run_pages
from stateous_controlplane.store.paging import page_of, page_of_tokens
from stateous_controlplane.store.port import Place, TaskFilter, TaskView, TokenFilter, TokenView
from stateous_controlplane.store.run_rows import CHILD, failure_of, kept_view, path_of
from stateous_controlplane.store.run_views import (
    GraphView,
    JobView,
    NewestPlace,
    RunFilter,
    RunInFull,
    RunView,
    TicketView,
    TimerView,
)

_E = TypeVar("_E", bound=Exception)


class Lists(Generic[_E]):
    """Pages of the database behind ``engine``.

    ``driver_error`` is what the driver raises, and ``failure`` what it means. After the statement
    ``snapshot`` all that is read on a connection is as it was at one moment.
    """

    def __init__(
        self,
        engine: Engine,
        driver_error: type[_E],
        failure: Callable[[_E], Exception],
        snapshot: str,
    ) -> None:
        self._engine = engine
        self._snapshot = snapshot
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

    def run(self, run: str) -> RunInFull | None:
        """One run, all of it as it was at one moment."""
        with self._reading() as connection:
            connection.exec_driver_sql(self._snapshot)
            row = connection.execute(run_pages.one_run(run)).one_or_none()
            if row is None:
                return None
            given, output, outputs, starter = row[11:]
            full = RunInFull(_run_view(row[:11]), given, output, outputs or "{}", starter)
            if row.ended_at is not None:
                return full
            jobs, timers, tickets, kept = (
                connection.execute(select(run)).all()
                for select in (
                    run_pages.jobs_of,
                    run_pages.timers_of,
                    run_pages.tickets_of,
                    run_pages.kept_of,
                )
            )
        place = {step.state: at for at, step in enumerate(full.view.configuration)}
        return replace(
            full,
            jobs=tuple(map(_job_view, jobs)),
            timers=tuple(TimerView(*each) for each in timers),
            tickets=tuple(
                sorted((TicketView(*each) for each in tickets), key=lambda each: place[each.state])
            ),
            kept=tuple(kept_view(JsonText(data).value, at) for data, at in kept),
        )

    def runs(
        self, where: RunFilter, *, behind: NewestPlace | None, limit: int
    ) -> tuple[list[RunView], bool]:
        """A page of runs."""
        with self._reading() as connection:
            page = run_pages.runs_page(where, behind=behind, limit=limit + 1)
            return page_of(map(_run_view, connection.execute(page).all()), limit=limit)

    def graphs(self, *, behind: NewestPlace | None, limit: int) -> tuple[list[GraphView], bool]:
        """A page of documents."""
        with self._reading() as connection:
            page = run_pages.graphs_page(behind=behind, limit=limit + 1)
            found = connection.execute(page).all()
            names: dict[str, list[str]] = {row.graph: [] for row in found}
            for graph, name in connection.execute(run_pages.machines_of(list(names))):
                names[graph].append(name)
        views = (
            GraphView(graph, kind, name, tuple(names[graph]), added_at, live)
            for graph, kind, name, added_at, live in found
        )
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


def _run_view(row: Sequence[Any]) -> RunView:
    view = RunView(*row)
    return view._replace(
        configuration=path_of(row[7]), error=None if row[8] is None else failure_of(row[8])
    )


def _job_view(row: Sequence[Any]) -> JobView:
    kind, data, queue, task_status, attempt, run_status = row
    entry = JsonText(data).value
    if kind == "task_queued":
        does = "script" if queue == job_queue(SCRIPTS) else "routine"
        return JobView(entry["job"], entry["state"], does, task_status, attempt, task=entry["task"])
    return JobView(entry["job"], entry["state"], "machine", CHILD[run_status], run=entry["run"])
