"""``Client``: the blocking shell over the protocol."""

# Methods documents each method once; a test checks that all of them have their docstring.
# ruff: noqa: D102

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
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


class Client(Methods):
    """A blocking client of the control plane at ``url``; one may be shared by threads.

    ``timeout`` is in seconds, for connecting, for sending and for each wait for bytes of the
    answer; long polls get their own seconds on top. ``retries`` is how often a call that is safe to
    repeat is tried again. Connections are kept and reused until :meth:`close`; the client is its
    own context manager. Proxies of the environment are not used.

    Raises:
        InvalidArgument: the URL is none of a control plane, or a number is out of range.
    """

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
        return f"Client({self._dialogue.address.masked!r})"

    @property
    def url(self) -> str:
        return self._dialogue.address.url

    @property
    def lease(self) -> float | None:
        return self._lease

    def start(self, token: str, context: dict[str, Any] | None = None) -> Token:
        return self._do(calls.start(token, context))

    def get(self, token: str) -> Token:
        return self._do(calls.get(token))

    def wait(self, token: str, *, until: Until = "ended", timeout: float | None = None) -> Token:
        return self._run(self._dialogue.wait(token, until, timeout))

    def tokens(
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
        return self._do(request).items

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
    ) -> Iterator[Token]:
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

    def history(self, token: str, *, after: int = 0, limit: int | None = None) -> list[Entry]:
        return self._do(calls.history(token, after=after, limit=limit))

    def watch(self, token: str, *, after: int = 0) -> Iterator[Entry]:
        return self._walk(self._dialogue.watch(token, after))

    def fire(
        self,
        token: str,
        event: str,
        payload: dict[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> Token | Duplicate:
        return self._do(calls.fire(token, event, payload, key=key))

    def pause(self, token: str) -> Token:
        return self._do(calls.steer(token, "pause"))

    def resume(self, token: str) -> Token:
        return self._do(calls.steer(token, "resume"))

    def cancel(self, token: str) -> Token:
        return self._do(calls.steer(token, "cancel"))

    def report(
        self,
        task: int,
        event: str,
        payload: dict[str, Any] | None = None,
        *,
        context: dict[str, Any] | None = None,
        attempt: int | None = None,
    ) -> Token:
        return self._do(calls.report(task, event, payload, context=context, attempt=attempt))

    def report_failed(self, task: int, error: str, *, attempt: int | None = None) -> Token:
        return self._do(calls.report_failed(task, error, attempt=attempt))

    def note(
        self, task: int, text: str, *, attempt: int | None = None, number: int | None = None
    ) -> None:
        return self._do(calls.note(task, text, attempt=attempt, number=number))

    def memory(
        self,
        task: int,
        key: str,
        value: Any,
        *,
        attempt: int | None = None,
        number: int | None = None,
    ) -> None:
        return self._do(calls.memory(task, key, value, attempt=attempt, number=number))

    def tasks(
        self,
        *,
        status: TaskStatus | None = None,
        state: str | None = None,
        token: str | None = None,
        limit: int | None = None,
    ) -> list[Task]:
        request = calls.tasks(status=status, state=state, token=token, limit=limit)
        return self._do(request).items

    def iter_tasks(
        self,
        *,
        status: TaskStatus | None = None,
        state: str | None = None,
        token: str | None = None,
        page: int = 100,
    ) -> Iterator[Task]:
        first = calls.tasks(status=status, state=state, token=token, limit=page)
        return self._walk(self._dialogue.pages(first))

    def workflow(self) -> dict[str, Any]:
        return self._do(calls.workflow())

    def health(self) -> Health:
        return self._do(calls.health())

    def ready(self) -> bool:
        return self._do(calls.ready())

    @overload
    def claim(
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
    def claim(
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
    def claim(
        self,
        supervisor: str,
        states: Sequence[str],
        *,
        jobs: Sequence[str] = (),
        request: str | None = None,
        wait: int = 0,
        max: int | None = None,
    ) -> Grant | list[Grant] | None: ...

    def claim(
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
            return self._do(calls.claim(supervisor, states, jobs, request=request, wait=wait))
        many = calls.claim_many(supervisor, states, jobs, request=request, wait=wait, max=max)
        return self._do(many)

    def heartbeat(self, supervisor: str, tasks: Iterable[int]) -> list[int]:
        return self._do(calls.heartbeat(supervisor, tasks))

    def send_report(self, task: int, outcome: dict[str, Any]) -> Token | None:
        return self._do(calls.send_report(task, outcome))

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
