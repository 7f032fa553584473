"""Upgrading a database that has live tokens, and what is never upgraded, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config

from stateous_controlplane.store import migrations, versions
from stateous_controlplane.store.migrations.upgrading import engine_for
from stateous_controlplane.store.opening import open_store
from stateous_controlplane.store.port import Store, StoreError
from stateous_controlplane.store.versions import NEWEST, VERSIONS
from tests.support.databases import ServedDatabase
from tests.support.stores import (
    HOLDER,
    NOW,
    claimed,
    entry,
    graph,
    load,
    task,
    timer,
    token,
    write,
)

NEXT = f"{int(NEWEST) + 1:04}"

# A version that a later Stateous could have: it adds a column, a table, and fills the column.
MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{NEWEST}"


def upgrade():
    op.add_column("tokens", sa.Column("colour", sa.Text()))
    op.create_table("colours", sa.Column("colour", sa.Text(), primary_key=True))
    op.execute("UPDATE tokens SET colour = 'blue' WHERE status = 'active'")
    {{last}}
"""


def upgrading(folder: Path, *, last: str = "pass") -> Callable[[str], None]:
    """A migration to a version behind the newest."""
    written = folder / "versions"
    written.mkdir()
    (written / f"v{NEXT}_colours.py").write_text(MIGRATION.format(last=last))
    scripts = Path(migrations.__file__).parent
    config = Config()
    config.set_main_option("script_location", str(scripts))
    config.set_main_option("version_locations", f"{scripts / 'versions'}\n{written}")
    config.set_main_option("path_separator", "newline")

    def migrate(url: str) -> None:
        with engine_for(url).begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    return migrate


def opened(url: str, migrate: Callable[[str], None] | None = None) -> Store:
    store = open_store(url)
    if migrate is not None:
        store._migrate = migrate  # type: ignore[attr-defined]
    return store


@pytest.fixture
def live(new_database: ServedDatabase) -> str:
    """A database of the newest version with live tokens, that nobody holds."""
    url = new_database.url
    store = opened(url)
    assert store.take_hold(HOLDER, NOW) is None
    store.serve_graph(HOLDER, graph(), NOW)
    write(
        store,
        new_tokens=[token(), token("T-2")],
        new_tasks=[claimed(1), task(2, "T-2")],
        new_timers=[timer()],
        entries=[entry()],
    )
    store.give_up_hold(HOLDER)
    store.close()
    return url


def asked(url: str, statement: str) -> list[tuple[object, ...]]:
    with engine_for(url).connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(statement)]


def changed(url: str, statement: str) -> None:
    with engine_for(url).begin() as connection:
        connection.exec_driver_sql(statement)


def test_live_tokens_go_on_in_a_database_that_was_upgraded(
    live: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERSIONS, NEXT, VERSIONS[NEWEST] | {"colours"})
    monkeypatch.setattr(versions, "NEWEST", NEXT)
    store = opened(live, upgrading(tmp_path))
    assert store.take_hold(HOLDER, NOW) is None
    loaded = load(store, tokens={"T-1", "T-2"})
    assert loaded.tokens == {"T-1": token(), "T-2": token("T-2")}
    assert loaded.tasks == {1: claimed(1), 2: task(2, "T-2")}
    assert loaded.timers == {1: timer()}
    write(store, tokens=[token(seq=5)], new_tokens=[token("T-3")])
    store.close()
    assert asked(live, "SELECT token, colour, seq FROM tokens ORDER BY token") == [
        ("T-1", "blue", 5),
        ("T-2", "blue", 4),
        ("T-3", None, 4),
    ]


def test_an_upgrade_that_fails_at_its_end_leaves_all_as_it_was_and_the_hold_free(
    live: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERSIONS, NEXT, VERSIONS[NEWEST] | {"colours"})
    monkeypatch.setattr(versions, "NEWEST", NEXT)
    fails = upgrading(tmp_path, last='raise ValueError("the last step")')

    def migrate(url: str) -> None:
        try:
            fails(url)
        except ValueError as error:
            raise StoreError(str(error)) from error

    store = opened(live, migrate)
    with pytest.raises(StoreError, match="the last step"):
        store.take_hold(HOLDER, NOW)
    assert asked(live, "SELECT version_num FROM stateous_version") == [(NEWEST,)]
    assert asked(live, "SELECT serving FROM control_plane") == [(None,)]
    monkeypatch.undo()
    again = opened(live)
    assert again.take_hold("box-1:2:00000000", NOW) is None
    assert load_as(again, "box-1:2:00000000") == {"T-1", "T-2"}
    again.close()


def load_as(store: Store, holder: str) -> set[str]:
    from stateous_controlplane.store.port import Needs

    with store.transaction(holder) as transaction:
        return set(transaction.load(Needs(tokens={"T-1", "T-2"})).tokens)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "UPDATE stateous_version SET version_num = '0009'",
            f"a newer Stateous made this database (version 0009, this one knows {NEWEST}): "
            "upgrade Stateous",
        ),
        ("UPDATE stateous_version SET version_num = 'x'", "unknown version (x"),
        ("DELETE FROM stateous_version", "unknown version (none"),
        ("DROP TABLE stateous_version", "but no version"),
        ("DROP TABLE kept", f"lacks a table of its version {NEWEST} (kept)"),
        ("DELETE FROM control_plane", "lacks the row of its table control_plane"),
    ],
)
def test_what_is_not_ours_to_change_is_refused_and_left_alone(
    live: str, statement: str, told: str
) -> None:
    changed(live, statement)
    before = asked(live, "SELECT token, seq, status FROM tokens ORDER BY token")
    for holder in (HOLDER, "box-1:2:00000000"):
        with pytest.raises(StoreError) as refused:
            opened(live).take_hold(holder, NOW)
        assert told in str(refused.value)
    assert asked(live, "SELECT token, seq, status FROM tokens ORDER BY token") == before
    if "control_plane" not in statement:
        assert asked(live, "SELECT serving FROM control_plane") == [(None,)]


def test_tables_of_others_are_ignored(new_database: ServedDatabase) -> None:
    url = new_database.url
    changed(url, "CREATE TABLE users (name text)")
    changed(url, "INSERT INTO users VALUES ('someone')")
    store = opened(url)
    assert store.take_hold(HOLDER, NOW) is None
    write(store, new_tokens=[token()])
    store.close()
    assert asked(url, "SELECT name FROM users") == [("someone",)]
