"""The short way of requests that arrive whole, beside the long way of those that do not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from stateous_controlplane.answers import Answer
from stateous_controlplane.api.app import make_app
from stateous_controlplane.api.ports import ApiSettings

Serve = Callable[..., Any]


def post(path: str, body: bytes = b"{}", *more: str, method: str = "POST") -> bytes:
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close"]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", *more, "", ""]).encode() + body


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


CLAIM = b'{"supervisor":"box","states":["s"]}'
WAITING = b'{"supervisor":"box","states":["s"],"wait":30}'
CHUNKED = (
    b"POST /tokens/T-1/events/e HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
)


@pytest.mark.parametrize(
    ("request_bytes", "handed_in"),
    [
        (post("/tokens", b'{"token":"T-9"}'), True),
        (post("/tokens", b'{"token":"T-9","context":{"\xc3\xa9":[1.0]}}'), True),
        (post("/tokens/T-1/events/a%20b", b""), True),
        (post("/tokens/T-1/events/e?x=1", b"", "Idempotency-Key: k"), True),
        (post("/tokens/T-1/pause"), True),
        (post("/tasks/claim", CLAIM), True),
        (post("/tasks/claim", WAITING), True),
        (post("/tasks/heartbeat", b'{"supervisor":"box","tasks":[1]}'), True),
        (post("/tasks/7/memory", b'{"attempt":1}', method="PUT"), False),
        (CHUNKED, True),
        (post("/tokens", b"[1]"), False),
        (post("/tokens", b'{"token":'), False),
        (post("/tokens", b'{"a":1,"a":2}'), False),
        (post("/tokens", b"{}", "Content-Type: text/plain"), False),
        (post("/tokens", b'{"context":"' + b"x" * 1_048_577 + b'"}'), False),
        (post("/tokens", b"{}", "Origin: http://elsewhere.example"), False),
        (post("/nothing"), False),
        (post("/tokens/T-1"), False),
        (post("/tasks/x/report"), False),
        (b"POST /tokens/T-1/events/e HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}", True),
    ],
    ids=lambda value: value[:30].decode() if isinstance(value, bytes) else str(value),
)
async def test_both_ways_give_the_same_bytes(
    serve: Serve, desk: Any, request_bytes: bytes, handed_in: bool
) -> None:
    async with serve() as wire:
        directly = await wire.say(request_bytes)
    assert len(desk.handed_in) == handed_in
    async with serve(begin=lambda *request: None) as wire:
        by_a_task = await wire.say(request_bytes)
    assert len(desk.handed_in) == handed_in
    assert directly.startswith(b"HTTP/1.1 ")
    assert directly == by_a_task
    asked = desk.asked
    assert asked[: len(asked) // 2] == asked[len(asked) // 2 :]


async def test_what_comes_behind_it_waits_for_its_answer(serve: Serve, desk: Any) -> None:
    gate = asyncio.Event()

    async def first_waits(request: Any) -> Answer:
        if request.event == "1":
            await gate.wait()
        return Answer(200, f'"{request.event}"'.encode())

    desk.answering = first_waits
    requests = [post(f"/tokens/T/events/{number}") for number in "123"]
    kept = b"".join(each.replace(b"Connection: close\r\n", b"") for each in requests[:2])
    async with serve() as wire:
        saying = asyncio.ensure_future(wire.say(kept + requests[2]))
        await asyncio.sleep(0.02)
        assert [each.event for each in desk.asked] == ["1"]
        gate.set()
        raw = await saying
    assert [raw.index(f'"{number}"'.encode()) for number in "123"] == sorted(
        raw.index(f'"{number}"'.encode()) for number in "123"
    )
    assert [each.event for each in desk.asked] == ["1", "2", "3"]


@pytest.mark.parametrize("half", [True, False])
async def test_a_claim_that_waits_is_withdrawn_when_its_caller_leaves(
    serve: Serve, desk: Any, half: bool
) -> None:
    asked = asyncio.Event()

    async def nothing_comes(request: object) -> Answer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    desk.answering = nothing_comes
    async with serve() as wire:
        reader, writer = await wire.connect()
        writer.write(post("/tasks/claim", WAITING))
        await asked.wait()
        if half:
            writer.write_eof()
            assert await asyncio.wait_for(reader.read(), 5) == b""
        else:
            writer.transport.abort()
        await wire.until(0)
        await asyncio.sleep(0)
        assert desk.withdrawn == 1
        await closed(writer)


async def test_whatever_else_is_asked_is_done_although_its_caller_has_left(
    serve: Serve, desk: Any
) -> None:
    asked, gate = asyncio.Event(), asyncio.Event()
    done: list[object] = []

    async def slow(request: object) -> Answer:
        asked.set()
        await gate.wait()
        done.append(request)
        return Answer(200, b"{}")

    desk.answering = slow
    async with serve() as wire:
        _, writer = await wire.connect()
        writer.write(post("/tokens/T-1/events/e"))
        await asked.wait()
        writer.transport.abort()
        await closed(writer)
        gate.set()
        await asyncio.gather(*desk.handed_in.values())
        await wire.until(0)
    assert done == desk.asked
    assert desk.withdrawn == 0


async def test_a_defect_on_the_short_way_leads_to_the_long_way(serve: Serve, desk: Any) -> None:
    defects = 0

    def begin(*request: object) -> None:
        nonlocal defects
        defects += 1
        raise RuntimeError("a defect")

    async with serve(begin=begin) as wire:
        for token in ("A", "B"):
            raw = await wire.say(post("/tokens", f'{{"token":"{token}"}}'.encode()))
            assert raw.startswith(b"HTTP/1.1 200 ")
    assert defects == 2
    assert len(desk.asked) == 2
    assert not desk.handed_in


async def test_an_access_log_is_kept_on_the_long_way(
    desk: Any, reads: Any, caplog: pytest.LogCaptureFixture
) -> None:
    api = make_app(desk, reads, None, ApiSettings(access_log=True))
    headers = {b"host": b"localhost"}
    assert api.front.begin("POST", b"/tokens", headers, b"{}") is None
    plain = make_app(desk, reads, None, ApiSettings())
    assert plain.front.begin("POST", b"/tokens", headers, b"{}") is not None
