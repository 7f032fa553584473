"""A bell that wakes every coroutine that waits for something to change."""

from __future__ import annotations

import asyncio


class Bell:
    """Rung when something changed; whoever waits looks for himself what.

    Everything happens on one event loop, so nothing can change between a look and the wait that
    follows it without an `await` between.
    """

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake all who wait now."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, seconds: float | None) -> None:
        """Return at the next ring, or after so many seconds; None: only at the ring."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            pass
