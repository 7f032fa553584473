"""Opening an SQLite database: what is refused is left alone, and said in one sentence."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from stateous_controlplane.store.migrating import migrate
from stateous_controlplane.store.moments import text_of
from stateous_controlplane.store.opening import open_store
from stateous_controlplane.store.port import Holder, NextIds, StoreError
from stateous_controlplane.store.sqlite import connecting
from stateous_controlplane.store.sqlite.lock import FileLock
from stateous_controlplane.store.sqlite.store import SqliteStore
from stateous_controlplane.store.versions import NEWEST, VERSIONS
from tests.support.databases import SqliteFile
from tests.support.stores import HOLDER, NOW, task, timer, token, write


def run(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def refused(file: Path, migrate: Callable[[str], None] = migrate) -> str:
    """The sentence that a start on ``file`` is refused with."""
    store = SqliteStore(file, busy_timeout=0.05, migrate=migrate)
    with pytest.raises(StoreError) as error:
        store.take_hold(HOLDER, NOW)
    # Nothing is held afterwards: another start gets as far.
    with pytest.raises(StoreError) as again:
        SqliteStore(file, busy_timeout=0.05, migrate=migrate).take_hold(HOLDER, NOW)
    assert str(again.value) == str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_new_file_is_made_whole(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/new.db")
    assert not (tmp_path / "new.db").exists()
    assert store.take_hold(HOLDER, NOW) is None
    assert store.next_ids() == NextIds(1, 1)
    write(store, new_tokens=[token()])
    store.close()


def test_the_journal_is_a_wal_and_each_commit_is_on_disk(database: SqliteFile) -> None:
    store = SqliteStore(database.file)
    assert store.take_hold(HOLDER, NOW) is None
    connection = store._connection
    assert connection is not None
    settings = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    }
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 0,
        "busy_timeout": 250,  # a slice of the 30 s that a transaction waits
    }
    store.close()


def test_other_tables_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "shared.db"
    run(file, "CREATE TABLE users (name)", "INSERT INTO users VALUES ('someone')")
    store = SqliteStore(file)
    assert store.take_hold(HOLDER, NOW) is None
    store.close()
    again = SqliteStore(file)
    assert again.take_hold(HOLDER, NOW) is None
    again.close()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT name FROM users").fetchall() == [("someone",)]


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
        ("DROP TABLE kept", "lacks a table of its version 0002 (kept)"),
        ("DELETE FROM control_plane", "lacks the row of its table control_plane"),
    ],
)
def test_a_database_that_is_not_ours_to_change_is_left_alone(
    database: SqliteFile, statement: str, told: str
) -> None:
    run(database.file, "PRAGMA journal_mode=DELETE", statement)
    before = database.file.read_bytes()
    assert told in refused(database.file)
    assert database.file.read_bytes() == before


def _no_folder(tmp_path: Path) -> tuple[Path, str]:
    return tmp_path / "no" / "x.db", f"there is no folder {tmp_path.resolve()}/no"


def _folder(tmp_path: Path) -> tuple[Path, str]:
    (tmp_path / "x.db").mkdir()
    return tmp_path / "x.db", "it is a folder"


def _text(tmp_path: Path) -> tuple[Path, str]:
    (tmp_path / "x.db").write_text("name,age\n" * 500)
    return tmp_path / "x.db", "the file is not an SQLite database"


def _folder_is_a_file(tmp_path: Path) -> tuple[Path, str]:
    (tmp_path / "x").write_text("")
    return tmp_path / "x" / "x.db", f"there is no folder {tmp_path.resolve()}/x"


@pytest.mark.parametrize("make", [_no_folder, _folder, _text, _folder_is_a_file])
def test_a_file_that_cannot_be_opened(
    tmp_path: Path, make: Callable[[Path], tuple[Path, str]]
) -> None:
    file, told = make(tmp_path)
    sentence = refused(file)
    assert sentence == f"cannot open the database {file.resolve()}: {told}"


def test_a_database_that_another_program_has_locked(database: SqliteFile) -> None:
    with closing(sqlite3.connect(database.file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "another program has locked it" in refused(database.file)


def test_a_holder_that_is_just_making_the_tables_has_no_name_yet(tmp_path: Path) -> None:
    file = tmp_path / "new.db"
    first = SqliteStore(file)
    assert first._lock.take()
    other = SqliteStore(file, busy_timeout=0.05).take_hold(HOLDER, NOW)
    assert other == Holder("its name is not on record yet", None)
    first.close()


def test_two_names_of_one_file_are_one_database(database: SqliteFile, tmp_path: Path) -> None:
    store = database.open()
    assert store.take_hold(HOLDER, NOW) is None
    link = tmp_path / "link.db"
    link.symlink_to(database.file)
    assert SqliteStore(link).take_hold("box-1:2:00000000", NOW) == Holder(HOLDER, NOW)


@pytest.fixture
def older(database: SqliteFile, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of a version before all others, which has the same tables."""
    monkeypatch.setitem(VERSIONS, "0000", VERSIONS[NEWEST])
    run(database.file, "UPDATE stateous_version SET version_num = '0000'")
    return database.file


def name_on_record(file: Path) -> str | None:
    with closing(sqlite3.connect(file)) as connection:
        name: str | None = connection.execute("SELECT serving FROM control_plane").fetchone()[0]
        return name


def test_an_older_database_is_migrated_under_the_hold(older: Path) -> None:
    urls: list[str] = []
    names: list[str | None] = []

    def migrate(url: str) -> None:
        urls.append(url)
        names.append(name_on_record(older))

    store = SqliteStore(older, migrate=migrate)
    assert store.take_hold(HOLDER, NOW) is None
    assert (urls, names) == ([f"sqlite:///{older}"], [HOLDER])
    store.close()


def test_an_older_database_that_cannot_be_migrated_is_held_by_nobody(older: Path) -> None:
    def migrate(url: str) -> None:
        raise StoreError(f"cannot migrate the database {url}: why not")

    assert "why not" in refused(older, migrate)
    assert name_on_record(older) is None


def test_an_older_database_that_another_host_holds_is_not_migrated(older: Path) -> None:
    def migrate(url: str) -> None:
        raise AssertionError(url)

    run(older, "UPDATE control_plane SET serving = 'box-2:1:00000000'")
    run(older, f"UPDATE control_plane SET since = '{text_of(NOW)}'")
    store = SqliteStore(older, migrate=migrate)
    assert store.take_hold(HOLDER, NOW) == Holder("box-2:1:00000000", NOW)


def test_an_sqlite_library_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 32, 3))
    assert "Stateous needs 3.33.0 or newer" in refused(tmp_path / "new.db")


def test_a_store_without_its_hold_does_nothing(database: SqliteFile) -> None:
    with pytest.raises(StoreError, match="its hold was not taken"):
        database.open().next_ids()


def test_an_id_is_not_given_again_when_its_row_is_gone(database: SqliteFile) -> None:
    store = database.open()
    assert store.take_hold(HOLDER, NOW) is None
    write(store, new_tokens=[token()], new_tasks=[task(1), task(9)], new_timers=[timer(4)])
    store.close()
    run(database.file, "DELETE FROM tasks", "DELETE FROM timers")
    again = database.open()
    assert again.take_hold(HOLDER, NOW) is None
    assert again.next_ids() == NextIds(10, 5)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask to speak of")
@pytest.mark.parametrize(("umask", "mode"), [(0o007, 0o660), (0o022, 0o644), (0o077, 0o600)])
def test_the_umask_decides_who_shares_the_files(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        lock = FileLock(tmp_path / "plane.db.lock")
        assert lock.take()
        connecting.open_writer(tmp_path / "plane.db", 1.0).close()
        lock.free()
    finally:
        os.umask(before)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {mode}
