"""The filtered lists on SQLite: each page has a connection of its own, closed with it."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from stateous_controlplane.store.lists import Lists
from stateous_controlplane.store.sqlite import connecting


def sqlite_lists(file: Path, busy_timeout: float) -> Lists[sqlite3.Error]:
    """Pages of the database in ``file``."""
    engine = create_engine(
        "sqlite://",
        creator=partial(connecting.open_reader, file, busy_timeout),
        poolclass=NullPool,
    )
    return Lists(engine, sqlite3.Error, partial(connecting.failure, file), "BEGIN")
