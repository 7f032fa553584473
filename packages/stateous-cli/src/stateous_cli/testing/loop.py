"""The event loop of `async def` routines, whose time is that of the fake clock.

A routine that sleeps for an hour sleeps until the test has let an hour pass. :meth:`RoutineLoop.spin`
runs what can go on, and comes back when nothing can before time passes. What comes from outside the
rehearsal takes real time: a thread that a routine has begun is waited for, and a socket for a while.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Final, TypeVar, TypeVarTuple

from stateous_cli.testing.clock import FakeClock

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

_log: Final = logging.getLogger("stateous.supervisor")

#: How long sockets of routines are waited for at a time, and in all, in real seconds.
_GLANCE: Final = 0.05
_PATIENCE: Final = 5.0


class _Selector(selectors.DefaultSelector):
    """Asks the loop how long to wait in earnest when it has nothing to do."""

    def __init__(self, when_idle: Callable[[float | None], float | None]) -> None:
        super().__init__()
        self._when_idle = when_idle

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """As every selector; ``timeout`` is in seconds of the fake clock."""
        idle = timeout is None or timeout > 0
        return super().select(self._when_idle(timeout) if idle else timeout)

    @property
    def sockets(self) -> int:
        """What is watched besides the loop's own pipe."""
        return len(self.get_map()) - 1


class RoutineLoop(asyncio.SelectorEventLoop):
    """An event loop that never sleeps. It may be spun from one thread after another."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._watched = _Selector(self._when_idle)
        self._jobs = 0
        self._patience = 0.0
        self._wakes_in: float | None = None
        super().__init__(self._watched)

    def time(self) -> float:
        """The seconds since the rehearsal began."""
        return self._clock.elapsed

    def spin(self) -> float | None:
        """Run until nothing can go on: the seconds until something can, None when nothing waits."""
        self._patience = _PATIENCE
        self._wakes_in = None
        while True:
            try:
                self.run_forever()
            except SystemExit:
                # Raised in a task that a routine made; the loop goes on for the other routines.
                _log.error("a task of a routine raised SystemExit")
            else:
                return self._wakes_in

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*_Ts], _T], *args: *_Ts
    ) -> asyncio.Future[_T]:
        """As every loop; the job is waited for in real time."""
        future: asyncio.Future[Any] = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        future.add_done_callback(self._job_done)
        return future

    def _job_done(self, _: asyncio.Future[Any]) -> None:
        self._jobs -= 1

    def _when_idle(self, timeout: float | None) -> float | None:
        if self._jobs:
            return None
        if self._watched.sockets and self._patience > 0 and asyncio.all_tasks(self):
            self._patience -= _GLANCE
            return _GLANCE
        self._wakes_in = timeout
        self.stop()
        return 0
