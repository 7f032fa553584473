"""The stores that the suite runs over. Each test gets an empty database of each kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stateous_controlplane.store.port import Reads, Store
from tests.support.databases import KINDS, Database, InMemory, OnPostgres
from tests.support.postgres import SharedServer
from tests.support.stores import HOLDER, NOW


@pytest.fixture
def memory_database() -> InMemory:
    return InMemory()


@pytest.fixture
def oldest_postgres_database(oldest_postgres_server: SharedServer) -> Iterator[OnPostgres]:
    with oldest_postgres_server.empty_database() as url:
        made = OnPostgres(url)
        yield made
        made.close()


@pytest.fixture(params=["memory", *KINDS, "oldest_postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    made: Database = request.getfixturevalue(f"{request.param}_database")
    return made


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
