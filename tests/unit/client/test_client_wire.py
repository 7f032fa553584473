"""The asyncio wire against servers that answer in every way that HTTP/1.1 has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import httpx
import pytest

from stateous_client import InvalidArgument
from stateous_client.protocol.address import Address
from stateous_client.protocol.exchange import Answer as Answered
from stateous_client.protocol.exchange import Request
from stateous_client.wire import Wire

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Server:
    """Gives the n-th connection to the n-th answer, and the last one to all that follow."""

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = answers
        self.opened = 0
        self.begun = asyncio.Event()
        self.cut = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = self.answers[min(self.opened, len(self.answers) - 1)]
        self.opened += 1
        self.begun.set()
        try:
            await answer(reader, writer)
            if not await reader.read():
                self.cut.set()
        except ConnectionError:
            self.cut.set()
        finally:
            writer.close()


class Caller:
    """Asks over a wire for what needs no reading."""

    def __init__(self, url: str, *, most: int, idle_for: float) -> None:
        self.wire = Wire(Address.parse(url), most=most, idle_for=idle_for)

    async def get(self, path: str, *, timeout: float = 5.0) -> Answered:
        return await self.wire.ask(Request("GET", path, lambda it: it), timeout)

    async def post(self, path: str, *, content: bytes | None) -> Answered:
        return await self.wire.ask(Request("POST", path, lambda it: it, body=content), 5.0)


@asynccontextmanager
async def serving(
    *answers: Answer, most: int = 10, idle_for: float = 20.0, user: str = "", base: str = ""
) -> AsyncIterator[tuple[Server, Caller]]:
    server = Server(list(answers))
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    place = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    client = Caller(f"http://{user}{place}{base}", most=most, idle_for=idle_for)
    yield server, client
    await client.wire.aclose()
    listening.close()


def says(*pieces: bytes, times: int = 100, close: bool = False) -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(times):
            head = await reader.readuntil(b"\r\n\r\n")
            length = [it for it in head.lower().split(b"\r\n") if it.startswith(b"content-length")]
            if length:
                await reader.readexactly(int(length[0].partition(b":")[2]))
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
        if close:
            writer.close()

    async def until_gone(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            await answer(reader, writer)

    return until_gone


@pytest.mark.parametrize(
    "pieces",
    [
        [PLAIN],
        [PLAIN[index : index + 1] for index in range(len(PLAIN))],
        [b"HTTP/1.1 100 Continue\r\n\r\n", PLAIN],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"],
    ],
    ids=["at once", "byte by byte", "after a hint", "in chunks"],
)
async def test_an_answer_is_read_whole_and_its_connection_used_again(pieces: list[bytes]) -> None:
    async with serving(says(*pieces)) as (server, client):
        for body in (b"", b"x" * 300_000):
            answer = await client.post("/x", content=body)
            assert (answer.status, answer.body) == (200, b"hi")
        assert server.opened == 1


@pytest.mark.parametrize(
    ("method", "body", "user", "base", "head"),
    [
        ("GET", None, "", "", ["GET /x?a=b HTTP/1.1"]),
        ("GET", None, "", "/a%20b/", ["GET /a%20b/x?a=b HTTP/1.1"]),
        (
            "GET",
            None,
            "me:p%40ss@",
            "",
            ["GET /x?a=b HTTP/1.1", "Authorization: Basic bWU6cEBzcw=="],
        ),
        ("POST", None, "", "", ["POST /x?a=b HTTP/1.1", "Content-Length: 0"]),
        ("PUT", b"{}", "", "", ["PUT /x?a=b HTTP/1.1", "Idempotency-Key: k", "Content-Length: 2"]),
    ],
)
async def test_what_is_said_of_a_request(
    method: str, body: bytes | None, user: str, base: str, head: list[str]
) -> None:
    heard: list[str] = []

    async def hears(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.extend((await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n"))
        assert await reader.readexactly(len(body or b"")) == (body or b"")
        writer.write(PLAIN)

    keyed = (("Idempotency-Key", b"k"),) if body else ()
    async with serving(hears, user=user, base=base) as (_, client):
        request = Request(
            method, "/x", lambda it: it, query=(("a", "b"),), body=body, headers=keyed
        )
        answer = await client.wire.ask(request, 5.0)
        assert (answer.headers, answer.body) == ({"content-length": "2"}, b"hi")
        place = f"127.0.0.1:{client.wire._port}"
        ours = [f"Host: {place}", "Accept: */*", "User-Agent: stateous-client"]
        assert sorted(heard) == sorted([*head, *ours, "", ""])


async def test_a_url_that_no_server_takes_is_not_sent() -> None:
    async with serving(says(PLAIN)) as (_, client):
        with pytest.raises(InvalidArgument, match=r"^this cannot be asked of .*: its URL is too"):
            await client.get(f"/{'x' * 70_000}")
        assert (await client.get("/x")).body == b"hi"


async def test_a_connection_that_says_more_than_it_was_asked_is_not_used_again() -> None:
    for more in ([PLAIN + PLAIN], [PLAIN, PLAIN]):
        async with serving(says(*more, times=1), says(PLAIN)) as (server, client):
            await client.get("/x")
            await asyncio.sleep(0.05)
            assert (await client.get("/x")).body == b"hi"
            assert server.opened == 2


async def test_an_answer_without_a_body() -> None:
    async with serving(says(b"HTTP/1.1 204 No Content\r\n\r\n")) as (server, client):
        for _ in range(2):
            assert (await client.get("/x")).status == 204
        assert server.opened == 1


@pytest.mark.parametrize(
    "goodbye",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
        b"HTTP/1.0 200 OK\r\n\r\nhi",
    ],
)
async def test_a_connection_that_is_said_to_close_is_not_used_again(goodbye: bytes) -> None:
    async with serving(says(goodbye, times=1, close=True)) as (server, client):
        for _ in range(2):
            assert (await client.get("/x")).body == b"hi"
        assert server.opened == 2


async def test_a_connection_that_was_closed_meanwhile_is_not_used_again() -> None:
    async with serving(says(PLAIN, times=1, close=True), says(PLAIN)) as (server, client):
        await client.get("/x")
        await asyncio.sleep(0.05)
        assert (await client.get("/x")).body == b"hi"
        assert server.opened == 2


async def test_a_connection_that_was_idle_for_long_is_not_used_again() -> None:
    async with serving(says(PLAIN), idle_for=0.01) as (server, client):
        await client.get("/x")
        await asyncio.sleep(0.02)
        await client.get("/x")
        assert server.opened == 2


async def test_a_body_that_is_refused_before_all_of_it_came() -> None:
    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.1)

    async with serving(refuses) as (_, client):
        assert (await client.post("/x", content=b"x" * 20_000_000)).status == 413


@pytest.mark.parametrize(
    ("pieces", "why"),
    [
        ([], "closed before the answer was complete"),
        ([b"HTTP/1.1 200 OK\r\nContent-Le"], "closed before the answer was complete"),
        ([PLAIN[:-1]], "closed before the answer was complete"),
        ([b"what?\r\n\r\n"], "illegal status line"),
    ],
)
async def test_no_answer_or_half_an_answer_is_a_broken_protocol(
    pieces: list[bytes], why: str
) -> None:
    async with serving(says(*pieces, times=1, close=True)) as (_, client):
        with pytest.raises(httpx.RemoteProtocolError, match=why):
            await client.get("/x")


async def test_who_does_not_answer_in_time_is_cut_off() -> None:
    async with serving(says()) as (server, client):
        with pytest.raises(httpx.ReadTimeout):
            await client.get("/x", timeout=0.05)
        await asyncio.wait_for(server.cut.wait(), 10)


async def test_a_cancelled_request_is_cut_off() -> None:
    async with serving(says(), says(PLAIN)) as (server, client):
        asking = asyncio.create_task(client.get("/x"))
        await server.begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(server.cut.wait(), 10)
        assert (await client.get("/x")).body == b"hi"


async def test_requests_at_once_have_connections_of_their_own_up_to_the_most() -> None:
    async with serving(says(PLAIN), most=3) as (server, client):
        await asyncio.gather(*(client.get("/x") for _ in range(20)))
        assert server.opened <= 3


async def test_who_finds_no_free_connection_in_time_is_told() -> None:
    async with serving(says(), most=1) as (server, client):
        asking = asyncio.create_task(client.get("/x"))
        await server.begun.wait()
        with pytest.raises(httpx.PoolTimeout):
            await client.get("/x", timeout=0.05)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def test_nobody_there() -> None:
    for host in ("127.0.0.1", "localhost"):
        client = Caller(f"http://{host}:1", most=1, idle_for=1)
        with pytest.raises(httpx.ConnectError):
            await client.get("/x")


async def test_an_answer_that_comes_after_the_close_leaves_nothing_open() -> None:
    async with serving(says(PLAIN)) as (server, client):
        asking = asyncio.create_task(client.get("/x"))
        await asyncio.sleep(0)
        await client.wire.aclose()
        assert (await asking).body == b"hi"
        await asyncio.wait_for(server.cut.wait(), 10)
