"""The asyncio shell: performs the steps of a course on a connection (`docs/spec/wire.md` 7)."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, assert_never

from stateous_client.errors import closed
from stateous_client.protocol.courses import Course, Items, Send, Sleep, Walk
from stateous_client.protocol.dialogue import Dialogue
from stateous_client.protocol.exchange import Reply, Request

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


class AsyncShell:
    """What an asyncio client is, apart from its methods: connections, time, and their end."""

    def __init__(self, url: str, *, timeout: float = 30.0, retries: int = 3) -> None:
        self._begin(Dialogue.of(url, timeout, retries), None, asyncio.sleep)

    @classmethod
    def through(
        cls,
        transport: httpx.AsyncBaseTransport,
        url: str,
        *,
        timeout: float = 30.0,
        retries: int = 3,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = random.random,
        now: Callable[[], float] = time.monotonic,
    ) -> Self:
        """A client that speaks through ``transport``, for tests: no sockets, no real time.

        ``draw`` gives the jitter, from 0 to 1; ``now`` is a clock in seconds.
        """
        client = cls.__new__(cls)
        dialogue = Dialogue.of(url, timeout, retries, draw=draw, now=now)
        client._begin(dialogue, transport, sleep)
        return client

    def _begin(
        self,
        dialogue: Dialogue,
        transport: httpx.AsyncBaseTransport | None,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        # Imported on construction, so that importing the package does not load httpx.
        from stateous_client import http

        self._dialogue = dialogue
        self._sleep = sleep
        self._lease: float | None = None
        self._port: http.AsyncPort | None = http.AsyncPort(
            dialogue.address, dialogue.timeout, transport
        )

    async def aclose(self) -> None:
        """Close the connections. Every later call is an InvalidArgument."""
        port, self._port = self._port, None
        if port is not None:
            await port.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._dialogue.address.masked!r})"

    async def _do(self, request: Request[T]) -> T:
        return await self._run(self._dialogue.ask(request))

    async def _run(self, course: Course[T]) -> T:
        reply: Reply | None = None
        while True:
            try:
                step = course.send(reply)
            except StopIteration as end:
                value: T = end.value
                return value
            reply = await self._perform(step)

    async def _walk(self, walk: Walk[T]) -> AsyncIterator[T]:
        reply: Reply | None = None
        while True:
            try:
                step = walk.send(reply)
            except StopIteration:
                return
            if isinstance(step, Items):
                for item in step.items:
                    yield item
                reply = None
            else:
                reply = await self._perform(step)

    async def _perform(self, step: Send | Sleep) -> Reply | None:
        match step:
            case Sleep(seconds):
                await self._sleep(seconds)
                return None
            case Send(request):
                if self._port is None:
                    raise closed(self._dialogue.address.masked)
                reply = await self._port.send(request)
                self._lease = request.lease_after(reply, self._lease)
                return reply
            case _:
                assert_never(step)
