"""Reads of the store in memory: a commit puts other tables in the place of those that are read."""

from __future__ import annotations

from stateous_controlplane.engine.rows import Entry, Token
from stateous_controlplane.store.memory.database import MemoryDatabase
from stateous_controlplane.store.memory.tables import copy_of_entry
from stateous_controlplane.store.paging import page_of, page_of_tokens
from stateous_controlplane.store.port import Place, TaskFilter, TaskView, TokenFilter, TokenView


class MemoryReads:
    """Reads of what is committed."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database

    def token(self, token: str) -> TokenView | None:
        """One token."""
        row = self._database.tables.tokens.get(token)
        return None if row is None else _view(row)

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
        tables = self._database.tables
        if token not in tables.tokens:
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
        where.status in (None, row.status)
        and where.state in (None, row.state)
        and (row.workflow is None if where.top_only else where.workflow in (None, row.workflow))
        and where.parent in (None, row.parent)
        and row.token.startswith(where.prefix or "")
        and (where.moved_after is None or row.entered_at > where.moved_after)
        and (where.moved_before is None or row.entered_at < where.moved_before)
    )
