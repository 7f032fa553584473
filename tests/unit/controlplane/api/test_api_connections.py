"""Bytes on real connections: limits, malformed requests, kept-alive and pipelined ones (1.1)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Callable
from typing import Any

import pytest

from stateous_controlplane.answers import Answer

Serve = Callable[..., Any]

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
MIB = 1_048_576


def post(path: str, body: bytes, *more: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *more]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answers(raw: bytes) -> list[tuple[int, dict[str, str], bytes]]:
    """Every answer that ``raw`` holds."""
    found = []
    while raw:
        head, _, raw = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        length = int(headers.get("content-length", 0))
        found.append((int(first.split(" ")[1]), headers, raw[:length]))
        raw = raw[length:]
    return found


def codes(raw: bytes) -> list[tuple[int, str | None]]:
    return [
        (status, json.loads(body).get("code") if body else None) for status, _, body in answers(raw)
    ]


async def test_kept_alive_requests_follow_one_another(serve: Serve, desk: Any) -> None:
    async with serve() as wire:
        reader, writer = await wire.connect()
        for number in range(5):
            writer.write(post(f"/tokens/T/events/e{number}", b"{}"))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert b"connection" not in head
            [(_, headers, _)] = answers(head)
            await reader.readexactly(int(headers["content-length"]))
        writer.close()
    assert [command.event for command in desk.asked] == ["e0", "e1", "e2", "e3", "e4"]


async def test_pipelined_requests_are_answered_in_order(serve: Serve, desk: Any) -> None:
    arrived, gates = asyncio.Event(), [asyncio.Event() for _ in range(3)]
    for gate in gates[1:]:
        gate.set()

    async def slow_first(command: Any) -> Answer:
        number = int(command.event)
        arrived.set()
        await gates[number].wait()
        return Answer(200, b'{"n":%d}' % number)

    desk.answering = slow_first
    requests = b"".join(post(f"/tokens/T/events/{n}", b"{}") for n in range(3)) + LAST
    async with serve() as wire:
        saying = asyncio.create_task(wire.say(requests))
        await arrived.wait()
        gates[0].set()
        got = answers(await saying)
    assert [body for _, _, body in got[:3]] == [b'{"n":0}', b'{"n":1}', b'{"n":2}']
    assert got[3][0] == 200
    assert [command.event for command in desk.asked] == ["0", "1", "2"]


async def test_bytes_may_come_one_by_one(serve: Serve, desk: Any) -> None:
    request = post("/tokens/T/events/e", b'{"payload": {}}', "Connection: close")
    async with serve() as wire:
        raw = await wire.say(*(bytes([byte]) for byte in request), pause=0.0001)
    assert codes(raw) == [(200, None)]


@pytest.mark.parametrize(
    "sent",
    [
        b"G",
        b"GET /health HTTP/1.1\r\nHost: local",
        post("/tokens", b"{}")[:-1],
        b"POST /tokens HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{",
        # What does not come after an answered request counts from its own first byte.
        HEALTH + b"GET /hea",
    ],
)
async def test_a_request_that_does_not_arrive_is_cut(serve: Serve, desk: Any, sent: bytes) -> None:
    async with serve(request=0.05, linger=0.05) as wire:
        raw = await wire.say(sent)
        await wire.until(0)
    *_, last = codes(raw)
    assert last == (408, "request_timeout")
    assert answers(raw)[-1][1]["connection"] == "close"
    assert desk.asked == []


async def test_a_slow_trickle_does_not_help(serve: Serve) -> None:
    async with serve(request=0.05, linger=0.05) as wire:
        began = asyncio.get_running_loop().time()
        with contextlib.suppress(ConnectionError):
            await wire.say(b"GET /health HTTP/1.1\r\n", *[b"A: b\r\n"] * 50, pause=0.01)
        await wire.until(0)
        assert asyncio.get_running_loop().time() - began < 3


async def test_the_time_of_a_pipelined_request_begins_after_the_answer_before_it(
    serve: Serve, desk: Any
) -> None:
    async def slow(command: object) -> Answer:
        await asyncio.sleep(0.15)
        return Answer(200, b"{}")

    desk.answering = slow
    async with serve(request=0.1, idle=0.1, linger=0.05) as wire:
        reader, writer = await wire.connect()
        writer.write(post("/tokens/T/events/e", b"{}") + LAST[:20])
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await asyncio.sleep(0.03)
        writer.write(LAST[20:])
        raw = await asyncio.wait_for(reader.read(-1), 5)
        writer.close()
    assert raw.startswith(b"{}HTTP/1.1 200 ")


@pytest.mark.parametrize("sent", [b"", HEALTH, b"\r\n\r\n", HEALTH + b"\r\n"])
async def test_an_idle_connection_is_closed_without_a_word(serve: Serve, sent: bytes) -> None:
    async with serve(idle=0.05) as wire:
        raw = await wire.say(sent)
    assert len(answers(raw)) == (1 if b"GET" in sent else 0)


async def test_a_long_answer_is_not_idle(serve: Serve, desk: Any) -> None:
    async def slow(command: object) -> Answer:
        await asyncio.sleep(0.2)
        return Answer(200, b"{}")

    desk.answering = slow
    async with serve(idle=0.05, request=0.05) as wire:
        raw = await wire.say(post("/tokens/T/events/e", b"{}"))
    assert codes(raw) == [(200, None)]


async def test_one_connection_too_many(serve: Serve) -> None:
    async with serve(connections=2, linger=0.05) as wire:
        kept = [await wire.connect() for _ in range(2)]
        await wire.until(2)
        for sent in (HEALTH, b"", post("/tokens", b"x" * MIB)):
            raw = await wire.say(sent)
            assert codes(raw) == [(503, "too_many_connections")]
            assert answers(raw)[0][1]["connection"] == "close"
        assert wire.server.connections == 2
        kept.pop()[1].close()
        await wire.until(1)
        assert codes(await wire.say(LAST)) == [(200, None)]
        kept.pop()[1].close()


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"F(O /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health\r\n\r\n",
        b"GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /he alth HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nA: a\x01b\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\xff\r\n\r\n",
        b"POST /tokens HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST /tokens HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /tokens HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /tokens HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"POST /tokens HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 600_000 + b"\r\n\r\n",
    ],
)
async def test_malformed_http_is_400_and_closes(serve: Serve, desk: Any, sent: bytes) -> None:
    async with serve(linger=0.05) as wire:
        raw = await wire.say(sent)
        await wire.until(0)
    assert codes(raw) == [(400, "bad_request")]
    assert answers(raw)[0][1]["connection"] == "close"
    assert desk.asked == []


async def test_what_is_malformed_waits_for_the_answer_before_it(serve: Serve, desk: Any) -> None:
    async def slow(command: object) -> Answer:
        await asyncio.sleep(0.03)
        return Answer(200, b"{}")

    desk.answering = slow
    async with serve(linger=0.05) as wire:
        raw = await wire.say(post("/tokens/T/events/e", b"{}"), b"nonsense\r\n\r\n", pause=0.005)
    assert codes(raw) == [(200, None)]
    assert answers(raw)[0][1]["connection"] == "close"


@pytest.mark.parametrize(
    ("head", "status", "code"),
    [
        (b"GET /health HTTP/1.0", 200, None),
        (b"GET /health HTTP/1.0\r\nConnection: keep-alive", 200, None),
        (b"GET /health HTTP/1.0\r\nHost: evil.example", 421, "wrong_host"),
        (b"GET http://localhost/health?x=1 HTTP/1.1\r\nConnection: close", 200, None),
        (b"GET /health?x#y HTTP/1.1\r\nConnection: close", 200, None),
        (b"GET /%68ealth HTTP/1.1\r\nConnection: close", 200, None),
        (b"GET /tokens/T-1?wait=0 HTTP/1.1\r\nConnection: close", 200, None),
        (b"GET /tokens/%FF HTTP/1.1\r\nConnection: close", 404, "not_found"),
        (b"GET /tokens/a%00b HTTP/1.1\r\nConnection: close", 404, "not_found"),
        (b"GET /tokens/a%2Fb HTTP/1.1\r\nConnection: close", 404, "not_found"),
        (b"GET //health HTTP/1.1\r\nConnection: close", 404, "not_found"),
        (b"OPTIONS * HTTP/1.1\r\nConnection: close", 404, "not_found"),
        (b"OPTIONS /health HTTP/1.1\r\nConnection: close", 405, "method_not_allowed"),
        (b"DELETE /tokens/T-1 HTTP/1.1\r\nConnection: close", 405, "method_not_allowed"),
        (b"FOO /tokens/T-1 HTTP/1.1\r\nConnection: close", 405, "method_not_allowed"),
        (b"get /health HTTP/1.0", 405, "method_not_allowed"),
        (b"FOO /nope HTTP/1.1\r\nConnection: close", 404, "not_found"),
        (b"FOO /health HTTP/1.1\r\nHost: evil\r\nConnection: close", 421, "wrong_host"),
        (b"FOO /health HTTP/1.1\r\nOrigin: null\r\nConnection: close", 403, "cross_site"),
        (
            b"FOO /health HTTP/1.1\r\nUpgrade: x\r\nConnection: upgrade, close",
            405,
            "method_not_allowed",
        ),
        (b"F(O /health HTTP/1.1\r\nConnection: close", 400, "bad_request"),
        (b"FOO /health HTTP/3.1\r\nConnection: close", 400, "bad_request"),
        (
            b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close",
            200,
            None,
        ),
        (
            b"GET /health HTTP/1.1\r\nHost: evil\r\nHost: localhost\r\nConnection: close",
            421,
            "wrong_host",
        ),
    ],
)
async def test_heads(serve: Serve, head: bytes, status: int, code: str | None) -> None:
    async with serve() as wire:
        raw = await wire.say(head + b"\r\n\r\n")
    assert codes(raw) == [(status, code)]


async def test_a_method_that_nobody_knows_leaves_the_connection_open(serve: Serve) -> None:
    unknown = post("/tokens", b'{"token":"T"}').replace(b"POST", b"FOO", 1)
    async with serve() as wire:
        raw = await wire.say(unknown, HEALTH, unknown, LAST, pause=0.01)
    assert codes(raw) == [
        (405, "method_not_allowed"),
        (200, None),
        (405, "method_not_allowed"),
        (200, None),
    ]
    assert answers(raw)[0][1]["allow"] == "GET, HEAD, POST"


async def test_a_body_that_looks_like_a_request_is_none(serve: Serve, desk: Any) -> None:
    head = post("/tokens/T/events/e", b"x" * 40).partition(b"x")[0]
    async with serve() as wire:
        raw = await wire.say(head, b"FOO /health HTTP/1.1\r\n\r\n" + b" " * 40, pause=0.01)
    assert codes(raw) == [(400, "bad_request")]
    assert desk.asked == []


async def test_head_has_a_length_and_no_body(serve: Serve) -> None:
    async with serve() as wire:
        raw = await wire.say(HEALTH.replace(b"GET", b"HEAD") + LAST)
    head, _, rest = raw.partition(b"\r\n\r\n")
    assert b"content-length: " in head
    assert rest.startswith(b"HTTP/1.1 200 ")


async def test_204_has_no_content_headers(serve: Serve) -> None:
    request = post("/tasks/claim", b'{"supervisor":"s","states":[]}')
    async with serve() as wire:
        raw = await wire.say(request + LAST)
    (status, headers, body), last = answers(raw)
    assert (status, headers, body) == (204, {"stateous-lease": "120"}, b"")
    assert last[0] == 200


@pytest.mark.parametrize(
    ("length", "chunked"), [(MIB + 1, False), (MIB + 1, True), (8 * MIB, False), (8 * MIB, True)]
)
async def test_a_caller_that_sends_too_much_still_reads_why(
    serve: Serve, length: int, chunked: bool
) -> None:
    body = b"x" * length
    request = post("/tokens", body)
    if chunked:
        request = (
            b"POST /tokens HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"".join(
                b"10000\r\n%s\r\n" % body[start : start + 65_536].ljust(65_536, b"x")
                for start in range(0, length, 65_536)
            )
            + b"0\r\n\r\n"
        )
    request = request.replace(b"Host:", b"Connection: close\r\nHost:", 1)
    async with serve() as wire:
        raw = await wire.say(request)
    assert codes(raw) == [(413, "bad_request")]
    assert answers(raw)[0][1]["connection"] == "close"


async def test_a_chunked_report_of_two_mebibytes(serve: Serve, desk: Any) -> None:
    body = b'{"kind":"waiting","pad":"%s"}' % (b"x" * (2 * MIB - 27))
    assert len(body) == 2 * MIB
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(part), part)
        for part in (body[start : start + 50_000] for start in range(0, len(body), 50_000))
    )
    head = b"POST /tasks/1/report HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    trailer = b"0\r\nContent-Type: text/plain\r\n\r\n"
    async with serve() as wire:
        raw = await wire.say(head + b"\r\n" + chunks + trailer + LAST)
    assert codes(raw) == [(200, None), (200, None)]
    assert len(desk.asked) == 1


async def test_a_body_that_is_announced_is_asked_for(serve: Serve, desk: Any) -> None:
    head, body = b"", b'{"token":"T"}'
    async with serve() as wire:
        reader, writer = await wire.connect()
        head = post("/tokens", body, "Expect: 100-continue", "Connection: close")[: -len(body)]
        writer.write(head)
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(body)
        assert codes(await reader.read(-1)) == [(200, None)]
        writer.close()
        # One that is refused is not.
        big = b"POST /tokens HTTP/1.1\r\nContent-Length: 9999999\r\nExpect: 100-continue\r\n\r\n"
        assert codes(await wire.say(big)) == [(413, "bad_request")]


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
async def test_no_other_protocol_is_spoken(serve: Serve, desk: Any, protocol: str) -> None:
    upgrade = ("Connection: Upgrade", f"Upgrade: {protocol}")
    async with serve() as wire:
        raw = await wire.say(
            HEALTH[:-2]
            + "\r\n".join((*upgrade, "", "")).encode()
            + post("/tokens/T/events/e", b'{"payload":{"a":1}}', *upgrade)
            + LAST
        )
    assert codes(raw) == [(200, None), (200, None), (200, None)]
    assert desk.asked[0].payload.text == '{"a":1}'


async def test_a_caller_that_closes_its_half_still_gets_its_answer(serve: Serve, desk: Any) -> None:
    async def slow(command: object) -> Answer:
        await asyncio.sleep(0.03)
        return Answer(200, b"{}")

    desk.answering = slow
    async with serve() as wire:
        reader, writer = await wire.connect()
        writer.write(post("/tokens/T/events/e", b"{}"))
        writer.write_eof()
        assert codes(await asyncio.wait_for(reader.read(-1), 5)) == [(200, None)]
        writer.close()
        # Half a request is none.
        reader, writer = await wire.connect()
        writer.write(post("/tokens/T/events/e", b"{}")[:-1])
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(-1), 5) == b""
        writer.close()
    assert len(desk.asked) == 1


async def test_nagle_waits_for_nobody(serve: Serve) -> None:
    async with serve() as wire:
        _, writer = await wire.connect()
        await wire.until(1)
        [connection] = wire.server._uvicorn.server_state.connections
        ours = connection.transport.get_extra_info("socket")
        copy = socket.socket(fileno=os.dup(ours.fileno()))
        with copy:
            assert copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        writer.close()


async def test_a_stop_answers_what_is_in_progress(serve: Serve, desk: Any) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(command: object) -> Answer:
        asked.set()
        await go.wait()
        return Answer(200, b"{}")

    desk.answering = slow
    async with serve() as wire:
        _, idle = await wire.connect()
        saying = asyncio.create_task(wire.say(post("/tokens/T/events/e", b"{}")))
        await asked.wait()
        stopping = asyncio.create_task(wire.server.stop())
        await asyncio.sleep(0.01)
        with pytest.raises(ConnectionRefusedError):
            await wire.connect()
        assert not stopping.done()
        go.set()
        raw = await saying
        async with asyncio.timeout(5):
            await stopping
        idle.close()
    assert codes(raw) == [(200, None)]
    assert answers(raw)[0][1]["connection"] == "close"


async def test_a_stop_cuts_what_takes_too_long(serve: Serve, desk: Any) -> None:
    asked = asyncio.Event()

    async def for_ever(command: object) -> Answer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    desk.answering = for_ever
    async with serve() as wire:
        saying = asyncio.create_task(wire.say(post("/tokens/T/events/e", b"{}")))
        await asked.wait()
        async with asyncio.timeout(5):
            await wire.server.stop(grace=0.05)
        with contextlib.suppress(ConnectionError):
            assert await saying == b""
        assert wire.server.connections == 0
    assert desk.withdrawn == 1
