"""The blocking shell: performs the steps of a course on a connection (`docs/spec/wire.md` 7)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, assert_never

from stateous_client.errors import closed
from stateous_client.protocol.courses import Course, Items, Send, Sleep, Walk
from stateous_client.protocol.dialogue import Dialogue
from stateous_client.protocol.exchange import Reply, Request

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


class Shell:
    """What a blocking client is, apart from its methods: connections, time, and their end."""

    def __init__(self, url: str, *, timeout: float = 30.0, retries: int = 3) -> None:
        self._begin(Dialogue.of(url, timeout, retries), None, time.sleep)

    @classmethod
    def through(
        cls,
        transport: httpx.BaseTransport,
        url: str,
        *,
        timeout: float = 30.0,
        retries: int = 3,
        sleep: Callable[[float], None] = time.sleep,
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
        transport: httpx.BaseTransport | None,
        sleep: Callable[[float], None],
    ) -> None:
        # Imported on construction, so that importing the package does not load httpx.
        from stateous_client import http

        self._dialogue = dialogue
        self._sleep = sleep
        self._lease: float | None = None
        self._port: http.Port | None = http.Port(dialogue.address, dialogue.timeout, transport)

    def close(self) -> None:
        """Close the connections. Every later call is an InvalidArgument."""
        port, self._port = self._port, None
        if port is not None:
            port.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._dialogue.address.masked!r})"

    def _do(self, request: Request[T]) -> T:
        return self._run(self._dialogue.ask(request))

    def _run(self, course: Course[T]) -> T:
        reply: Reply | None = None
        while True:
            try:
                step = course.send(reply)
            except StopIteration as end:
                value: T = end.value
                return value
            reply = self._perform(step)

    def _walk(self, walk: Walk[T]) -> Iterator[T]:
        reply: Reply | None = None
        while True:
            try:
                step = walk.send(reply)
            except StopIteration:
                return
            if isinstance(step, Items):
                yield from step.items
                reply = None
            else:
                reply = self._perform(step)

    def _perform(self, step: Send | Sleep) -> Reply | None:
        match step:
            case Sleep(seconds):
                self._sleep(seconds)
                return None
            case Send(request):
                if self._port is None:
                    raise closed(self._dialogue.address.masked)
                reply = self._port.send(request)
                self._lease = request.lease_after(reply, self._lease)
                return reply
            case _:
                assert_never(step)
