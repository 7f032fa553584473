"""Tells when the routines' event loop has not turned for too long, and who holds it up."""

from __future__ import annotations

import asyncio


class LoopWatch:
    """Looks at an event loop from outside: :meth:`look`, about each second, from one thread.

    It asks the loop to call back. A loop that does not do so within ``limit`` seconds is blocked
    by the task that it runs now.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, limit: float) -> None:
        self._loop = loop
        self._limit = limit
        self._asked_at = 0.0
        self._turned = True

    def look(self, now: float) -> str | None:
        """The name of the task that blocks the loop; None while the loop turns."""
        if self._turned:
            self._turned = False
            self._asked_at = now
            try:
                self._loop.call_soon_threadsafe(self._turn)
            except RuntimeError:  # closed: nothing runs on it, nothing can block it
                self._turned = True
            return None
        if now - self._asked_at <= self._limit:
            return None
        task = asyncio.current_task(self._loop)
        return task.get_name() if task is not None else "a callback"

    def _turn(self) -> None:
        self._turned = True
