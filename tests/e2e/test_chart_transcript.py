"""The transcript of `docs/spec/statechart.md` 18, as typed, in an empty folder, on both databases.

The service is killed between the lines, too: nothing changes but the wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.databases import ServedDatabase
from tests.support.transcripts import Reader

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture
def reader(database: ServedDatabase, tmp_path: Path) -> Iterator[Reader]:
    folder = tmp_path / "empty"
    folder.mkdir()
    # On SQLite nothing is said of a database: it is made in the folder.
    made = Reader(folder, "" if database.kind == "sqlite" else database.url)
    yield made
    if made.service is not None:
        made.service.kill()


def _value(reader: Reader) -> bytes:
    return reader.ticket.encode()


def test_as_typed(reader: Reader, database: ServedDatabase) -> None:
    reader.read()
    left = reader.left()
    files = {"review.yaml", "draft.js"}
    if database.kind == "sqlite":
        files |= {"stateous.db", "stateous.db.key", "stateous.db.lock"}
        assert (reader.folder / "stateous.db.key").stat().st_mode & 0o777 == 0o600
    assert left == files
    # The ticket's value is nowhere but at the terminal.
    kept = b"".join(file.read_bytes() for file in reader.folder.parent.rglob("*") if file.is_file())
    assert _value(reader) not in kept
    for table in sorted(database.tables()) if database.kind == "postgres" else ():
        assert _value(reader).decode() not in str(database.query(f"SELECT * FROM {table}"))
    # The run has ended: its starter's secret is of no use any more.
    assert list((reader.folder.parent / "state" / "stateous" / "starters").iterdir()) == []


def test_with_the_service_killed_before_each_line(reader: Reader) -> None:
    reader.before = lambda reader, typed: reader.kill()
    reader.read()
    reader.left()
    assert "Traceback" not in reader.log
