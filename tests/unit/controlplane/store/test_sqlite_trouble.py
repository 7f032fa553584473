"""An SQLite database in trouble: locked, full, lost, or wanted by several processes."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from stateous.json import JsonText
from stateous_controlplane.store.port import (
    DatabaseBusy,
    Holder,
    HoldState,
    Store,
    TokenFilter,
)
from stateous_controlplane.store.sqlite.store import SqliteStore
from tests.support.databases import SqliteFile
from tests.support.stores import HOLDER, NOW, after, load, token, write


@pytest.fixture
def store(database: SqliteFile) -> Store:
    opened = database.open()
    assert opened.take_hold(HOLDER, NOW) is None
    return opened


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """While another program writes into ``file``."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def test_commands_wait_for_a_lock_and_reads_do_not(database: SqliteFile, store: Store) -> None:
    write(store, new_tokens=[token()])
    reads = store.reads()
    with locked(database.file):
        with pytest.raises(DatabaseBusy, match="another program has locked it"):
            write(store, new_tokens=[token("T-2")])
        with pytest.raises(DatabaseBusy):
            store.renew_hold(HOLDER, after(10))
        assert reads.token("T-1") is not None
        assert reads.history("T-1", after=0, limit=None) == []
        assert len(reads.tokens(TokenFilter(), behind=None, limit=9, max_bytes=99)[0]) == 1
        assert reads.holds(HOLDER)
    write(store, new_tokens=[token("T-2")])
    assert store.renew_hold(HOLDER, after(10)) is HoldState.OURS
    reads.close()


def test_a_wait_for_a_lock_lasts_longer_than_one_slice_of_it(database: SqliteFile) -> None:
    store = SqliteStore(database.file)
    assert store.take_hold(HOLDER, NOW) is None
    with locked(database.file), ThreadPoolExecutor(1) as other:
        waiting = other.submit(write, store, new_tokens=[token()])
        with pytest.raises(TimeoutError):
            waiting.result(0.6)
        store.stop_waiting()
        with pytest.raises(DatabaseBusy, match="another program has locked it"):
            waiting.result(20)
    store.close()


def test_a_stop_frees_the_lock_also_when_the_row_cannot_be_cleared(
    database: SqliteFile, store: Store
) -> None:
    with locked(database.file), pytest.raises(DatabaseBusy):
        store.give_up_hold(HOLDER)
    assert database.open().take_hold("box-1:2:00000000", NOW) is None


def test_a_full_disk_changes_nothing_and_says_so(store: SqliteStore) -> None:
    connection = store._connection
    assert connection is not None
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages + 1}")
    big = token("big", context=JsonText('"' + "x" * 100_000 + '"'))
    with pytest.raises(DatabaseBusy, match="the disk is full"):
        write(store, new_tokens=[token(), big])
    assert load(store, tokens={"T-1", "big"}).tokens == {}
    connection.execute("PRAGMA max_page_count=1000000")
    write(store, new_tokens=[token(), big])


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_taken_away_acknowledges_nothing(
    database: SqliteFile, store: Store, replaced: bool
) -> None:
    write(store, new_tokens=[token("there")])
    aside = database.file.with_name("aside.db")
    database.file.rename(aside)
    if replaced:
        database.file.write_bytes(aside.read_bytes())
    with pytest.raises(DatabaseBusy, match="removed or replaced"):
        write(store, new_tokens=[token("lost")])
    with pytest.raises(DatabaseBusy, match="removed or replaced"):
        store.renew_hold(HOLDER, NOW)
    aside.replace(database.file)
    write(store, new_tokens=[token("back")])
    assert load(store, tokens={"there", "lost", "back"}).tokens.keys() == {"there", "back"}


def test_reads_of_a_closed_store_are_busy(store: Store) -> None:
    reads = store.reads()
    assert reads.token("T-1") is None
    reads.close()
    with pytest.raises(DatabaseBusy):
        reads.token("T-1")


def test_reads_of_a_file_that_is_gone_are_busy_and_make_none(tmp_path: Path) -> None:
    reads = SqliteStore(tmp_path / "gone.db").reads()
    with pytest.raises(DatabaseBusy, match="cannot be opened"):
        reads.token("T-1")
    with pytest.raises(DatabaseBusy, match="cannot be opened"):
        reads.tokens(TokenFilter(), behind=None, limit=9, max_bytes=99)
    assert list(tmp_path.iterdir()) == []
    reads.close()


# ── several processes ───────────────────────────────────────────────────

#: Tries to take the hold, says who has it, and keeps it until its standard input ends.
PROCESS = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from stateous_controlplane.store.sqlite.store import SqliteStore
file, holder = sys.argv[1:]
other = SqliteStore(Path(file)).take_hold(holder, datetime.fromisoformat("2027-03-01T00:00:00Z"))
print("held" if other is None else other.name, flush=True)
sys.stdin.read()
"""


def started(file: Path, holder: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(file), holder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("new", [True, False], ids=["a new database", "an old one"])
def test_one_of_several_processes_gets_the_hold(
    database: SqliteFile, tmp_path: Path, new: bool
) -> None:
    file = tmp_path / "new.db" if new else database.file
    names = [f"box-1:{number}:00000000" for number in range(3)]
    processes = [started(file, name) for name in names]
    answers = [said(process) for process in processes]
    for process in processes:
        process.communicate()
    winners = [name for name, answer in zip(names, answers, strict=True) if answer == "held"]
    assert len(winners) == 1
    assert set(answers) <= {"held", winners[0], "its name is not on record yet"}


def test_after_a_kill_the_same_host_takes_over_at_once(database: SqliteFile) -> None:
    dead = started(database.file, HOLDER)
    assert said(dead) == "held"
    other = database.open()
    since = NOW.replace(hour=0, minute=0, second=0, microsecond=0)
    assert other.take_hold("box-1:2:00000000", since) == Holder(HOLDER, since)
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    assert database.open().take_hold("box-2:2:00000000", since) == Holder(HOLDER, since)
    assert other.take_hold("box-1:2:00000000", since) is None
