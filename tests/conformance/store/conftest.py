"""The stores that the suite runs over. Each test gets an empty database of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stateous_controlplane.store.port import Reads, Store
from stateous_controlplane.store.sqlite.store import SqliteStore
from tests.support.stores import HOLDER, NOW, Database, InMemory, OnPostgres, SqliteFile


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database: making one takes a child process, copying one does not."""
    file = tmp_path_factory.mktemp("template") / "empty.db"
    store = SqliteStore(file)
    assert store.take_hold(HOLDER, NOW) is None
    store.give_up_hold(HOLDER)
    store.close()
    return file


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    made: Database
    if request.param == "memory":
        made = InMemory()
    elif request.param == "postgres":
        made = OnPostgres(request.getfixturevalue("postgres_url"))
    else:
        made = SqliteFile(request.getfixturevalue("empty_sqlite"), tmp_path / "stateous.db")
    yield made
    made.close()


@pytest.fixture
def store(database: Database) -> Store:
    """A store that holds its database."""
    opened = database.open()
    assert opened.take_hold(HOLDER, NOW) is None
    return opened


@pytest.fixture
def reads(store: Store) -> Iterator[Reads]:
    opened = store.reads()
    yield opened
    opened.close()
