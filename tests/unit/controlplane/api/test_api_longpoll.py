"""Requests that wait: claims at the desk, reads of tokens and histories."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stateous_controlplane.answers import Answer


async def settle() -> None:
    """Let the other tasks, and the threads of the reads, get on."""
    for _ in range(20):
        await asyncio.sleep(0.001)


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not done():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def followed(desk: Any) -> Any:
    await until(lambda: bool(desk.followers))
    await settle()
    return desk.followers[0]


@pytest.mark.parametrize(
    ("until", "change", "answered"),
    [
        ("ended", {"status": "completed"}, True),
        ("ended", {"status": "failed"}, True),
        ("ended", {"status": "cancelled"}, True),
        ("ended", {"status": "paused"}, False),
        ("ended", {"state": "testing", "at": 5}, False),
        ("moved", {"state": "testing", "at": 5}, True),
        ("moved", {"state": "coding", "at": 5}, True),
        ("moved", {"status": "cancelled"}, True),
        ("moved", {"status": "paused"}, False),
    ],
)
async def test_a_read_waits_until_the_token_has(
    client: Any,
    desk: Any,
    reads: Any,
    make_view: Callable[..., Any],
    until: str,
    change: Any,
    answered: bool,
) -> None:
    asking = asyncio.create_task(client.get(f"/tokens/T-1?wait=60&until={until}"))
    follower = await followed(desk)
    follower.news.set()
    await settle()
    assert not asking.done()
    reads.views["T-1"] = make_view(**change)
    follower.news.set()
    await settle()
    assert asking.done() is answered
    if not answered:
        follower.over = True
        follower.news.set()
    token = (await asking).json()
    assert token["status"] == change.get("status", "active")
    assert desk.followers == []


@pytest.mark.parametrize("until", ["ended", "moved"])
async def test_an_ended_token_is_answered_at_once(
    client: Any, reads: Any, make_view: Callable[..., Any], until: str
) -> None:
    reads.views["T-1"] = make_view(status="failed")
    async with asyncio.timeout(5):
        assert (await client.get(f"/tokens/T-1?wait=60&until={until}")).status_code == 200
        assert (await client.get(f"/tokens/NO?wait=60&until={until}")).status_code == 404


async def test_a_history_waits_for_an_entry(
    client: Any, desk: Any, reads: Any, make_entry: Callable[..., Any]
) -> None:
    reads.entries["T-1"] = [make_entry(1)]
    asking = asyncio.create_task(client.get("/tokens/T-1/history?after=1&wait=60"))
    follower = await followed(desk)
    reads.entries["T-1"].append(make_entry(2))
    follower.news.set()
    assert [entry["seq"] for entry in (await asking).json()] == [2]
    async with asyncio.timeout(5):
        at_once = await client.get("/tokens/T-1/history?wait=60")
        assert len(at_once.json()) == 2
        assert (await client.get("/tokens/NO/history?wait=60")).status_code == 404


@pytest.mark.parametrize("path", ["/tokens/T-1?wait=60", "/tokens/T-1/history?wait=60"])
async def test_a_stop_ends_the_wait_as_if_the_time_were_over(
    client: Any, desk: Any, path: str
) -> None:
    asking = asyncio.create_task(client.get(path))
    follower = await followed(desk)
    follower.over = True
    follower.news.set()
    assert (await asking).status_code == 200


@pytest.mark.parametrize("path", ["/tokens/T-1?wait=1", "/tokens/T-1/history?wait=1"])
async def test_the_time_is_over(client: Any, desk: Any, path: str) -> None:
    began = asyncio.get_running_loop().time()
    assert (await client.get(path)).status_code == 200
    assert 0.9 < asyncio.get_running_loop().time() - began < 3
    assert desk.followers == []


async def test_a_claim_that_waits_is_withdrawn_when_its_caller_leaves(
    desk: Any, serve: Callable[..., Any]
) -> None:
    begun = asyncio.Event()

    async def for_ever(request: object) -> Answer:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    desk.answering = for_ever
    body = b'{"supervisor":"s","states":["x"],"wait":30}'
    async with serve() as wire:
        _, writer = await wire.connect()
        writer.write(
            b"POST /tasks/claim HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body)
        )
        await begun.wait()
        assert desk.withdrawn == 0
        writer.close()
        await until(lambda: desk.withdrawn == 1)


async def test_a_read_that_waits_ends_when_its_caller_leaves(
    desk: Any, serve: Callable[..., Any]
) -> None:
    async with serve() as wire:
        _, writer = await wire.connect()
        writer.write(b"GET /tokens/T-1?wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await followed(desk)
        writer.close()
        await until(lambda: not desk.followers)


async def test_a_claim_that_waits_is_answered_by_the_desk(client: Any, desk: Any) -> None:
    granted = asyncio.get_running_loop().create_future()

    async def later(request: object) -> Answer:
        return await granted

    desk.answering = later
    asking = asyncio.create_task(
        client.post("/tasks/claim", json={"supervisor": "s", "states": ["x"], "wait": 30})
    )
    await settle()
    assert not asking.done()
    granted.set_result(Answer(204, None))
    assert (await asking).status_code == 204
