"""One file, one lock: other names of a database file (`docs/spec/wire.md` 6.1)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stateous_controlplane.store.port import DatabaseBusy, StoreError
from stateous_controlplane.store.sqlite.store import SqliteStore

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
FIRST, SECOND = "box-1:1:00000001", "box-1:2:00000002"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[SqliteStore, Path]]:
    """A store that serves, made from nothing."""
    file = tmp_path / "stateous.db"
    with contextlib.closing(SqliteStore(file, busy_timeout=0.1)) as store:
        assert store.take_hold(FIRST, NOON) is None
        yield store, file


@pytest.mark.parametrize("place", ["link.db", "elsewhere/stateous.db"])
def test_nobody_serves_a_database_under_a_second_name(
    served: tuple[SqliteStore, Path], tmp_path: Path, place: str
) -> None:
    store, file = served
    link = tmp_path / place
    link.parent.mkdir(exist_ok=True)
    os.link(file, link)
    with contextlib.closing(SqliteStore(link)) as second:
        with pytest.raises(StoreError) as refused:
            second.take_hold(SECOND, NOON)
        assert str(refused.value) == (
            f"cannot open the database {link}: it has another name, a hard link, under which a "
            "second control plane could serve it unseen; remove that name "
            f"(`find DIRECTORY -samefile {link}` tells it), or serve a copy"
        )
        # Who served before the link was made goes on.
        assert store.next_ids().task == 1
        # Nor does it start anew until the link is gone.
        store.give_up_hold(FIRST)
        with pytest.raises(StoreError, match="a hard link"):
            store.take_hold(FIRST, NOON)
        link.unlink()
        assert store.take_hold(FIRST, NOON) is None


def test_a_refused_start_leaves_neither_a_lock_nor_a_file(tmp_path: Path) -> None:
    file, link = tmp_path / "a.db", tmp_path / "b.db"
    file.touch()
    os.link(file, link)
    with contextlib.closing(SqliteStore(link)) as store:
        with pytest.raises(StoreError, match="a hard link"):
            store.take_hold(FIRST, NOON)
        assert not link.read_bytes()
        file.unlink()
        with contextlib.closing(SqliteStore(link)) as other:
            assert other.take_hold(SECOND, NOON) is None


def test_a_symbolic_link_is_the_file_that_it_leads_to(
    served: tuple[SqliteStore, Path], tmp_path: Path
) -> None:
    _, file = served
    link = tmp_path / "link.db"
    link.symlink_to(file)
    with contextlib.closing(SqliteStore(link)) as second:
        other = second.take_hold(SECOND, NOON)
    assert other is not None
    assert other.name == FIRST


def test_a_file_that_gets_another_name_for_its_old_one_is_lost_to_who_served_it(
    served: tuple[SqliteStore, Path], tmp_path: Path
) -> None:
    store, file = served
    os.link(file, tmp_path / "new.db")
    file.unlink()
    with contextlib.closing(SqliteStore(tmp_path / "new.db")) as second:
        assert second.take_hold(SECOND, NOON) is None
        with pytest.raises(DatabaseBusy, match="was removed or replaced"):
            store.next_ids()
