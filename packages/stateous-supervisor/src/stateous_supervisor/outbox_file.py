"""The outbox's file: its lock, its version, its rows, and whether there is room for more.

One supervisor a folder: the file is locked as long as it is open, by SQLite itself
(``locking_mode = EXCLUSIVE``), so the lock ends with the process, however it ends. It keeps SQLite's
rollback journal: with a lock that nobody shares, a WAL has nothing to give.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Final, cast, get_args

from stateous.errors import JsonError
from stateous.json import read_json, write_json
from stateous_supervisor.errors import OutboxError
from stateous_supervisor.messages import Attempt, Draft, Kind, Message

VERSION: Final = 1

_TABLE: Final = """
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    task INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    token TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('report', 'note', 'memory', 'emit')),
    body TEXT NOT NULL,
    created_at TEXT NOT NULL
)
"""
_INSERT: Final = (
    "INSERT INTO messages (task, attempt, token, kind, body, created_at) VALUES (?, ?, ?, ?, ?, ?)"
)
_KINDS: Final = frozenset(get_args(Kind))
#: The row that proves room is no message. Its id is below all others, so that theirs are as if it had
#: never been; whoever does not know it sends a note to a task that there is not.
_PROOF: Final = (
    "INSERT OR REPLACE INTO messages (id, task, attempt, token, kind, body, created_at) "
    "VALUES (-1, 0, 0, '', 'note', ?, '')"
)
_NO_PROOF: Final = "DELETE FROM messages WHERE id = -1"
# By the rights that the process has now, where the system can tell.
_EFFECTIVE: Final = os.access in os.supports_effective_ids


def open_file(folder: Path) -> tuple[sqlite3.Connection, Path]:
    """Open ``folder/.stateous/outbox.db``, made if it is absent, and lock it.

    Raises:
        OutboxError: another supervisor has it; a newer Stateous made it; it is no outbox.
    """
    path = folder / ".stateous" / "outbox.db"
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise OutboxError(f"cannot make {path.parent}: {error.strerror}") from error
    # SQLite would make it 0644 at most. Here the umask decides whether a group shares it.
    with contextlib.suppress(OSError):
        path.touch(exist_ok=False)
    # SQLite opens what may only be read without a word, and its lock then keeps nobody out.
    if path.exists() and not os.access(path, os.W_OK, effective_ids=_EFFECTIVE):
        raise OutboxError(f"cannot write the outbox {path}: Permission denied")
    try:
        connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            _lock(connection)
            _migrate(connection, path)
            return connection, path
        except BaseException:
            connection.close()
            raise
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise OutboxError(
                f"another supervisor runs on {folder} now: stop it, or use another folder"
            ) from None
        raise OutboxError(f"cannot open the outbox {path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise OutboxError(f"cannot open the outbox {path}: {error}") from error


def _lock(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA synchronous = FULL")
    # In this mode the lock of the first transaction is kept when the transaction ends.
    connection.execute("BEGIN EXCLUSIVE")
    connection.execute("COMMIT")
    # A file that was left in WAL mode cannot be one of ours, but is brought back all the same.
    connection.execute("PRAGMA journal_mode = DELETE")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise OutboxError(
            f"a newer Stateous made the outbox {path} (version {version}, this one knows "
            f"{VERSION}): upgrade Stateous"
        )
    if version == 0:
        connection.execute("BEGIN")
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")


def rows_of(connection: sqlite3.Connection, path: Path) -> tuple[Message, ...]:
    """The messages in the file, in order.

    Raises:
        OutboxError: one of them is broken, or of a kind that this Stateous does not know.
    """
    try:
        rows = connection.execute(
            "SELECT id, task, attempt, token, kind, body FROM messages WHERE id > 0 ORDER BY id"
        ).fetchall()
    except sqlite3.DatabaseError as error:
        raise OutboxError(f"cannot open the outbox {path}: {error}") from error
    return tuple(_message(path, *row) for row in rows)


def _message(
    path: Path, row: int, task: int, attempt: int, token: str, kind: str, text: str
) -> Message:
    try:
        body = read_json(text.encode())
    except JsonError as error:
        raise OutboxError(
            f"the outbox {path} holds a message {row} that is broken: {error}"
        ) from None
    # Without its number an emitted value could be taken twice.
    numbered = kind != "emit" or (isinstance(body, dict) and "number" in body)
    if not isinstance(body, dict) or kind not in _KINDS or not numbered:
        raise OutboxError(
            f"the outbox {path} holds a message {row} that this Stateous does not know: "
            f"its kind is {kind!r}"
        )
    return Message(row, Attempt(task, attempt), token, cast("Kind", kind), body)


def insert(connection: sqlite3.Connection, draft: Draft, now: datetime) -> Message:
    """Insert a message in the open transaction.

    Raises:
        StateousError, ValueError, TypeError, OverflowError: it cannot be written, or not be read again.
        sqlite3.Error: the file does not take it.
    """
    body = write_json(draft.body)
    # What the strict reader refuses is refused here, where the routine still runs: the control
    # plane would not take it, and the next start could not read it.
    read_json(body.encode())
    created = now.isoformat(timespec="microseconds")
    cursor = connection.execute(
        _INSERT,
        (
            draft.attempt.task,
            draft.attempt.number,
            draft.token,
            draft.kind,
            body,
            created,
        ),
    )
    assert cursor.lastrowid is not None
    return Message(cursor.lastrowid, draft.attempt, draft.token, draft.kind, draft.body)


def prove_room(connection: sqlite3.Connection, size: int) -> None:
    """Write ``size`` bytes, durably, and take them out again: what is written next has room.

    Raises:
        sqlite3.Error: the disk does not take them.
    """
    for statement, values in ((_PROOF, (" " * size,)), (_NO_PROOF, ())):
        connection.execute("BEGIN")
        try:
            connection.execute(statement, values)
            connection.execute("COMMIT")
        except BaseException:
            roll_back(connection)
            raise


def roll_back(connection: sqlite3.Connection) -> None:
    """End the open transaction. A full disk may have ended it already."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def is_of_disk(error: Exception) -> bool:
    """Whether the file could not be written, whatever it was; else the message is at fault."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.ProgrammingError)
    )
