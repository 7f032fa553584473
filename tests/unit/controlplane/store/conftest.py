"""An SQLite database for each test, copied from one that was migrated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stateous_controlplane.store.sqlite.store import SqliteStore
from tests.support.stores import HOLDER, NOW, SqliteFile


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("template") / "empty.db"
    store = SqliteStore(file)
    assert store.take_hold(HOLDER, NOW) is None
    store.give_up_hold(HOLDER)
    store.close()
    return file


@pytest.fixture
def database(empty_sqlite: Path, tmp_path: Path) -> Iterator[SqliteFile]:
    made = SqliteFile(empty_sqlite, tmp_path / "stateous.db")
    yield made
    made.close()
