"""The load generator: keep-alive connections that cost little CPU, and what they measure.

Connections speak HTTP/1.1 straight over the transport: a request is one prepared piece of bytes,
and of an answer only the status and the length are read. One request at a time is in flight on a
connection, as with a caller that waits for each answer.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from bench.machine import cpu_seconds, cpu_seconds_of_family

#: From this share of its core on, the generator itself may be what limits the rate.
BOTTLENECK: Final = 0.85

_HEAD_END: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length: "


class Unexpected(Exception):
    """An answer that the workload cannot go on with, or a connection that was lost."""


class Answer(NamedTuple):
    """Status and body of an answer."""

    status: int
    body: bytes

    def expect(self, *statuses: int) -> bytes:
        """The body.

        Raises:
            Unexpected: the status is none of ``statuses``.
        """
        if self.status not in statuses:
            raise Unexpected(f"an answer {self.status}: {self.body[:200]!r}")
        return self.body


def get(path: str) -> bytes:
    """The bytes of a GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def post(path: str, body: str = "{}") -> bytes:
    """The bytes of a POST request with a JSON body."""
    data = body.encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


class Connection(asyncio.Protocol):
    """One keep-alive connection. ``latencies`` takes seconds, by the kind of request."""

    def __init__(self, latencies: dict[str, array[float]]) -> None:
        self._latencies = latencies
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._received = b""
        self._loop = asyncio.get_running_loop()

    async def ask(self, kind: str, request: bytes) -> Answer:
        """Send a request, and wait for its answer.

        Raises:
            Unexpected: the connection was lost.
        """
        if self._transport is None or self._transport.is_closing():
            raise Unexpected("the connection was closed")
        self._answer = self._loop.create_future()
        began = time.perf_counter()
        self._transport.write(request)
        answer = await self._answer
        self._latencies.setdefault(kind, array("d")).append(time.perf_counter() - began)
        return answer

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        # uvloop's transports are none of asyncio's classes.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more comes: who waits for an answer gets none."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Unexpected(f"the connection was lost: {exc}"))

    def data_received(self, data: bytes) -> None:
        """Complete the answer, once its body is there to the last byte."""
        received = self._received = self._received + data if self._received else data
        head_end = received.find(_HEAD_END)
        if head_end < 0:
            return
        head = received[:head_end].lower()
        status = int(head[9:12])
        found = head.find(_LENGTH)
        length = 0 if found < 0 else int(head[found + len(_LENGTH) :].split(b"\r", 1)[0])
        body_at = head_end + len(_HEAD_END)
        if len(received) < body_at + length:
            return
        self._received = b""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Answer(status, received[body_at:]))


@dataclass(slots=True)
class Pool:
    """The connections of a workload, each driven by a worker of its own."""

    connections: list[Connection]
    latencies: dict[str, array[float]] = field(default_factory=dict)

    async def work(self, worker: Callable[[int, Connection], Awaitable[None]]) -> None:
        """Run ``worker`` on every connection; it is told the connection's number."""
        async with asyncio.TaskGroup() as workers:
            for number, connection in enumerate(self.connections):
                workers.create_task(_run(worker, number, connection))

    async def send_all(self, kind: str, requests: list[bytes], *expected: int) -> None:
        """Send ``requests``, shared out among the connections as they get free.

        Raises:
            ExceptionGroup: of :class:`Unexpected`, when an answer's status was not ``expected``.
        """
        remaining = iter(requests)

        async def worker(number: int, connection: Connection) -> None:
            for request in remaining:
                (await connection.ask(kind, request)).expect(*expected)

        await self.work(worker)


async def _run(
    worker: Callable[[int, Connection], Awaitable[None]], number: int, connection: Connection
) -> None:
    await worker(number, connection)


@asynccontextmanager
async def connected(port: int, count: int) -> AsyncIterator[Pool]:
    """A pool of ``count`` connections to a server on this machine."""
    loop = asyncio.get_running_loop()
    pool = Pool([])
    try:
        for _ in range(count):
            _, connection = await loop.create_connection(
                lambda: Connection(pool.latencies), "127.0.0.1", port
            )
            pool.connections.append(connection)
        yield pool
    finally:
        for each in pool.connections:
            each.close()


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run of a workload came to. CPU shares are of one core."""

    operations: int
    requests: int
    seconds: float
    #: Per kind of request: p50 and p99, in milliseconds.
    latencies: dict[str, tuple[float, float]]
    generator_share: float
    server_share: float | None
    #: Of the processes of the database's server; None: it has none.
    database_share: float | None

    @property
    def rate(self) -> float:
        """Operations per second."""
        return self.operations / self.seconds

    @property
    def requests_per_second(self) -> float:
        """Requests per second, whatever they were answered."""
        return self.requests / self.seconds

    @property
    def server_ms_per_request(self) -> float | None:
        """The server's CPU time for a request, in milliseconds."""
        if self.server_share is None:
            return None
        return self.server_share * self.seconds * 1000 / self.requests

    @property
    def generator_limits(self) -> bool:
        """Whether the generator may have been the bottleneck."""
        return self.generator_share > BOTTLENECK


@dataclass(frozen=True, slots=True)
class Watched:
    """The processes whose CPU time is looked at: the server under load, and its database's."""

    server: int
    database: int | None = None


async def measure(
    pool: Pool, watched: Watched, operations: int, drive: Callable[[Pool], Awaitable[None]]
) -> Measured:
    """Run ``drive``, and look at the clocks before and after."""
    pool.latencies.clear()
    before = _cpu(watched)
    generator_before = time.process_time()
    began = time.perf_counter()
    await drive(pool)
    seconds = time.perf_counter() - began
    generator = time.process_time() - generator_before
    server, database = (
        None if was is None or now is None else (now - was) / seconds
        for was, now in zip(before, _cpu(watched), strict=True)
    )
    return Measured(
        operations=operations,
        requests=sum(map(len, pool.latencies.values())),
        seconds=seconds,
        latencies={
            kind: (percentile(taken, 0.50), percentile(taken, 0.99))
            for kind, taken in pool.latencies.items()
        },
        generator_share=generator / seconds,
        server_share=server,
        database_share=database,
    )


def percentile(seconds: Sequence[float], part: float) -> float:
    """Below which ``part`` of ``seconds`` stand, in milliseconds."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000


def _cpu(watched: Watched) -> tuple[float | None, float | None]:
    database = watched.database
    return cpu_seconds(watched.server), None if database is None else cpu_seconds_of_family(
        database
    )
