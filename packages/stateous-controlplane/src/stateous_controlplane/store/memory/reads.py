"""Reads of the store in memory: a commit puts other tables in the place of those that are read."""

from __future__ import annotations

from stateous_controlplane.engine.rows import Entry, Token
from stateous_controlplane.store.memory import run_reads
from stateous_controlplane.store.memory.database import MemoryDatabase
from stateous_controlplane.store.memory.tables import copy_of_entry
from stateous_controlplane.store.paging import page_of, page_of_tokens
from stateous_controlplane.store.port import Place, TaskFilter, TaskView, TokenFilter, TokenView
from stateous_controlplane.store.run_views import (
    GraphView,
    NewestPlace,
    RunFilter,
    RunInFull,
    RunState,
    RunView,
)


class MemoryReads:
    """Reads of what is committed."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def token(self, token: str) -> TokenView | None:
        """One token."""
        row = self._database.tables.tokens.get(token)
        return None if row is None or row.run is not None else _view(row)

    def run_state(self, run: str) -> RunState | None:
        """How it is with one run."""
        return run_reads.run_state(self._database.tables, run)

    def run(self, run: str) -> RunInFull | None:
        """One run."""
        return run_reads.run_in_full(self._database.tables, run)

    def runs(
        self, where: RunFilter, *, behind: NewestPlace | None, limit: int
    ) -> tuple[list[RunView], bool]:
        """A page of runs."""
        return run_reads.runs_page(self._database.tables, where, behind=behind, limit=limit)

    def graph(self, checksum: str) -> str | None:
        """The text of a document."""
        new = self._database.tables.graphs.get(checksum)
        return None if new is None else new.record.document

    def graphs(self, *, behind: NewestPlace | None, limit: int) -> tuple[list[GraphView], bool]:
        """A page of documents."""
        return run_reads.graphs_page(self._database.tables, behind=behind, limit=limit)

    def tokens(
        self, where: TokenFilter, *, behind: Place | None, limit: int, max_bytes: int
    ) -> tuple[list[TokenView], bool]:
        """A page of tokens."""
        views = [_view(row) for row in self._database.tables.tokens.values() if _fits(row, where)]
        views.sort(key=lambda view: view.token)
        views.sort(key=lambda view: view.entered_at, reverse=True)
        if behind is not None:
            views = [
                view
                for view in views
                if view.entered_at < behind.entered_at
                or (view.entered_at == behind.entered_at and view.token > behind.token)
            ]
        return page_of_tokens(views, limit=limit, max_bytes=max_bytes)

    def history(self, token: str, *, after: int, limit: int | None) -> list[Entry] | None:
        """The entries behind ``after``."""
        return self._history(token, after, limit, of_run=False)

    def run_history(self, run: str, *, after: int, limit: int | None) -> list[Entry] | None:
        """The entries behind ``after``."""
        return self._history(run, after, limit, of_run=True)

    def _history(
        self, token: str, after: int, limit: int | None, *, of_run: bool
    ) -> list[Entry] | None:
        tables = self._database.tables
        row = tables.tokens.get(token)
        if row is None or (row.run is not None) is not of_run:
            return None
        entries = [
            copy_of_entry(entry)
            for entry in tables.ledger.values()
            if entry.token == token and entry.seq > after
        ]
        return sorted(entries, key=lambda entry: entry.seq)[:limit]

    def tasks(self, where: TaskFilter, *, behind: int, limit: int) -> tuple[list[TaskView], bool]:
        """A page of tasks."""
        views = [
            TaskView(
                task.id,
                task.token,
                task.queue,
                task.visit,
                task.status,
                task.attempt,
                task.claimed_by,
                task.lease_until,
                task.queued_at,
            )
            for _, task in sorted(self._database.tables.tasks.items())
            if task.id > behind
            and task.job is None
            and where.status in (None, task.status)
            and where.state in (None, task.queue)
            and where.token in (None, task.token)
        ]
        return page_of(views, limit=limit)

    def holds(self, holder: str) -> bool:
        """Whether ``holder`` is on record."""
        return self._database.tables.control_plane[1].serving == holder

    def close(self) -> None:
        """Nothing to close."""


def _view(row: Token) -> TokenView:
    return TokenView(
        row.token, row.state, row.status, row.visit, row.context.text, row.entered_at, row.parent
    )


def _fits(row: Token, where: TokenFilter) -> bool:
    return (
        row.run is None
        and where.status in (None, row.status)
        and where.state in (None, row.state)
        and (row.workflow is None if where.top_only else where.workflow in (None, row.workflow))
        and where.parent in (None, row.parent)
        and row.token.startswith(where.prefix or "")
        and (where.moved_after is None or row.entered_at > where.moved_after)
        and (where.moved_before is None or row.entered_at < where.moved_before)
    )
