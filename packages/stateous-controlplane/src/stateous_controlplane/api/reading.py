"""Reads on a small pool of threads, so that the event loop never waits for the database.

Reads do not pass the writer: they see what is committed, on connections of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from stateous.wire.problems import Code, Refusal
from stateous_controlplane.answers import Answer, refused
from stateous_controlplane.api.ports import Desk
from stateous_controlplane.store.port import DatabaseBusy, HoldLost, Reads

_THREADS: Final = 4

_T = TypeVar("_T")


class Reading:
    """Runs reads, each on one of a few threads, as long as the control plane serves."""

    def __init__(self, desk: Desk, reads: Reads, *, threads: int = _THREADS) -> None:
        self._desk = desk
        self._reads = reads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="stateous-reads")

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
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, read, self._reads)


def unavailable(error: DatabaseBusy | HoldLost) -> Answer:
    """The 503 that says why nothing can be read now."""
    return refused(Refusal(Code(error.code), str(error)))
