"""``AsyncClient``: the asyncio shell over the protocol."""

# Methods documents each method once; a test checks that all of them have their docstring.
# ruff: noqa: D102

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, assert_never, overload

from stateous_client.errors import closed
from stateous_client.methods import Methods
from stateous_client.protocol import calls
from stateous_client.protocol.courses import Course, Items, Send, Sleep, Walk
from stateous_client.protocol.dialogue import Dialogue
from stateous_client.protocol.exchange import Reply, Request
from stateous_client.values import (
    Duplicate,
    Entry,
    Grant,
    Health,
    Task,
    TaskStatus,
    Token,
    TokenStatus,
    Until,
)

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


class AsyncClient(Methods):
    """An asyncio client of the control plane at ``url``, for one event loop at a time.

    ``timeout`` is in seconds, for connecting, for sending and for each wait for bytes of the
    answer; long polls get their own seconds on top. ``retries`` is how often a call that is safe to
    repeat is tried again. Connections are kept and reused until :meth:`aclose`; the client is its
    own ``async with`` context. Proxies of the environment are not used.

    Raises:
        InvalidArgument: the URL is none of a control plane, or a number is out of range.
    """

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
        return f"AsyncClient({self._dialogue.address.masked!r})"

    @property
    def url(self) -> str:
        return self._dialogue.address.url

    @property
    def lease(self) -> float | None:
        return self._lease

    async def start(self, token: str, context: dict[str, Any] | None = None) -> Token:
        return await self._do(calls.start(token, context))

    async def get(self, token: str) -> Token:
        return await self._do(calls.get(token))

    async def wait(
        self, token: str, *, until: Until = "ended", timeout: float | None = None
    ) -> Token:
        return await self._run(self._dialogue.wait(token, until, timeout))

    async def tokens(
        self,
        *,
        status: TokenStatus | None = None,
        state: str | None = None,
        workflow: str | None = None,
        parent: str | None = None,
        prefix: str | None = None,
        moved_after: str | datetime | None = None,
        moved_before: str | datetime | None = None,
        limit: int | None = None,
    ) -> list[Token]:
        request = calls.tokens(
            status=status,
            state=state,
            workflow=workflow,
            parent=parent,
            prefix=prefix,
            moved_after=moved_after,
            moved_before=moved_before,
            limit=limit,
        )
        return (await self._do(request)).items

    def iter_tokens(
        self,
        *,
        status: TokenStatus | None = None,
        state: str | None = None,
        workflow: str | None = None,
        parent: str | None = None,
        prefix: str | None = None,
        moved_after: str | datetime | None = None,
        moved_before: str | datetime | None = None,
        page: int = 100,
    ) -> AsyncIterator[Token]:
        first = calls.tokens(
            status=status,
            state=state,
            workflow=workflow,
            parent=parent,
            prefix=prefix,
            moved_after=moved_after,
            moved_before=moved_before,
            limit=page,
        )
        return self._walk(self._dialogue.pages(first))

    async def history(self, token: str, *, after: int = 0, limit: int | None = None) -> list[Entry]:
        return await self._do(calls.history(token, after=after, limit=limit))

    def watch(self, token: str, *, after: int = 0) -> AsyncIterator[Entry]:
        return self._walk(self._dialogue.watch(token, after))

    async def fire(
        self,
        token: str,
        event: str,
        payload: dict[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> Token | Duplicate:
        return await self._do(calls.fire(token, event, payload, key=key))

    async def pause(self, token: str) -> Token:
        return await self._do(calls.steer(token, "pause"))

    async def resume(self, token: str) -> Token:
        return await self._do(calls.steer(token, "resume"))

    async def cancel(self, token: str) -> Token:
        return await self._do(calls.steer(token, "cancel"))

    async def report(
        self,
        task: int,
        event: str,
        payload: dict[str, Any] | None = None,
        *,
        context: dict[str, Any] | None = None,
        attempt: int | None = None,
    ) -> Token:
        return await self._do(calls.report(task, event, payload, context=context, attempt=attempt))

    async def report_failed(self, task: int, error: str, *, attempt: int | None = None) -> Token:
        return await self._do(calls.report_failed(task, error, attempt=attempt))

    async def note(
        self, task: int, text: str, *, attempt: int | None = None, number: int | None = None
    ) -> None:
        return await self._do(calls.note(task, text, attempt=attempt, number=number))

    async def memory(
        self,
        task: int,
        key: str,
        value: Any,
        *,
        attempt: int | None = None,
        number: int | None = None,
    ) -> None:
        return await self._do(calls.memory(task, key, value, attempt=attempt, number=number))

    async def tasks(
        self,
        *,
        status: TaskStatus | None = None,
        state: str | None = None,
        token: str | None = None,
        limit: int | None = None,
    ) -> list[Task]:
        request = calls.tasks(status=status, state=state, token=token, limit=limit)
        return (await self._do(request)).items

    def iter_tasks(
        self,
        *,
        status: TaskStatus | None = None,
        state: str | None = None,
        token: str | None = None,
        page: int = 100,
    ) -> AsyncIterator[Task]:
        first = calls.tasks(status=status, state=state, token=token, limit=page)
        return self._walk(self._dialogue.pages(first))

    async def workflow(self) -> dict[str, Any]:
        return await self._do(calls.workflow())

    async def health(self) -> Health:
        return await self._do(calls.health())

    async def ready(self) -> bool:
        return await self._do(calls.ready())

    @overload
    async def claim(
        self,
        supervisor: str,
        states: Sequence[str],
        *,
        jobs: Sequence[str] = (),
        request: str | None = None,
        wait: int = 0,
        max: None = None,
    ) -> Grant | None: ...

    @overload
    async def claim(
        self,
        supervisor: str,
        states: Sequence[str],
        *,
        jobs: Sequence[str] = (),
        request: str | None = None,
        wait: int = 0,
        max: int,
    ) -> list[Grant]: ...

    @overload
    async def claim(
        self,
        supervisor: str,
        states: Sequence[str],
        *,
        jobs: Sequence[str] = (),
        request: str | None = None,
        wait: int = 0,
        max: int | None = None,
    ) -> Grant | list[Grant] | None: ...

    async def claim(
        self,
        supervisor: str,
        states: Sequence[str],
        *,
        jobs: Sequence[str] = (),
        request: str | None = None,
        wait: int = 0,
        max: int | None = None,
    ) -> Grant | list[Grant] | None:
        if max is None:
            return await self._do(calls.claim(supervisor, states, jobs, request=request, wait=wait))
        many = calls.claim_many(supervisor, states, jobs, request=request, wait=wait, max=max)
        return await self._do(many)

    async def heartbeat(self, supervisor: str, tasks: Iterable[int]) -> list[int]:
        return await self._do(calls.heartbeat(supervisor, tasks))

    async def send_report(self, task: int, outcome: dict[str, Any]) -> Token | None:
        return await self._do(calls.send_report(task, outcome))

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
