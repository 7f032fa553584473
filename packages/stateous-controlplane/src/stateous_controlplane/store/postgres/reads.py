"""Reads on Postgres: each thread has a read-only connection of its own, never behind the writer.

One token and a history are hot, and use SQL of their own; the filtered pages are SQLModel's. A
connection that was lost is opened again, once for each read.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import psycopg

from stateous.limits import MAX_ID
from stateous_controlplane.engine.rows import Entry
from stateous_controlplane.store import rows, run_rows
from stateous_controlplane.store.port import (
    DatabaseBusy,
    Place,
    TaskFilter,
    TaskView,
    TokenFilter,
    TokenView,
)
from stateous_controlplane.store.postgres.connecting import Connection, Server, is_lost
from stateous_controlplane.store.postgres.rounds import Rounds, Statement
from stateous_controlplane.store.rows import Row
from stateous_controlplane.store.run_views import (
    GraphView,
    NewestPlace,
    RunFilter,
    RunInFull,
    RunState,
    RunView,
)

if TYPE_CHECKING:
    from stateous_controlplane.store.lists import Lists

# The expression keeps Postgres from walking all tokens of a kind while there are few.
_TOKEN: Final = f"SELECT {rows.TOKEN_VIEW} FROM tokens WHERE token = %s AND kind || '' = 'token'"
_EXISTS: Final = "SELECT 1 FROM tokens WHERE token = %s AND kind || '' = %s"
_RUN_STATE: Final = f"SELECT {run_rows.STATE} FROM tokens WHERE token = %s AND kind || '' = 'run'"
_GRAPH: Final = "SELECT document FROM graphs WHERE graph = %s"
_HISTORY: Final = (
    f"SELECT {rows.ENTRY} FROM ledger WHERE token = %s AND seq > %s ORDER BY seq LIMIT %s::bigint"
)
_SERVING: Final = "SELECT serving FROM control_plane WHERE id = 1"


class PostgresReads:
    """Read-only queries; each sees the last commit."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._thread = threading.local()
        self._opened: list[Connection] = []
        self._closed = False
        self._pages: Lists[psycopg.Error] | None = None
        self._opening = threading.Lock()

    def token(self, token: str) -> TokenView | None:
        """One token of a workflow."""
        (found,) = self._read((_TOKEN, (token,)))
        return rows.token_view(found[0]) if found else None

    def history(self, token: str, *, after: int, limit: int | None) -> list[Entry] | None:
        """The entries behind ``after``. A token that exists stays, so two look-ups agree."""
        return self._history("token", token, after, limit)

    def run_history(self, run: str, *, after: int, limit: int | None) -> list[Entry] | None:
        """The entries behind ``after``."""
        return self._history("run", run, after, limit)

    def _history(self, kind: str, token: str, after: int, limit: int | None) -> list[Entry] | None:
        there, found = self._read(
            (_EXISTS, (token, kind)), (_HISTORY, (token, min(after, MAX_ID), limit))
        )
        return rows.entries_of(found) if there else None

    def run_state(self, run: str) -> RunState | None:
        """How it is with one run."""
        (found,) = self._read((_RUN_STATE, (run,)))
        return run_rows.state_of(found[0]) if found else None

    def graph(self, checksum: str) -> str | None:
        """The text of a document."""
        (found,) = self._read((_GRAPH, (checksum,)))
        return found[0][0] if found else None

    def run(self, run: str) -> RunInFull | None:
        """One run."""
        return self._lists().run(run)

    def runs(
        self, where: RunFilter, *, behind: NewestPlace | None, limit: int
    ) -> tuple[list[RunView], bool]:
        """A page of runs."""
        return self._lists().runs(where, behind=behind, limit=limit)

    def graphs(self, *, behind: NewestPlace | None, limit: int) -> tuple[list[GraphView], bool]:
        """A page of documents."""
        return self._lists().graphs(behind=behind, limit=limit)

    def tokens(
        self, where: TokenFilter, *, behind: Place | None, limit: int, max_bytes: int
    ) -> tuple[list[TokenView], bool]:
        """A page of tokens."""
        return self._lists().tokens(where, behind=behind, limit=limit, max_bytes=max_bytes)

    def tasks(self, where: TaskFilter, *, behind: int, limit: int) -> tuple[list[TaskView], bool]:
        """A page of tasks."""
        return self._lists().tasks(where, behind=min(behind, MAX_ID), limit=limit)

    def holds(self, holder: str) -> bool:
        """Whether ``holder`` is on record."""
        (found,) = self._read((_SERVING, ()))
        return bool(found) and found[0][0] == holder

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._opening:
            self._closed = True
            for connection in self._opened:
                connection.close()
            self._opened.clear()
            if self._pages is not None:
                self._pages.close()

    def _lists(self) -> Lists[psycopg.Error]:
        with self._opening:
            if self._pages is None:
                # Brings SQLAlchemy along, which a control plane does without until then.
                from stateous_controlplane.store.postgres.pages import postgres_lists

                self._pages = postgres_lists(self._server)
            return self._pages

    def _read(self, *statements: Statement) -> list[list[Row]]:
        try:
            rounds = self._of_this_thread()
            try:
                return rounds.ask(*statements)
            except psycopg.Error:
                if not is_lost(rounds.connection):
                    raise
            return self._of_this_thread().ask(*statements)
        except psycopg.Error as error:
            raise self._server.failure(error) from error

    def _of_this_thread(self) -> Rounds:
        rounds: Rounds | None = getattr(self._thread, "rounds", None)
        if rounds is None or is_lost(rounds.connection):
            with self._opening:
                self._forget(None if rounds is None else rounds.connection)
            opened = self._server.reader()
            with self._opening:
                if self._closed:
                    opened.close()
                self._forget(None)
                self._opened.append(opened)
            self._thread.rounds = rounds = Rounds(opened)
        return rounds

    def _forget(self, connection: Connection | None) -> None:
        if self._closed:
            raise DatabaseBusy(f"the database {self._server.shown} is closed")
        if connection in self._opened:
            self._opened.remove(connection)
