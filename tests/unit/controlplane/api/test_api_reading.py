"""The threads that read: the event loop never waits, and they end with what they serve."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from stateous_controlplane.api.reading import Reading
from stateous_controlplane.store.port import DatabaseBusy, HoldLost


def readers() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("stateous-reads")}


async def test_a_read_that_blocks_keeps_nobody_waiting(desk: Any, reads: Any) -> None:
    reading = Reading(desk, reads, threads=2)
    go = threading.Event()
    blocked = asyncio.create_task(reading.run(lambda _: go.wait(5)))
    assert await reading.run(lambda given: given) is reads
    assert not blocked.done()
    go.set()
    assert await blocked is True


async def test_an_error_comes_back(desk: Any, reads: Any) -> None:
    def busy(_: object) -> None:
        raise DatabaseBusy("the database is locked")

    with pytest.raises(DatabaseBusy, match="locked"):
        await Reading(desk, reads).run(busy)


async def test_nothing_is_read_without_the_hold(desk: Any, reads: Any) -> None:
    desk.serving = False
    seen: list[object] = []
    with pytest.raises(HoldLost):
        await Reading(desk, reads).run(seen.append)
    assert seen == []


async def test_what_nobody_waits_for_any_more_is_not_read(desk: Any, reads: Any) -> None:
    reading = Reading(desk, reads, threads=1)
    go, seen = threading.Event(), []
    first = asyncio.create_task(reading.run(lambda _: go.wait(5)))
    second = asyncio.create_task(reading.run(lambda _: seen.append(2)))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.sleep(0)
    go.set()
    await first
    await reading.run(lambda _: seen.append(3))
    assert seen == [3]


async def test_the_threads_end_with_what_they_serve(desk: Any, reads: Any) -> None:
    before = readers()
    reading = Reading(desk, reads, threads=3)
    assert readers() == before
    await reading.run(lambda _: None)
    started = readers() - before
    assert len(started) == 3
    del reading
    gc.collect()
    for thread in started:
        thread.join(5)
        assert not thread.is_alive()
