"""Connections to a database file, and what its errors mean in one sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from stateous_controlplane.store.port import DatabaseBusy, StoreError

#: How long a connection waits for another process's lock, in seconds (`wire.md` 5.2).
BUSY_TIMEOUT: Final = 30.0

# The statements of one batch are some forty texts; the default of 128 leaves room for reads.
_CACHED_STATEMENTS: Final = 256

_OLDEST_LIBRARY: Final = (3, 33, 0)

# A reader that takes long lets the journal grow; behind it the file shrinks to this again.
_JOURNAL_BYTES: Final = 64 * 1024 * 1024

# Holds the upper levels of all indexes of a database with a million tokens.
_WRITER_CACHE_KIB: Final = 16 * 1024

# A checkpoint copies each page once, however often the log has it, and a batch waits for it. SQLite's
# 1000 is some forty batches; at 16 MiB the log is still read in no time after a crash.
_PAGES_A_CHECKPOINT: Final = 4000

_CAUSES: Final = {
    sqlite3.SQLITE_BUSY: "another program has locked it",
    sqlite3.SQLITE_LOCKED: "another program has locked it",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may not be written",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_PERM: "permission denied",
    sqlite3.SQLITE_NOTADB: "the file is not an SQLite database",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup",
    sqlite3.SQLITE_IOERR: "the disk does not answer",
}


def cause(error: sqlite3.Error) -> str:
    """Why it failed, in a few words. The low byte of an error code is its kind."""
    code = getattr(error, "sqlite_errorcode", None)
    return _CAUSES.get(code & 0xFF if code is not None else -1, str(error))


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another program's lock is in the way."""
    return (error.sqlite_errorcode & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def cannot_open(file: Path, error: sqlite3.Error | OSError) -> StoreError:
    """The refusal of a start on a database that cannot be used."""
    if not file.parent.is_dir():
        return StoreError(f"cannot open the database {file}: there is no folder {file.parent}")
    if file.is_dir():
        return StoreError(f"cannot open the database {file}: it is a folder")
    why = cause(error) if isinstance(error, sqlite3.Error) else error.strerror or str(error)
    return StoreError(f"cannot open the database {file}: {why}")


def failure(file: Path, error: sqlite3.Error) -> DatabaseBusy | StoreError:
    """What a failed transaction raises: a constraint broken is a defect, all else is passing."""
    if isinstance(error, sqlite3.IntegrityError):
        return StoreError(f"the database {file} refused the changes: {error}")
    return DatabaseBusy(f"the database {file} cannot be used now: {cause(error)}")


def check_library() -> None:
    """Refuse a start on an SQLite library that lacks what the statements need (UPDATE … FROM).

    Raises:
        StoreError: it is too old.
    """
    if sqlite3.sqlite_version_info < _OLDEST_LIBRARY:
        oldest = ".".join(map(str, _OLDEST_LIBRARY))
        raise StoreError(
            f"this Python has SQLite {sqlite3.sqlite_version}, and Stateous needs {oldest} or newer"
        )


def open_writer(file: Path, busy_timeout: float) -> sqlite3.Connection:
    """The connection that transactions use; it makes the file when there is none."""
    # SQLite would make it 0644 at most. Here the umask decides whether a group shares it.
    with suppress(OSError):
        file.touch(exist_ok=False)
    return _prepared(
        sqlite3.connect(
            file,
            timeout=busy_timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_CACHED_STATEMENTS,
        ),
        "PRAGMA synchronous=FULL",
        f"PRAGMA wal_autocheckpoint={_PAGES_A_CHECKPOINT}",
        f"PRAGMA journal_size_limit={_JOURNAL_BYTES}",
        f"PRAGMA cache_size=-{_WRITER_CACHE_KIB}",
    )


def open_reader(file: Path, busy_timeout: float) -> sqlite3.Connection:
    """A connection that cannot write. It never makes the file."""
    return _prepared(
        sqlite3.connect(
            f"{file.as_uri()}?mode=ro",
            uri=True,
            timeout=busy_timeout,
            isolation_level=None,
            check_same_thread=False,
        ),
        "PRAGMA query_only=ON",
    )


@contextmanager
def reading(file: Path, busy_timeout: float) -> Iterator[sqlite3.Connection]:
    """A reader for one use."""
    connection = open_reader(file, busy_timeout)
    try:
        yield connection
    finally:
        connection.close()


def _prepared(connection: sqlite3.Connection, *pragmas: str) -> sqlite3.Connection:
    try:
        for pragma in ("PRAGMA foreign_keys=OFF", *pragmas):
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection
