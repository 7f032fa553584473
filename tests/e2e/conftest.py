"""Databases for the end-to-end tests, so that not every start has to make the tables."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stateous_controlplane.store.sqlite.store import SqliteStore


@pytest.fixture(scope="session")
def _empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("template") / "empty.db"
    store = SqliteStore(file)
    assert store.take_hold("box-1:4711:9f3c01aa", datetime.now(UTC)) is None
    store.give_up_hold("box-1:4711:9f3c01aa")
    store.close()
    return file


@pytest.fixture
def database(_empty_database: Path, tmp_path: Path) -> Path:
    """A database file of the newest version, without tokens, that nobody serves."""
    return Path(shutil.copyfile(_empty_database, tmp_path / "plane.db"))
