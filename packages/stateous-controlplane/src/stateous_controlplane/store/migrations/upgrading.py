"""Upgrading a database to the newest version, all versions in one transaction."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from stateous_controlplane.store.port import StoreError
from stateous_controlplane.store.url import is_postgres, masked, sqlite_file

#: How long the migration waits for another program's lock, in seconds.
_BUSY_TIMEOUT = 30.0


def upgrade(connection: Connection, version: str = "head") -> None:
    """Upgrade within the transaction that is open on ``connection``."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, version)


def sqlite_engine(file: Path) -> Engine:
    """An engine whose transactions hold SQLite's write lock from the start, tables included."""

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(file, timeout=_BUSY_TIMEOUT, isolation_level=None)

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)

    # The driver itself would open no transaction before it makes a table.
    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> Any:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def postgres_engine(url: str) -> Engine:
    """An engine whose transactions make tables too, and have no limit of time but for locks.

    Raises:
        StoreError: ``url`` cannot be read.
    """
    from stateous_controlplane.store.postgres.connecting import Server

    return create_engine("postgresql+psycopg://", creator=Server(url).migrator, poolclass=NullPool)


def engine_for(url: str) -> Engine:
    """The engine of the database that ``url`` names.

    Raises:
        StoreError: it names none.
    """
    return postgres_engine(url) if is_postgres(url) else sqlite_engine(sqlite_file(url))


def main(url: str) -> int:
    """Migrate the database that ``url`` names; the exit code."""
    url = url.removesuffix("\n")
    try:
        with engine_for(url).begin() as connection:
            upgrade(connection)
    except StoreError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the sentence for the process that waits
        return 1
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        why = " ".join(str(getattr(error, "orig", None) or error).split())
        print(f"cannot migrate the database {masked(url)}: {why}", file=sys.stderr)  # noqa: T201
        return 1
    return 0
