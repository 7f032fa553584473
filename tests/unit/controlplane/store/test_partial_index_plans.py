"""Beside many tokens that ended, what is open is found by the partial index that holds only it.

The statements of a batch have their own tests, on each database; here are those of the start of a
control plane and of lists of tasks. Each partial index of the tables has to be named by some test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.dialects import postgresql, sqlite

from bench.database import PostgresDatabase, SqliteDatabase
from bench.filling import ended_tickets
from stateous_controlplane.store import pages
from stateous_controlplane.store.port import TaskFilter
from stateous_controlplane.store.postgres import store as on_postgres
from stateous_controlplane.store.postgres.connecting import Server
from stateous_controlplane.store.sqlite import store as on_sqlite
from stateous_controlplane.store.sqlite.connecting import open_writer
from stateous_controlplane.store.tables import Stored
from tests.support.databases import SqliteFile
from tests.support.postgres import SharedServer

ENDED = 20_000
#: A tenth of them live again, each with a task: queued, claimed, waiting.
LIVE = """
UPDATE tokens SET status = 'active' WHERE token <= 'E-00002000';
UPDATE tasks SET status = 'queued', ready = true WHERE id <= 700;
UPDATE tasks SET status = 'claimed', lease_until = queued_at WHERE id BETWEEN 701 AND 1400;
UPDATE tasks SET status = 'waiting' WHERE id BETWEEN 1401 AND 2000;
"""
#: These hold runs, of which there are none here.
OF_RUNS = {"runs_key", "runs_newest", "runs_status_newest", "tokens_key_live", "tickets_open"}
LISTS = [
    (TaskFilter(status="queued"), "tasks_unclaimed"),
    (TaskFilter(status="waiting"), "tasks_unclaimed"),
    (TaskFilter(status="queued", state="coding"), "tasks_unclaimed"),
    (TaskFilter(status="claimed"), "tasks_lease"),
    (TaskFilter(status="queued", token="E-00000003"), "tasks_open"),
]


@pytest.fixture(scope="module")
def sqlite_file(tmp_path_factory: pytest.TempPathFactory, empty_sqlite: Path) -> Path:
    made = SqliteFile(tmp_path_factory.mktemp("ended") / "plane.db", empty_sqlite)
    database = SqliteDatabase(made.file)
    ended_tickets(database, ENDED)
    database.fill([each for each in LIVE.split(";") if each.strip()])
    return made.file


@pytest.fixture(scope="module")
def postgres(postgres_server: SharedServer) -> Iterator[str]:
    with postgres_server.new_database() as url:
        database = PostgresDatabase(url, 0)
        ended_tickets(database, ENDED)
        database.fill([LIVE])
        yield url


@pytest.mark.parametrize(("where", "index"), LISTS)
def test_a_list_of_open_tasks_on_sqlite(sqlite_file: Path, where: TaskFilter, index: str) -> None:
    page = pages.tasks_page(where, behind=0, limit=100)
    assert used_on_sqlite(sqlite_file, str(page.compile(dialect=sqlite.dialect()))) == {index}


@pytest.mark.parametrize(("where", "index"), LISTS)
def test_a_list_of_open_tasks_on_postgres(postgres: str, where: TaskFilter, index: str) -> None:
    page = pages.tasks_page(where, behind=0, limit=100).compile(
        dialect=postgresql.psycopg.dialect(), compile_kwargs={"literal_binds": True}
    )
    connection = Server(postgres).lister()
    assert used_on_postgres(connection, str(page)) == {index}
    connection.close()


@pytest.mark.parametrize("statement", [on_sqlite._LIVE, on_sqlite._PIN])
def test_the_live_tokens_at_the_start_on_sqlite(sqlite_file: Path, statement: str) -> None:
    assert used_on_sqlite(sqlite_file, statement) <= {"tokens_graph_live", "tokens_status_moved"}


@pytest.mark.parametrize("statement", [on_postgres._LIVE, on_postgres._PIN])
def test_the_live_tokens_at_the_start_on_postgres(postgres: str, statement: str) -> None:
    connection = Server(postgres).writer()
    assert used_on_postgres(connection, statement.replace("%s", "'other'")) == {"tokens_graph_live"}
    connection.close()


def used_on_sqlite(file: Path, statement: str) -> set[str]:
    connection = open_writer(file, 1.0)
    values = ["0"] * (1 if "?1" in statement else statement.count("?"))
    steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    connection.close()
    found = re.compile(r"INDEX (\w+)|^(SCAN \w+)$")
    return {index or walk for step in steps for index, walk in found.findall(step)}


def used_on_postgres(
    connection: psycopg.Connection[tuple[object, ...]], statement: str
) -> set[str]:
    plan = [str(row[0]) for row in connection.execute(f"EXPLAIN {statement}".encode())]
    found = re.compile(r" (?:using|Index Scan on) (\w+)|(Seq Scan on \w+)")
    return {index or walk for line in plan for index, walk in found.findall(line)}


def test_each_partial_index_is_named_by_a_test_of_plans() -> None:
    here = Path(__file__).parent
    texts = "".join(file.read_text("utf-8") for file in here.glob("test_*plans*.py"))
    partial = {
        index.name
        for table in Stored.metadata.tables.values()
        for index in table.indexes
        if index.dialect_options["postgresql"]["where"] is not None
    }
    assert partial
    missing = {name for name in partial - OF_RUNS if name not in texts}
    assert missing == set(), "a partial index without a test that a look-up uses it"
