"""The desk: an event loop that asks, a thread that answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from stateous.json import read_json
from stateous_controlplane.answers import Answer
from stateous_controlplane.engine.commands import Fire, Start
from stateous_controlplane.store.port import Changes, HoldLost
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.desk import Broken, WriterDesk
from stateous_controlplane.writer.sequencer import Terms
from tests.support.writer import LEASE, Writer, claim


class Desk:
    """A desk over a database in memory; ``broken`` is what it said of its end."""

    def __init__(self) -> None:
        served = Writer()
        self.store = served.store
        self.broken: list[Broken] = []
        self.desk = WriterDesk(
            served.store,
            Catalog(served.served),
            Terms(served.name, LEASE),
            self.broken.append,
        )

    async def ask(self, request: Any) -> Answer:
        return await asyncio.wait_for(self.desk.ask(request), 20)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    made = Desk()
    yield made
    made.desk.end_waits()
    await made.desk.end()


async def until_parked(desk: Desk) -> None:
    """Until the claims that were asked before have been looked at."""
    await desk.ask(Fire("nobody", "x"))


def give_way_to_the_writer() -> None:
    """Its thread does what it was woken for; the event loop stands still."""
    time.sleep(0.002)


async def test_many_at_once_are_each_answered_with_their_own(desk: Desk) -> None:
    answers = await asyncio.gather(*(desk.ask(Start(f"T-{number}")) for number in range(200)))
    for number, answer in enumerate(answers):
        assert answer.status == 201
        assert read_json(answer.body)["token"] == f"T-{number}"  # type: ignore[arg-type, call-overload, index]
    assert desk.desk.serving


async def test_what_comes_turn_by_turn_shares_a_commit(desk: Desk) -> None:
    asking = []
    for number in range(5):
        asking.append(asyncio.ensure_future(desk.desk.ask(Start(f"T-{number}"))))
        await asyncio.sleep(0)
        give_way_to_the_writer()
    assert [answer.status for answer in await asyncio.gather(*asking)] == [201] * 5
    assert len(desk.store.commits) == 1


async def test_a_waiting_claim_is_answered_when_a_task_is_queued(desk: Desk) -> None:
    waiting = asyncio.create_task(desk.ask(claim(wait=30)))
    await until_parked(desk)
    assert not waiting.done()
    await desk.ask(Start("A"))
    assert (await waiting).status == 200


async def test_a_caller_that_goes_away_gets_nothing(desk: Desk) -> None:
    waiting = asyncio.create_task(desk.ask(claim(wait=30)))
    await until_parked(desk)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await desk.ask(Start("A"))
    assert (await desk.ask(claim())).status == 200


async def test_when_the_waits_end_a_claim_is_answered_and_a_new_one_does_not_wait(
    desk: Desk,
) -> None:
    waiting = asyncio.create_task(desk.ask(claim(wait=30)))
    await until_parked(desk)
    desk.desk.end_waits()
    assert (await asyncio.wait_for(waiting, 20)).status == 204
    assert (await desk.ask(claim(wait=30))).status == 204
    assert (await desk.ask(Start("A"))).status == 201


async def test_a_follower_learns_of_each_commit_of_its_token(desk: Desk) -> None:
    await desk.ask(Start("A"))
    with desk.desk.follow("A") as follower:
        changed = asyncio.create_task(follower.changed())
        await desk.ask(Start("B"))
        assert not changed.done()
        await desk.ask(Fire("A", "nosuch"))
        await asyncio.wait_for(changed, 20)
        assert not follower.over
        changed = asyncio.create_task(follower.changed())
        await asyncio.sleep(0)
        desk.desk.end_waits()
        await asyncio.wait_for(changed, 20)
        assert follower.over


async def test_a_change_between_two_looks_is_not_missed(desk: Desk) -> None:
    await desk.ask(Start("A"))
    with desk.desk.follow("A") as follower:
        await desk.ask(Fire("A", "nosuch"))
        await asyncio.wait_for(follower.changed(), 20)


async def test_the_end_answers_what_was_handed_in() -> None:
    made = Desk()
    asked = [asyncio.create_task(made.desk.ask(Start(f"T-{number}"))) for number in range(100)]
    await asyncio.sleep(0)
    await made.desk.end()
    assert {answer.status for answer in await asyncio.gather(*asked)} == {201}
    assert (await made.ask(Start("late"))).status == 503
    assert not made.broken


async def test_a_lost_hold_is_told_once_and_everything_is_refused(desk: Desk) -> None:
    waiting = asyncio.create_task(desk.ask(claim(wait=30)))
    await until_parked(desk)
    desk.store.faults.begin = HoldLost("another's name")
    assert (await desk.ask(Start("A"))).status == 503
    assert (await asyncio.wait_for(waiting, 20)).status == 503
    assert (await desk.ask(Start("B"))).status == 503
    assert desk.broken == [Broken.HOLD_LOST]
    assert not desk.desk.serving


async def test_a_writer_that_breaks_leaves_nobody_waiting(desk: Desk) -> None:
    waiting = asyncio.create_task(desk.ask(claim(wait=30)))
    await until_parked(desk)

    def spoil(changes: Changes) -> None:
        changes.new_tokens = None  # type: ignore[assignment]

    desk.store.faults.commit = spoil
    assert (await desk.ask(Start("A"))).status == 500
    assert (await asyncio.wait_for(waiting, 20)).status == 500
    assert desk.broken == [Broken.DEFECT]
    assert not desk.desk.serving
    assert (await desk.ask(Start("B"))).status == 500
