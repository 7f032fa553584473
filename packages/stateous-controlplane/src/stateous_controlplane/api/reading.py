"""Reads on a few threads, so that the event loop never waits for the database.

Reads do not pass the writer: they see what is committed, on connections of their own. The threads
are our own, and daemons: a plain queue costs a third of an executor's futures, and a read that
hangs in the database does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from stateous.wire.problems import Code, Refusal
from stateous_controlplane.answers import Answer, refused
from stateous_controlplane.api.ports import Desk
from stateous_controlplane.store.port import DatabaseBusy, HoldLost, Reads

_THREADS: Final = 4

_T = TypeVar("_T")


class _Job(NamedTuple):
    read: Callable[[Reads], Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


_Jobs: TypeAlias = "SimpleQueue[_Job | None]"


class Reading:
    """Runs reads, each on one of a few threads, as long as the control plane serves.

    The threads begin with the first read, and end with this object.
    """

    def __init__(self, desk: Desk, reads: Reads, *, threads: int = _THREADS) -> None:
        self._desk = desk
        self._reads = reads
        self._jobs: _Jobs = SimpleQueue()
        self._to_start = threads

    def _start_threads(self) -> None:
        for number in range(self._to_start):
            name = f"stateous-reads-{number}"
            thread = threading.Thread(
                target=_work, args=(self._jobs, self._reads), name=name, daemon=True
            )
            thread.start()
            weakref.finalize(self, self._jobs.put, None)
        self._to_start = 0

    def require_hold(self) -> None:
        """Every request is refused once another control plane has the database.

        Raises:
            HoldLost: it has.
        """
        if not self._desk.serving:
            raise HoldLost("another control plane took the database; this control plane stopped")

    async def run(self, read: Callable[[Reads], _T]) -> _T:
        """What ``read`` returns; it runs on another thread, and may block.

        Raises:
            HoldLost: another control plane has the database.
            DatabaseBusy: the database does not answer.
        """
        self.require_hold()
        if self._to_start:
            self._start_threads()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        self._jobs.put(_Job(read, future, loop))
        return await future


def unavailable(error: DatabaseBusy | HoldLost) -> Answer:
    """The 503 that says why nothing can be read now."""
    return refused(Refusal(Code(error.code), str(error)))


def _work(jobs: _Jobs, reads: Reads) -> None:
    while (job := jobs.get()) is not None:
        read, future, loop = job
        # Whoever asked may have left; then nobody needs the read.
        if future.cancelled():
            continue
        result, error = None, None
        try:
            result = read(reads)
        except Exception as raised:
            error = raised
        # The loop may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, future, result, error)


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
