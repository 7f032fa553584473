"""The databases that a simulation can run over: in memory, in an SQLite file, on a Postgres server.

Each is the one database that all control planes of a simulation share. The stores are the product's own. What
the product does not do is here: what of a store is left when its process dies, how it loses its
lock, and what is on record, read past the stores by a connection of the witness's own.

Nothing waits, and nothing comes a moment later than it was asked for: a store never waits for a lock,
and the server's session of a process that has died is gone before the simulation goes on.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import psycopg

from stateous_controlplane.store.memory.database import MemoryDatabase
from stateous_controlplane.store.memory.store import MemoryStore
from stateous_controlplane.store.memory.tables import Tables
from stateous_controlplane.store.migrating import migrate
from stateous_controlplane.store.port import Store
from stateous_controlplane.store.postgres.connecting import Server
from stateous_controlplane.store.postgres.rounds import Rounds
from stateous_controlplane.store.postgres.store import PostgresStore
from stateous_controlplane.store.rows import Row
from stateous_controlplane.store.sqlite.store import SqliteStore
from tests.sim.records import SELECTS, Records
from tests.support.postgres import shared_server

#: What can go wrong at each named point of a store (:mod:`tests.sim.faults`).
Faults: TypeAlias = Mapping[str, tuple[str, ...]]

_FAULTS: Final[Faults] = {
    "before begin": ("crash", "busy", "freeze"),
    "before commit": ("crash", "busy", "unknown"),
    "after commit": ("crash", "unknown", "freeze"),
    "hold taken": ("crash",),
    "hold renewed": ("crash", "busy", "freeze"),
    "graph recorded": ("crash",),
    "sent": ("crash", "freeze"),
    "delivered": ("crash", "unknown", "freeze"),
}

#: What can happen to connections besides.
_CONNECTION_FAULTS: Final[Faults] = {
    **_FAULTS,
    "before begin": (*_FAULTS["before begin"], "lost"),
    "before commit": (*_FAULTS["before commit"], "lost", "freeze"),
    "hold renewed": (*_FAULTS["hold renewed"], "lost"),
}


class SharedDatabase(Protocol):
    """The database of one simulation."""

    @property
    def name(self) -> str:
        """What kind of database it is."""
        ...

    @property
    def faults(self) -> Faults:
        """What can go wrong with it."""
        ...

    @property
    def tables(self) -> Tables:
        """What is on record now. Whoever keeps the tables keeps them as they were."""
        ...

    def changed(self) -> None:
        """Something may have been committed."""
        ...

    def open(self, monotonic: Callable[[], float]) -> Store:
        """The store of a new process; the clock is its host's."""
        ...

    def cut(self, store: Store) -> None:
        """The store's process has said nothing for long: its lock is free, its sessions are over."""
        ...

    def end(self, store: Store) -> None:
        """The store's process has died, wherever it stood."""
        ...


New: TypeAlias = Callable[[], AbstractContextManager[SharedDatabase]]


class InMemory:
    """A database in memory."""

    name = "memory"
    faults = _FAULTS

    def __init__(self) -> None:
        self._database = MemoryDatabase()

    @property
    def tables(self) -> Tables:
        return self._database.tables

    def changed(self) -> None: ...

    def open(self, monotonic: Callable[[], float]) -> Store:
        return MemoryStore(self._database, busy_timeout=0.0)

    def cut(self, store: Store) -> None:
        store.close()

    def end(self, store: Store) -> None:
        store.close()


class InFile:
    """A database in a file. The witness reads it as any other program may."""

    name = "sqlite"
    faults = _FAULTS

    def __init__(self, file: Path) -> None:
        self._file = file
        self._reading = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, isolation_level=None)
        self._records = Records(self._read)

    @property
    def tables(self) -> Tables:
        return self._records.tables

    def changed(self) -> None:
        self._records.forget()

    def open(self, monotonic: Callable[[], float]) -> Store:
        return SqliteStore(self._file, busy_timeout=0.0)

    def cut(self, store: Store) -> None:
        # As on a disk that two hosts share: the lock is gone, the open file is not.
        assert isinstance(store, SqliteStore)
        store._lock.free()

    def end(self, store: Store) -> None:
        store.close()

    def close(self) -> None:
        self._reading.close()

    def _read(self) -> list[list[Row]]:
        return [self._reading.execute(text).fetchall() for text in SELECTS]


class OnServer:
    """A database on a Postgres server. Each store's sessions have a name of their own there."""

    name = "postgres"
    faults = _CONNECTION_FAULTS

    def __init__(self, url: str) -> None:
        self._url = url
        self._numbers = count(1)
        self._names: dict[Store, str] = {}
        self._reading = Server(url).reader()
        self._rounds = Rounds(self._reading)
        self._admin = psycopg.connect(url, autocommit=True)
        self._records = Records(self._read)

    @property
    def tables(self) -> Tables:
        return self._records.tables

    def changed(self) -> None:
        self._records.forget()

    def open(self, monotonic: Callable[[], float]) -> Store:
        name = f"plane-{next(self._numbers)}"
        store = PostgresStore(f"{self._url}?application_name={name}", monotonic=monotonic)
        self._names[store] = name
        return store

    def cut(self, store: Store) -> None:
        ended = self._admin.execute(
            "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = %s AND datname = current_database()",
            (self._names[store],),
        ).fetchall()
        for process, _ in ended:
            _wait_for_end(process)

    def end(self, store: Store) -> None:
        store.close()
        # The server notices a moment later; the locks are free by then.
        self.cut(store)

    def close(self) -> None:
        for store in self._names:
            self.end(store)
        self._reading.close()
        self._admin.close()

    def _read(self) -> list[list[Row]]:
        return self._rounds.ask(*((text, ()) for text in SELECTS))


def _wait_for_end(process: int) -> None:
    """Until the server's process is gone, and its sockets and locks with it.

    The server can wait by itself, and looks ten times a second.
    """
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        except PermissionError:
            pass
        time.sleep(0.0005)
    raise AssertionError(f"the server's process {process} does not end")


# ── making them ─────────────────────────────────────────────────────────


@contextlib.contextmanager
def in_memory() -> Iterator[SharedDatabase]:
    """An empty database in memory."""
    yield InMemory()


@dataclass(frozen=True)
class _Files:
    """Makes databases in ``folder``: copies of an empty one, at the newest version."""

    folder: Path

    @contextlib.contextmanager
    def __call__(self) -> Iterator[SharedDatabase]:
        with tempfile.TemporaryDirectory(dir=self.folder) as own:
            file = Path(own) / "stateous.db"
            shutil.copyfile(self.folder / "empty.db", file)
            with contextlib.closing(InFile(file)) as database:
                yield database


@contextlib.contextmanager
def in_files() -> Iterator[New]:
    """Makes databases in files; in memory, where the system has a place for such files."""
    quick = Path("/dev/shm")
    place = quick if os.access(quick, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="stateous-sim-", dir=place) as folder:
        empty = Path(folder) / "empty.db"
        migrate(f"sqlite:///{empty}")
        with contextlib.closing(sqlite3.connect(empty)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        yield _Files(Path(folder))


@contextlib.contextmanager
def on_server(empty_database: Callable[[], AbstractContextManager[str]]) -> Iterator[New]:
    """Makes databases on a server; ``empty_database`` gives the URL of one at the newest version."""

    @contextlib.contextmanager
    def new() -> Iterator[SharedDatabase]:
        with empty_database() as url, contextlib.closing(OnServer(url)) as database:
            yield database

    yield new


@contextlib.contextmanager
def databases(store: str, folder: Path) -> Iterator[New]:
    """Makes databases of a kind. Processes that share ``folder`` share the server."""
    match store:
        case "memory":
            yield in_memory
        case "sqlite":
            with in_files() as new:
                yield new
        case "postgres":
            with shared_server(folder) as server, on_server(server.empty_database) as new:
                yield new
        case _:
            raise ValueError(store)
