"""Calls from any thread to an event loop, which is woken once for all that come together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Mailbox:
    """What other threads ask an event loop to call.

    To wake a loop takes a system call, in which the caller lets another thread have the interpreter:
    more than most of what is posted here takes itself. So only the first of those that come before
    the loop looks wakes it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[tuple[Callable[..., None], tuple[object, ...]]] = deque()
        self._woken = False

    def post(self, call: Callable[..., None], *args: object) -> None:
        """Have the loop call ``call`` soon, in the order of the posts of each thread.

        From any thread and any signal handler.

        Raises:
            RuntimeError: the loop is closed.
        """
        # In this order: who sees that the loop is woken has posted before it empties the box. Two
        # who see that it is not wake it twice, which does no harm.
        self._calls.append((call, args))
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._empty)
            except RuntimeError:
                self._woken = False
                self._calls.clear()
                raise

    def _empty(self) -> None:
        self._woken = False
        while self._calls:
            call, args = self._calls.popleft()
            self._loop.call_soon(call, *args)
