"""The ticket key: its file, its place in the database, its fingerprint, and starts that are refused."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest

from stateous_controlplane.engine.rows import Ticket
from stateous_controlplane.settings import ServeError
from stateous_controlplane.store.memory.store import MemoryStore
from stateous_controlplane.store.port import Changes
from stateous_controlplane.ticket_key import (
    fingerprint_of,
    key_file_for,
    ready_ticket_key,
    warn_of_key_in_database,
)
from tests.support.stores import HOLDER, NOW

KEY = bytes(range(32))


@pytest.fixture
def store() -> MemoryStore:
    made = MemoryStore()
    assert made.take_hold(HOLDER, NOW) is None
    return made


def ready(store: MemoryStore, file: Path | None) -> bytes:
    return ready_ticket_key(store, HOLDER, file)


def issue(store: MemoryStore) -> None:
    with store.transaction(HOLDER) as transaction:
        transaction.write(Changes(tickets=[Ticket("run-1", "waiting", 1, "verdict", "d1", NOW)]))


@pytest.mark.parametrize(
    ("db", "given", "file"),
    [
        ("sqlite:////data/plane.db", None, Path("/data/plane.db.key")),
        ("sqlite:////data/plane.db", Path("/run/key"), Path("/run/key")),
        ("postgresql://h/plane", None, None),
        ("postgresql://h/plane", Path("/run/key"), Path("/run/key")),
    ],
)
def test_where_a_key_is_kept(db: str, given: Path | None, file: Path | None) -> None:
    assert key_file_for(db, given) == file


def test_a_file_is_made_once_for_its_owner_alone(store: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "plane.db.key"
    key = ready(store, file)
    assert len(key) == 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert bytes.fromhex(file.read_text()) == key
    assert ready(store, file) == key
    record = store.ticket_key()
    assert (record.key, record.fingerprint) == (None, fingerprint_of(key))


def test_the_fingerprint_is_that_of_the_specification() -> None:
    assert fingerprint_of(KEY) == "c344df659b8e3549"


def test_a_database_that_keeps_the_key_is_warned_of(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        key = ready(store, None)
        warn_of_key_in_database(Path("key"))
        assert caplog.text == ""
        warn_of_key_in_database(None)
    assert store.ticket_key().key == key.hex()
    assert "--key-file" in caplog.text
    assert key.hex() not in caplog.text
    assert ready(store, None) == key


def test_a_key_moves_out_of_the_database_into_the_file(store: MemoryStore, tmp_path: Path) -> None:
    key = ready(store, None)
    issue(store)
    file = tmp_path / "key"
    assert ready(store, file) == key
    assert store.ticket_key().key is None
    assert bytes.fromhex(file.read_text()) == key


@pytest.mark.parametrize("how", ["another key", "no file"])
def test_another_key_is_refused_while_tickets_are_open(
    store: MemoryStore, tmp_path: Path, how: str
) -> None:
    file = tmp_path / "key"
    key = ready(store, file)
    issue(store)
    if how == "no file":
        file.unlink()
    else:
        file.write_text("ab" * 32)
    with pytest.raises(ServeError, match="1 open ticket"):
        ready(store, file)
    assert file.exists() is (how != "no file")
    file.write_text(key.hex())
    assert ready(store, file) == key


def test_another_key_is_taken_when_no_ticket_is_open(store: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "key"
    ready(store, file)
    file.write_text("ab" * 32 + "\n")
    assert ready(store, file) == bytes.fromhex("ab" * 32)
    assert store.ticket_key().fingerprint == fingerprint_of(bytes.fromhex("ab" * 32))


@pytest.mark.parametrize("text", ["", "ab" * 31, "xy" * 32, "ab" * 32 + "\nab", "é" * 64])
def test_what_is_no_key_file(store: MemoryStore, tmp_path: Path, text: str) -> None:
    file = tmp_path / "key"
    file.write_text(text, "utf-8")
    with pytest.raises(ServeError, match="64 hex digits") as refused:
        ready(store, file)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_made(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(ServeError, match="No such file or directory"):
        ready(store, tmp_path / "nosuch" / "key")
