"""The databases that tests run over, with one face: in memory, an SQLite file, on a Postgres server.

Fixtures make them (`tests/conftest.py`). What a test does to a database behind a control plane's back
is said here once for each kind, so that the test itself need not know which one it has.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

import psycopg

from stateous_controlplane.store.memory.database import MemoryDatabase
from stateous_controlplane.store.memory.store import MemoryStore
from stateous_controlplane.store.moments import text_of
from stateous_controlplane.store.port import Store
from stateous_controlplane.store.postgres.store import PostgresStore
from stateous_controlplane.store.sqlite.lock import FileLock
from stateous_controlplane.store.sqlite.store import SqliteStore
from tests.support.processes import eventually

#: The kinds that a control plane can be started on.
KINDS: Final = ("sqlite", "postgres")

_SERVE: Final = "UPDATE control_plane SET serving = ?, since = ?"


class Database(Protocol):
    """A database that several control planes can open."""

    #: Whether no host can have the lock while another one has it.
    locks_out_other_hosts: bool

    def open(self) -> Store:
        """One control plane's store; closed with the database."""
        ...

    def drop_lock(self) -> None:
        """Let whoever has the hold's lock lose it, as one whose network or shared disk fails."""
        ...

    def close(self) -> None: ...


class ServedDatabase(Database, Protocol):
    """A database that `stateous serve` can be started on."""

    #: One of :data:`KINDS`.
    kind: str
    #: What `--db` takes.
    url: str

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one statement as somebody else, and commit it; `?` stands for each value."""
        ...

    def tables(self) -> set[str]:
        """The names of its tables; none when nobody has made the database."""
        ...

    def locked(self, *, whole: bool = False) -> AbstractContextManager[None]:
        """Another program has locked all tables: against writing, or ``whole`` against reading too."""
        ...

    def held_by(self, name: str) -> AbstractContextManager[None]:
        """A control plane on another host takes the hold by force, whoever has it."""
        ...

    def has_free_lock(self) -> bool:
        """Whether nobody has the hold's lock."""
        ...


def holder_of(database: ServedDatabase) -> str | None:
    """Whose name stands in the row."""
    ((serving,),) = database.query("SELECT serving FROM control_plane")
    return None if serving is None else str(serving)


def write_holder(database: ServedDatabase, name: str, since: datetime) -> None:
    """Put a name into the row, which takes no lock."""
    database.query(_SERVE, name, text_of(since))


class InMemory:
    """A database in memory."""

    locks_out_other_hosts = False

    def __init__(self) -> None:
        self._database = MemoryDatabase()

    def open(self) -> Store:
        return MemoryStore(self._database, busy_timeout=0.05)

    def drop_lock(self) -> None:
        self._database.held_by = None

    def close(self) -> None: ...


class SqliteFile:
    """A file: a copy of ``template``, or not there until somebody makes it."""

    kind = "sqlite"
    locks_out_other_hosts = False

    def __init__(self, file: Path, template: Path | None) -> None:
        if template is not None:
            shutil.copyfile(template, file)
        self.file = file
        self.url = f"sqlite:///{file}"
        self._opened: list[Store] = []

    @property
    def lock_file(self) -> Path:
        return self.file.with_name(f"{self.file.name}.lock")

    def open(self) -> Store:
        store = SqliteStore(self.file, busy_timeout=0.05)
        self._opened.append(store)
        return store

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.file, timeout=30)) as connection, connection:
            return connection.execute(statement, values).fetchall()

    def tables(self) -> set[str]:
        if not self.file.exists():
            return set()
        return {name for (name,) in self.query("SELECT name FROM sqlite_master")}

    @contextmanager
    def locked(self, *, whole: bool = False) -> Iterator[None]:
        with closing(sqlite3.connect(self.file, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE" if whole else "BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    @contextmanager
    def held_by(self, name: str) -> Iterator[None]:
        """The lock of the operating system does not reach the other host; the row does."""
        write_holder(self, name, datetime.now(UTC))
        yield

    def drop_lock(self) -> None:
        self.lock_file.unlink()

    def has_free_lock(self) -> bool:
        lock = FileLock(self.lock_file)
        taken = lock.take()
        lock.free()
        return taken

    def close(self) -> None:
        for store in self._opened:
            store.close()


#: The lock that `store/postgres/hold.py` takes.
_LOCK: Final = int.from_bytes(b"stateous")
_END_HOLDERS: Final = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory' AND granted "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> ?"
)
_WAITS: Final = "SELECT granted FROM pg_locks WHERE locktype = 'advisory' AND pid = ?"
_TABLES: Final = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


class OnPostgres:
    """A database on a server."""

    kind = "postgres"
    locks_out_other_hosts = True

    def __init__(self, url: str) -> None:
        self.url = url
        self._opened: list[Store] = []

    def open(self) -> Store:
        store = PostgresStore(self.url)
        self._opened.append(store)
        return store

    def query(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as connection:
            done = connection.execute(statement.replace("?", "%s").encode(), values or None)
            return [] if done.description is None else done.fetchall()

    def tables(self) -> set[str]:
        return {name for (name,) in self.query(_TABLES)}

    @contextmanager
    def locked(self, *, whole: bool = False) -> Iterator[None]:
        mode = "ACCESS EXCLUSIVE" if whole else "EXCLUSIVE"
        with psycopg.connect(self.url) as other:
            other.execute(f"LOCK TABLE {', '.join(sorted(self.tables()))} IN {mode} MODE".encode())
            yield
            other.rollback()

    @contextmanager
    def held_by(self, name: str) -> Iterator[None]:
        """Its session waits for the lock, and gets it when the server ends the holder's."""
        with psycopg.connect(self.url, autocommit=True) as other:
            session = other.info.backend_pid
            taking = threading.Thread(
                target=other.execute, args=("SELECT pg_advisory_lock(%s)", (_LOCK,))
            )
            taking.start()
            eventually(lambda: self.query(_WAITS, session))
            self.query(_END_HOLDERS, session)
            taking.join(30)
            write_holder(self, name, datetime.now(UTC))
            yield

    def drop_lock(self) -> None:
        self.query(_END_HOLDERS, 0)

    def has_free_lock(self) -> bool:
        ((taken,),) = self.query(f"SELECT pg_try_advisory_lock({_LOCK})")
        return bool(taken)

    def close(self) -> None:
        for store in self._opened:
            store.close()
