"""The filtered lists on Postgres: a connection is kept for the next page, and tried before it."""

from __future__ import annotations

import psycopg
from sqlalchemy import create_engine

from stateous_controlplane.store.lists import Lists
from stateous_controlplane.store.postgres.connecting import Server


def postgres_lists(server: Server) -> Lists[psycopg.Error]:
    """Pages of the database on ``server``."""
    engine = create_engine(
        "postgresql+psycopg://",
        creator=server.lister,
        pool_size=1,
        max_overflow=3,
        pool_pre_ping=True,
    )
    snapshot = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
    return Lists(engine, psycopg.Error, server.failure, snapshot)
