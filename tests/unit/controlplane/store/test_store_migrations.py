"""The migrations lead to the tables, in a child process, whole or not at all."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from stateous_controlplane.store import migrations
from stateous_controlplane.store.migrating import migrate
from stateous_controlplane.store.migrations.upgrading import (
    main,
    postgres_engine,
    sqlite_engine,
    upgrade,
)
from stateous_controlplane.store.port import StoreError
from stateous_controlplane.store.tables import Stored
from stateous_controlplane.store.versions import NEWEST, VERSION_TABLE, VERSIONS
from tests.support.databases import ServedDatabase, SqliteFile
from tests.support.postgres import SharedServer


def schema(file: Path) -> dict[str, str]:
    with closing(sqlite3.connect(file)) as connection:
        return dict(
            connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> ?",
                (VERSION_TABLE,),
            )
        )


#: All that Postgres tells of tables: columns, indexes, constraints.
CATALOG = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull::text,
       coalesce(collname, ''), coalesce(pg_get_expr(d.adbin, d.adrelid), '')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
LEFT JOIN pg_collation ON pg_collation.oid = a.attcollation
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
UNION ALL SELECT tablename, indexname, indexdef, '', '', '' FROM pg_indexes
WHERE schemaname = current_schema()
UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '', ''
FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
ORDER BY 1, 2, 3
"""


def catalog(engine: Engine) -> list[tuple[str, ...]]:
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(CATALOG).all()
    return [tuple(row) for row in rows if row[0] != VERSION_TABLE]


@pytest.fixture
def migrated(new_database: ServedDatabase) -> Iterator[Engine]:
    if isinstance(new_database, SqliteFile):
        engine = sqlite_engine(new_database.file)
    else:
        engine = postgres_engine(new_database.url)
    with engine.begin() as connection:
        upgrade(connection)
    yield engine
    engine.dispose()


@pytest.mark.parametrize("new_database", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("migrated")
def test_all_migrations_make_the_tables(new_database: SqliteFile, tmp_path: Path) -> None:
    made = sqlite_engine(tmp_path / "made.db")
    with made.begin() as connection:
        Stored.metadata.create_all(connection)
    assert schema(new_database.file) == schema(tmp_path / "made.db")


@pytest.mark.parametrize("new_database", ["postgres"], indirect=True)
def test_all_migrations_make_the_tables_on_postgres(
    migrated: Engine, postgres_server: SharedServer
) -> None:
    with postgres_server.new_database("template0") as url:
        made = postgres_engine(url)
        with made.begin() as connection:
            Stored.metadata.create_all(connection)
        assert catalog(migrated) == catalog(made) != []


def test_alembic_finds_no_difference(migrated: Engine) -> None:
    with migrated.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, Stored.metadata) == []


def test_the_versions_are_those_of_alembic() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    scripts = ScriptDirectory.from_config(config)
    assert [each.revision for each in scripts.walk_revisions()][::-1] == list(VERSIONS)
    assert scripts.get_heads() == [NEWEST]


def test_the_newest_version_has_all_tables() -> None:
    assert VERSIONS[NEWEST] == Stored.metadata.tables.keys()


def test_the_row_of_the_control_plane_is_there_and_empty(migrated: Engine) -> None:
    with migrated.connect() as connection:
        rows = connection.exec_driver_sql("SELECT * FROM control_plane").all()
    assert [tuple(row) for row in rows] == [(1, None, None, None, None, None, None)]


def test_ids_on_postgres_compare_by_code_point_and_have_64_bits() -> None:
    dialect = postgresql.dialect()
    tables = Stored.metadata.tables
    tokens = str(CreateTable(tables["tokens"]).compile(dialect=dialect))
    assert 'token TEXT COLLATE "C" NOT NULL' in tokens
    assert "context TEXT NOT NULL" in tokens
    assert "entered_at TIMESTAMP WITH TIME ZONE NOT NULL" in tokens
    assert "id BIGSERIAL NOT NULL" in str(CreateTable(tables["tasks"]).compile(dialect=dialect))
    indexes = {str(index.name): index for index in tables["tasks"].indexes}
    queue = str(CreateIndex(indexes["tasks_queue"]).compile(dialect=dialect))
    assert queue == "CREATE INDEX tasks_queue ON tasks (queue, queued_at, id) WHERE ready"


# ── the child process ───────────────────────────────────────────────────


def test_a_child_process_migrates(tmp_path: Path) -> None:
    migrate(f"sqlite:///{tmp_path}/stateous.db")
    migrate(f"sqlite:///{tmp_path}/stateous.db")
    assert "tokens" in schema(tmp_path / "stateous.db")


def test_a_child_process_migrates_postgres_or_leaves_it_as_it_was(new_postgres_url: str) -> None:
    with psycopg.connect(new_postgres_url, autocommit=True) as connection:
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        connection.execute("CREATE TABLE outbox (x int)")  # in the way, after most tables are made
        with pytest.raises(StoreError) as refused:
            migrate(new_postgres_url)
        sentence = str(refused.value)
        assert sentence.startswith("cannot migrate the database postgresql://stateous:***@")
        assert 'relation "outbox" already exists' in sentence
        assert connection.execute(tables).fetchall() == [("outbox",)]
        connection.execute("DROP TABLE outbox")
        migrate(new_postgres_url)
        migrate(new_postgres_url)
        assert ("tokens",) in connection.execute(tables).fetchall()


def test_a_migration_that_fails_says_why_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "stateous.db"
    file.write_text("this is no database, but it is long enough to look like one" * 10)
    with pytest.raises(StoreError) as refused:
        migrate(f"sqlite:///{file}")
    assert str(refused.value).startswith(f"cannot migrate the database sqlite:///{file}: ")
    assert "not a database" in str(refused.value)


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "stateous.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE outbox (x)")  # in the way, after most tables are made
    assert main(f"sqlite:///{file}\n") == 1
    assert "outbox" in capsys.readouterr().err
    assert schema(file).keys() == {"outbox"}


def test_a_process_that_serves_imports_neither_alembic_nor_sqlalchemy(
    new_database: ServedDatabase,
) -> None:
    program = f"""
import sys
from datetime import UTC, datetime
from stateous_controlplane.store.opening import open_store
store = open_store({new_database.url!r})
assert store.take_hold("box:1:00000000", datetime.now(UTC)) is None
with store.transaction("box:1:00000000"):
    pass
reads = store.reads()
assert reads.token("T-1") is None
reads.close()
store.give_up_hold("box:1:00000000")
store.close()
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "stateous_controlplane" in output
    assert {"alembic", "sqlalchemy", "sqlmodel", "pydantic"}.isdisjoint(output)
    assert ("psycopg" in output) is (new_database.kind == "postgres")
    assert ("sqlite3" in output) is (new_database.kind == "sqlite")
