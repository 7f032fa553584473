"""The outbox: holds every message on disk until the control plane has answered it.

The protocol (`docs/spec/authoring.md` 8.6):

* A message is **on disk before it is sent**, and leaves the disk **after its answer** came. So a
  crash at any moment loses no message; it can only send one again. The control plane drops a
  message that comes again: notes and memory writes carry their row's id as ``number``, reports
  carry their attempt, and an attempt ends with its first report.
* Ids only grow (``AUTOINCREMENT``), also after the rows that had them are gone. The order of ids is
  the order in which a task's messages are sent.
* **Group commit.** One thread writes. Whatever was asked for while it wrote the last transaction is
  the next one: n routines that write at once wait for one commit, not for n. A batch that fails is
  done again one by one, so that a message that cannot be written harms only itself.
* **What is answered leaves with what comes.** Nobody waits for a removal, so it gets a transaction
  of its own only when nothing has been put for a moment. One that a crash prevents costs a message
  that is sent again.
* **A disk that takes nothing is waited for.** From the first write that it refuses on, all writes
  are kept in memory, in order, and tried again with back-off, behind a write that proves room for
  more than them: so the disk is not full again with the next message. Who claims is told when that
  begins and ends. Only what a routine waits for fails at once: it can do something about it.
* **It belongs to one process.** A child that a routine forks has the file's descriptor and none of
  the threads; what it puts is refused there, because nobody would ever write it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, assert_never

from stateous_supervisor.backoff import Backoff
from stateous_supervisor.errors import OutboxError
from stateous_supervisor.messages import Attempt, Draft, Message
from stateous_supervisor.outbox_file import (
    insert,
    is_of_disk,
    open_file,
    prove_room,
    roll_back,
    rows_of,
)
from stateous_supervisor.outbox_writes import Forget, Put, Remove, Replace, Write, fail, passes
from stateous_supervisor.pace import Pace

_log = logging.getLogger("stateous.supervisor")

# Bounds the memory of a transaction, not its latency: a batch is what came during the last one.
_MOST_AT_ONCE: Final = 500
# Bounds the memory of what a disk refuses: what comes above it fails at once.
_MOST_KEPT: Final = 10_000
# A disk counts as writable when it has room for so many bytes, besides what is kept.
_ROOM: Final = 64 * 1024


class _Tidy:
    """There are answered messages."""


class _Hurry:
    """Keep nothing from now on."""


class _End:
    """Nothing comes behind this."""


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
        refuses: Callable[[str | None], None],
        clock: Callable[[], datetime],
        pace: Pace,
    ) -> None:
        self._connection = connection
        self.path = path
        self._written = written
        self._tell = refuses
        self._clock = clock
        self._backoff_steps = pace.backoff
        self._process = os.getpid()
        self.left = rows_of(connection, path)
        #: Why the disk takes nothing now; None while it does.
        self.refusal: str | None = None
        # What the disk has refused, and whatever came behind it, in order.
        self._kept: deque[Write] = deque()
        #: Why messages that are answered stay on the disk, as the log was told last.
        self._stays_because: str | None = None
        self._holding = False
        self._backoff = Backoff(self._backoff_steps)
        self._next_try = 0.0
        self._hurried = False
        self._writes: SimpleQueue[Write | _Tidy | _Hurry | _End] = SimpleQueue()
        # Filled by any thread, whose first one tells the writer, and emptied by the writer.
        self._answered: deque[Message] = deque()
        self._tidy_is_asked = False
        self._removal_wait = pace.removal_wait
        self._tidy_at: float | None = None
        self._closing = threading.Lock()
        self._closed = False
        self._writer = threading.Thread(target=self._run, name="outbox", daemon=True)
        self._writer.start()

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        written: Callable[[Sequence[Message]], None],
        refuses: Callable[[str | None], None] = lambda _: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        pace: Pace | None = None,
    ) -> Outbox:
        """Open ``folder/.stateous/outbox.db``, made if it is absent, and lock it.

        Both callbacks come on the writer's thread. ``written`` gets what was put in each
        transaction, in order, once it is on disk; replacements are not among it. ``refuses`` gets
        why the disk takes nothing, once when that begins, and None when it is over.

        Raises:
            OutboxError: another supervisor has it; a newer Stateous made it; it is no outbox.
        """
        connection, path = open_file(folder)
        try:
            return cls(
                connection,
                path,
                written=written,
                refuses=refuses,
                clock=clock,
                pace=pace if pace is not None else Pace(),
            )
        except BaseException:
            connection.close()
            raise

    def put(self, draft: Draft, *, keep: bool = True) -> Future[Message]:
        """Write a message; the future has it once it is on disk, or the error that kept it off.

        Without ``keep`` it fails at once while the disk takes nothing, and is not written later.

        Raises:
            OutboxError: the outbox is closed.
        """
        write = Put(draft, keep)
        self._enqueue(write)
        return write.done

    def replace(self, message: Message, draft: Draft) -> Future[Message]:
        """Write ``draft`` and remove ``message``, both or neither.

        Raises:
            OutboxError: the outbox is closed.
        """
        write = Replace(message.id, draft)
        self._enqueue(write)
        return write.done

    def remove(self, message: Message) -> None:
        """The message is answered: it leaves the disk with the next transaction, a moment later.

        Raises:
            OutboxError: the outbox is closed; not always then, since there is nothing to be lost.
        """
        # In this order: who sees that it is asked for has put his message in before it is done.
        self._answered.append(message)
        if not self._tidy_is_asked:
            self._tidy_is_asked = True
            self._enqueue(_Tidy())

    def forget(self, attempt: Attempt) -> None:
        """The attempt is lost: its messages leave the disk with the next transaction."""
        self._enqueue(Forget(attempt))

    def hurry(self) -> None:
        """The supervisor stops: what the disk refuses is tried once more, then fails."""
        with self._closing:
            if not self._closed:
                self._writes.put(_Hurry())

    def close(self) -> None:
        """Finish what was asked for, close the file and give up the lock. May be called twice."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._writes.put(_End())
        self._writer.join()

    def _enqueue(self, write: Write | _Tidy) -> None:
        if os.getpid() != self._process:  # before the lock, which may never be free in a child
            raise OutboxError("this process was forked from the supervisor, which alone may write")
        with self._closing:
            if self._closed:
                raise OutboxError("the outbox is closed: the supervisor has stopped")
            self._writes.put(write)

    # ── on the writer's thread ──────────────────────────────────────────

    def _run(self) -> None:
        try:
            self._try_room()
            while True:
                batch, ended = self._next()
                self._commit(batch)
                self._hurried |= ended
                if self._holding and (self._hurried or time.monotonic() >= self._next_try):
                    self._try_again()
                if ended:
                    return
        finally:
            self._connection.close()

    def _next(self) -> tuple[list[Write], bool]:
        """What was asked for, and whether that is all; nothing when it is time to try again."""
        batch: list[Write] = []
        ended = False
        while len(batch) < _MOST_AT_ONCE and not ended:
            try:
                if batch:
                    write = self._writes.get_nowait()
                else:
                    write = self._writes.get(timeout=self._patience())
            except Empty:
                break
            match write:
                case _End():
                    ended = True
                case _Hurry():
                    self._hurried = True
                    break
                case _Tidy():
                    self._tidy_at = time.monotonic() + self._removal_wait
                case _:
                    batch.append(write)
        if batch or ended or (self._tidy_at is not None and time.monotonic() >= self._tidy_at):
            batch.extend(self._removals())
        return batch, ended

    def _patience(self) -> float | None:
        """The seconds until something is to be done that nobody asks for; None: there is nothing."""
        times = [self._next_try] if self._holding else []
        if self._tidy_at is not None:
            times.append(self._tidy_at)
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _removals(self) -> list[Write]:
        self._tidy_is_asked = False
        self._tidy_at = None
        return [Remove(self._answered.popleft()) for _ in range(len(self._answered))]

    def _commit(self, batch: Sequence[Write]) -> None:
        if not batch:
            return
        if self._holding:
            for write in batch:
                self._keep(write)
            return
        passes("before", batch)
        try:
            new = self._transact(batch)
        except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
            if len(batch) > 1:
                for write in batch:
                    self._commit([write])
            elif is_of_disk(error):
                self._refused(error)
                self._keep(batch[0])
            else:
                self._fail(batch[0], str(error))
            return
        passes("after", batch)
        put = [message for write, message in new if isinstance(write, Put)]
        if put:
            self._written(put)
        for write, message in new:
            write.done.set_result(message)

    def _transact(self, batch: Sequence[Write]) -> list[tuple[Put | Replace, Message]]:
        new: list[tuple[Put | Replace, Message]] = []
        execute = self._connection.execute
        execute("BEGIN")
        try:
            for write in batch:
                match write:
                    case Put(draft):
                        new.append((write, insert(self._connection, draft, self._clock())))
                    case Replace(row, draft):
                        execute("DELETE FROM messages WHERE id = ?", (row,))
                        new.append((write, insert(self._connection, draft, self._clock())))
                    case Remove(message):
                        execute("DELETE FROM messages WHERE id = ?", (message.id,))
                    case Forget(attempt):
                        execute(
                            "DELETE FROM messages WHERE task = ? AND attempt = ?",
                            (attempt.task, attempt.number),
                        )
                    case _:
                        assert_never(write)
            execute("COMMIT")
        except BaseException:
            roll_back(self._connection)
            raise
        return new

    # ── while the disk takes nothing ────────────────────────────────────

    def _refused(self, error: Exception) -> None:
        self._holding = True
        if self.refusal is None:
            self._backoff = Backoff(self._backoff_steps)
            self.refusal = str(error)
            self._tell(self.refusal)
        self._next_try = time.monotonic() + self._backoff.unanswered()

    def _keep(self, write: Write) -> None:
        waited_for = isinstance(write, Put) and not write.keep
        if waited_for or self._hurried or len(self._kept) >= _MOST_KEPT:
            self._fail(write, self.refusal or "")
        else:
            self._kept.append(write)

    def _fail(self, write: Write, why: str) -> None:
        if not fail(write, why) and self._stays_because != why:
            # Each that stays is sent once more at the next start, where it changes nothing.
            self._stays_because = why
            _log.error("cannot remove answered messages from the outbox: %s", why)

    def _try_room(self) -> bool:
        drafts = (it.draft for it in self._kept if isinstance(it, (Put, Replace)))
        try:
            prove_room(self._connection, _ROOM + sum(len(str(draft.body)) for draft in drafts))
        except sqlite3.Error as error:
            self._refused(error)
            return False
        return True

    def _try_again(self) -> None:
        if self._try_room():
            self._holding = False
        kept, self._kept = list(self._kept), deque()
        for first in range(0, len(kept), _MOST_AT_ONCE):
            self._commit(kept[first : first + _MOST_AT_ONCE])
        if not self._holding:
            self.refusal = None
            self._tell(None)
