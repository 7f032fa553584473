"""The databases under a control plane: new ones for each workload, and what is asked of them.

Each engine makes one database with all tables and copies it, which is quicker than migrating each.
The statements of workloads are written for both; what differs is asked of the database.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import psycopg

from stateous_controlplane.store.migrating import migrate
from tests.support.postgres import Postgres
from tests.support.postgres_bins import find_bin

EngineName = Literal["sqlite", "postgres"]

_TEMPLATE: Final = "bench_template"
#: What a server has that nobody has tuned; the tests' recipe has less.
_SETTINGS: Final = {"shared_buffers": "128MB"}


class Database(Protocol):
    """A database for one workload."""

    @property
    def url(self) -> str:
        """What `serve --db` takes."""
        ...

    @property
    def process(self) -> int | None:
        """The process that serves it; None: it is a library."""
        ...

    def moment(self, seconds: str) -> str:
        """The SQL of a moment, from that of seconds since 1970."""
        ...

    def moment_text(self, seconds: str) -> str:
        """The same as a text, as entries of the ledger have it."""
        ...

    def member(self, json: str, key: str) -> str:
        """The SQL of a member of a JSON text."""
        ...

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What ``query`` selects."""
        ...

    def fill(self, statements: Sequence[str]) -> None:
        """Run ``statements`` as fast as may be, and leave the database as after a quiet hour.

        Nobody may serve it meanwhile: a control plane knows what it has written.
        """
        ...


class Engine(Protocol):
    """Makes databases."""

    @property
    def name(self) -> EngineName:
        """Which one it is."""
        ...

    def new(self, folder: Path) -> Database:
        """A database with all tables, empty; its files, if it has any, are in ``folder``."""
        ...


def count(database: Database, rows: str) -> int:
    """How many ``rows`` there are: what follows FROM."""
    ((found,),) = database.rows(f"SELECT count(*) FROM {rows}")
    return int(found)


# ── SQLite ──────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """A file."""

    file: Path
    process: None = None

    @property
    def url(self) -> str:
        """What `serve --db` takes."""
        return f"sqlite:///{self.file}"

    def moment(self, seconds: str) -> str:
        """The text that the store writes, with milliseconds."""
        return f"strftime('%Y-%m-%dT%H:%M:%f000Z', {seconds}, 'unixepoch')"

    def moment_text(self, seconds: str) -> str:
        """The same."""
        return self.moment(seconds)

    def member(self, json: str, key: str) -> str:
        """A value of SQLite's own type."""
        return f"json_extract({json}, '$.{key}')"

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What ``query`` selects."""
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute(query).fetchall()

    def fill(self, statements: Sequence[str]) -> None:
        """One transaction that need not outlive a crash."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute("PRAGMA cache_size=-262144")
            connection.execute("BEGIN IMMEDIATE")
            for statement in statements:
                connection.execute(statement)
            connection.execute("COMMIT")


class SqliteEngine:
    """Files."""

    name: Final = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._template = folder / "template.db"
        migrate(f"sqlite:///{self._template}")

    def new(self, folder: Path) -> SqliteDatabase:
        """A copy of the template."""
        file = folder / "bench.db"
        shutil.copyfile(self._template, file)
        return SqliteDatabase(file)


# ── Postgres ────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """A database of a server that runs on this machine."""

    url: str
    process: int

    def moment(self, seconds: str) -> str:
        """A `timestamptz`."""
        return f"to_timestamp({seconds})"

    def moment_text(self, seconds: str) -> str:
        """The text that the engine writes."""
        moment = f"to_timestamp({seconds}) AT TIME ZONE 'UTC'"
        return f"""to_char({moment}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""

    def member(self, json: str, key: str) -> str:
        """A text."""
        return f"({json}::json ->> '{key}')"

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What ``query`` selects."""
        with psycopg.connect(self.url) as connection:
            return connection.execute(query.encode()).fetchall()

    def fill(self, statements: Sequence[str]) -> None:
        """One transaction; then what autovacuum and the checkpointer would do by and by."""
        with psycopg.connect(self.url) as connection:
            connection.execute("SET synchronous_commit = off")
            for statement in statements:
                connection.execute(statement.encode())
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")


class PostgresEngine:
    """A server of one's own, durable, on the generator's core, as its caller is pinned to it."""

    name: Final = "postgres"

    def __init__(self, bin_dir: Path) -> None:
        self._server = Postgres(bin_dir, fsync=True, settings=_SETTINGS)
        self._made = 0
        self._execute(f"CREATE DATABASE {_TEMPLATE}")
        migrate(self._server.url(_TEMPLATE))

    def new(self, folder: Path) -> PostgresDatabase:
        """A copy of the template; nothing of it is in ``folder``."""
        self._made += 1
        name = f"bench_{self._made}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
        return PostgresDatabase(self._server.url(name), self._server.pid)

    def close(self) -> None:
        """Stop the server, and leave nothing behind."""
        self._server.close()

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self._server.url(), autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def engine(name: EngineName, folder: Path) -> Iterator[Engine | None]:
    """The engine of this name; None: this machine has no Postgres."""
    if name == "sqlite":
        yield SqliteEngine(folder)
        return
    bin_dir = find_bin()
    if bin_dir is None:
        yield None
        return
    server = PostgresEngine(bin_dir)
    try:
        yield server
    finally:
        server.close()
