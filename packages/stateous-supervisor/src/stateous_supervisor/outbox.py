"""The outbox: an SQLite file that holds every message until the control plane has answered it.

The protocol (`docs/spec/authoring.md` 8.6):

* A message is **on disk before it is sent**, and leaves the disk **after its answer** came. So a
  crash at any moment loses no message; it can only send one again. The control plane drops a
  message that comes again: notes and memory writes carry their row's id as ``number``, reports
  carry their attempt, and an attempt ends with its first report.
* Ids only grow (``AUTOINCREMENT``), also after the rows that had them are gone. The order of ids is
  the order in which a task's messages are sent.
* **One supervisor a folder.** The file is locked as long as it is open, by SQLite itself
  (``locking_mode = EXCLUSIVE``), so the lock ends with the process, however it ends.
* **Group commit.** One thread writes. Whatever was asked for while it wrote the last transaction is
  the next one: n routines that write at once wait for one commit, not for n. A batch that fails is
  done again one by one, so that a message that cannot be written harms only itself.
* **It belongs to one process.** A child that a routine forks has the file's descriptor and none of
  the threads; what it puts is refused there, because nobody would ever write it.

The file keeps SQLite's rollback journal: with a lock that nobody shares, a WAL has nothing to give.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, TypeAlias, assert_never, cast

from stateous.errors import JsonError
from stateous.json import read_json, write_json
from stateous_supervisor.crashpoints import reached
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
_KINDS: Final = frozenset({"report", "note", "memory"})
# Bounds the memory of a transaction, not its latency: a batch is what came during the last one.
_MOST_AT_ONCE: Final = 500
# By the rights that the process has now, where the system can tell.
_EFFECTIVE: Final = os.access in os.supports_effective_ids

_log = logging.getLogger("stateous.supervisor")


@dataclass(frozen=True, slots=True)
class _Put:
    draft: Draft
    done: Future[Message]


@dataclass(frozen=True, slots=True)
class _Replace:
    id: int
    draft: Draft
    done: Future[Message]


@dataclass(frozen=True, slots=True)
class _Remove:
    message: Message


@dataclass(frozen=True, slots=True)
class _Forget:
    attempt: Attempt


_Write: TypeAlias = _Put | _Replace | _Remove | _Forget


class Outbox:
    """The open, locked outbox of a folder. Its methods may be called from any thread.

    ``left`` are the messages of an earlier run, in order.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        written: Callable[[Sequence[Message]], None],
        clock: Callable[[], datetime],
    ) -> None:
        self._connection = connection
        self._written = written
        self._clock = clock
        self._process = os.getpid()
        self.left = _rows(connection, path)
        self._writes: SimpleQueue[_Write | None] = SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._writer = threading.Thread(target=self._write, name="outbox", daemon=True)
        self._writer.start()

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        written: Callable[[Sequence[Message]], None],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> Outbox:
        """Open ``folder/.stateous/outbox.db``, made if it is absent, and lock it.

        ``written`` is called on the writer's thread with what was put in each transaction, in
        order, once it is on disk; replacements are not among it.

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
            connection = sqlite3.connect(
                path, timeout=0, isolation_level=None, check_same_thread=False
            )
            try:
                _lock(connection)
                _migrate(connection, path)
                return cls(connection, path, written=written, clock=clock)
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

    def put(self, draft: Draft) -> Future[Message]:
        """Write a message; the future has it once it is on disk, or the error that kept it off.

        Raises:
            OutboxError: the outbox is closed.
        """
        done = _promise()
        self._enqueue(_Put(draft, done))
        return done

    def replace(self, message: Message, draft: Draft) -> Future[Message]:
        """Write ``draft`` and remove ``message``, both or neither.

        Raises:
            OutboxError: the outbox is closed.
        """
        done = _promise()
        self._enqueue(_Replace(message.id, draft, done))
        return done

    def remove(self, message: Message) -> None:
        """The message is answered: it leaves the disk with the next transaction."""
        self._enqueue(_Remove(message))

    def forget(self, attempt: Attempt) -> None:
        """The attempt is lost: its messages leave the disk with the next transaction."""
        self._enqueue(_Forget(attempt))

    def close(self) -> None:
        """Finish what was asked for, close the file and give up the lock. May be called twice."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._writes.put(None)
        self._writer.join()

    def _enqueue(self, write: _Write) -> None:
        if os.getpid() != self._process:  # before the lock, which may never be free in a child
            raise OutboxError("this process was forked from the supervisor, which alone may write")
        with self._closing:
            if self._closed:
                raise OutboxError("the outbox is closed: the supervisor has stopped")
            self._writes.put(write)

    def _write(self) -> None:
        try:
            while (first := self._writes.get()) is not None:
                batch = [first]
                ended = False
                while len(batch) < _MOST_AT_ONCE:
                    try:
                        more = self._writes.get_nowait()
                    except Empty:
                        break
                    if more is None:
                        ended = True
                        break
                    batch.append(more)
                self._commit(batch)
                if ended:
                    return
        finally:
            self._connection.close()

    def _commit(self, batch: Sequence[_Write]) -> None:
        _pass("before", batch)
        try:
            new = self._transact(batch)
        except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
            if len(batch) > 1:
                for write in batch:
                    self._commit([write])
            else:
                _fail(batch[0], error)
            return
        _pass("after", batch)
        put = [message for write, message in new if isinstance(write, _Put)]
        if put:
            self._written(put)
        for write, message in new:
            write.done.set_result(message)

    def _transact(self, batch: Sequence[_Write]) -> list[tuple[_Put | _Replace, Message]]:
        new: list[tuple[_Put | _Replace, Message]] = []
        self._connection.execute("BEGIN")
        try:
            for write in batch:
                match write:
                    case _Put(draft):
                        new.append((write, self._insert(draft)))
                    case _Replace(row, draft):
                        self._connection.execute("DELETE FROM messages WHERE id = ?", (row,))
                        new.append((write, self._insert(draft)))
                    case _Remove(message):
                        self._connection.execute("DELETE FROM messages WHERE id = ?", (message.id,))
                    case _Forget(attempt):
                        self._connection.execute(
                            "DELETE FROM messages WHERE task = ? AND attempt = ?",
                            (attempt.task, attempt.number),
                        )
                    case _:
                        assert_never(write)
            self._connection.execute("COMMIT")
        except BaseException:
            # A full disk may have ended the transaction already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return new

    def _insert(self, draft: Draft) -> Message:
        body = write_json(draft.body)
        # What the strict reader refuses is refused here, where the routine still runs: the control
        # plane would not take it, and the next start could not read it.
        read_json(body.encode())
        created = self._clock().isoformat(timespec="microseconds")
        cursor = self._connection.execute(
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


def _pass(when: str, batch: Sequence[_Write]) -> None:
    for write in batch:
        match write:
            case _Put(draft) | _Replace(_, draft):
                reached(f"{when}-write-{draft.kind}")
            case _Remove(message):
                reached(f"{when}-removal-{message.kind}")
            case _Forget():
                pass
            case _:
                assert_never(write)


def _promise() -> Future[Message]:
    done: Future[Message] = Future()
    # A write that was asked for is done, also when nobody waits for it any more.
    done.set_running_or_notify_cancel()
    return done


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


def _rows(connection: sqlite3.Connection, path: Path) -> tuple[Message, ...]:
    rows = connection.execute(
        "SELECT id, task, attempt, token, kind, body FROM messages ORDER BY id"
    )
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
    if not isinstance(body, dict) or kind not in _KINDS:
        raise OutboxError(
            f"the outbox {path} holds a message {row} that this Stateous does not know: "
            f"its kind is {kind!r}"
        )
    return Message(row, Attempt(task, attempt), token, cast("Kind", kind), body)


def _fail(write: _Write, error: Exception) -> None:
    match write:
        case _Put(_, done) | _Replace(_, _, done):
            done.set_exception(OutboxError(f"cannot write to the outbox: {error}"))
        case _Remove() | _Forget():
            # The row stays and is sent once more at the next start, where it changes nothing.
            _log.error("cannot remove a message from the outbox: %s", error)
        case _:
            assert_never(write)
