"""The databases of these tests are SQLite's; those of Postgres have their own in their modules."""

from __future__ import annotations

import pytest

from tests.support.databases import SqliteFile


@pytest.fixture
def database(sqlite_database: SqliteFile) -> SqliteFile:
    return sqlite_database
