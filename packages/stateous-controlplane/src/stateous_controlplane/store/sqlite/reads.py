"""Reads on SQLite: each thread has a read-only connection of its own, never behind the writer.

One token and a history are hot, and use SQL of their own; the filtered pages are SQLModel's.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
from stateous_controlplane.store.run_views import (
    GraphView,
    NewestPlace,
    RunFilter,
    RunInFull,
    RunState,
    RunView,
)
from stateous_controlplane.store.sqlite import connecting

if TYPE_CHECKING:
    from stateous_controlplane.store.lists import Lists

_TOKEN: Final = f"SELECT {rows.TOKEN_VIEW} FROM tokens WHERE token = ? AND kind = 'token'"
_EXISTS: Final = "SELECT 1 FROM tokens WHERE token = ? AND kind = ?"
_RUN_STATE: Final = f"SELECT {run_rows.STATE} FROM tokens WHERE token = ? AND kind = 'run'"
_GRAPH: Final = "SELECT document FROM graphs WHERE graph = ?"
_HISTORY: Final = (
    f"SELECT {rows.ENTRY} FROM ledger WHERE token = ? AND seq > ? ORDER BY seq LIMIT ?"
)
_SERVING: Final = "SELECT serving FROM control_plane WHERE id = 1"

# SQLite's LIMIT takes a negative number as none.
_NO_LIMIT: Final = -1


class SqliteReads:
    """Read-only queries; each sees the last commit."""

    def __init__(self, file: Path, *, busy_timeout: float = connecting.BUSY_TIMEOUT) -> None:
        self._file = file
        self._busy_timeout = busy_timeout
        self._thread = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._closed = False
        self._pages: Lists[sqlite3.Error] | None = None
        self._opening = threading.Lock()

    def token(self, token: str) -> TokenView | None:
        """One token of a workflow."""
        with self._reading() as connection:
            row = connection.execute(_TOKEN, (token,)).fetchone()
        return None if row is None else rows.token_view(row)

    def history(self, token: str, *, after: int, limit: int | None) -> list[Entry] | None:
        """The entries behind ``after``. A token that exists stays, so two look-ups agree."""
        return self._history("token", token, after, limit)

    def run_history(self, run: str, *, after: int, limit: int | None) -> list[Entry] | None:
        """The entries behind ``after``."""
        return self._history("run", run, after, limit)

    def _history(self, kind: str, token: str, after: int, limit: int | None) -> list[Entry] | None:
        with self._reading() as connection:
            if connection.execute(_EXISTS, (token, kind)).fetchone() is None:
                return None
            found = connection.execute(
                _HISTORY, (token, min(after, MAX_ID), _NO_LIMIT if limit is None else limit)
            ).fetchall()
        return rows.entries_of(found)

    def run_state(self, run: str) -> RunState | None:
        """How it is with one run."""
        with self._reading() as connection:
            row = connection.execute(_RUN_STATE, (run,)).fetchone()
        return None if row is None else run_rows.state_of(row)

    def graph(self, checksum: str) -> str | None:
        """The text of a document."""
        with self._reading() as connection:
            row = connection.execute(_GRAPH, (checksum,)).fetchone()
        return None if row is None else row[0]

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
        with self._reading() as connection:
            row = connection.execute(_SERVING).fetchone()
        return row is not None and row[0] == holder

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._opening:
            self._closed = True
            for connection in self._opened:
                connection.close()
            self._opened.clear()

    def _lists(self) -> Lists[sqlite3.Error]:
        if self._pages is None:
            # Brings SQLAlchemy along, which a control plane does without until then.
            from stateous_controlplane.store.sqlite.pages import sqlite_lists

            self._pages = sqlite_lists(self._file, self._busy_timeout)
        return self._pages

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._of_this_thread()
        except sqlite3.Error as error:
            raise connecting.failure(self._file, error) from error

    def _of_this_thread(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._thread, "connection", None)
        if connection is None:
            with self._opening:
                if self._closed:
                    raise DatabaseBusy(f"the database {self._file} is closed")
                connection = connecting.open_reader(self._file, self._busy_timeout)
                self._opened.append(connection)
            self._thread.connection = connection
        return connection
