"""Time in a rehearsal: it passes when the test says so, and what is due happens at its own time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stateous import END, START, Context, Workflow
from stateous_cli.testing import Rehearsal, RehearsalError
from stateous_client import EventNotAllowed, TaskNotHeld, TokenNotActive, TokenNotFound


def asking(*, timeout: str | None = "6h", retries: int = 1) -> Workflow:
    flow = Workflow("asking")
    asked = flow.state("asked", timeout=timeout, retries=retries)
    late = flow.state("late")
    answered = flow.event("answered")
    flow.transition(START, asked)
    flow.transition(asked, END, on=answered)
    if timeout is not None:
        flow.transition(asked, late, on="timeout")
    flow.transition(asked, late, on="error")
    flow.transition(late, END, on=answered)
    return flow


@pytest.fixture
def play() -> Iterator[Rehearsal]:
    with Rehearsal(asking()) as play:
        yield play


def at(token: Any, kind: str) -> list[str]:
    return [entry["at"][:19] for entry in token.history() if entry["kind"] == kind]


def test_a_timeout_comes_when_its_time_is_over_and_not_before(play: Rehearsal) -> None:
    question = play.start("Q-1")
    play.advance("5h")
    assert question.state == "asked"
    play.advance("1h")
    assert question.state == "late"
    assert at(question, "timer_fired") == ["2027-03-01T18:00:00"]


def test_what_is_due_on_the_way_happens_at_its_own_time(play: Rehearsal) -> None:
    seen: list[datetime] = []
    play.routine("late", lambda ctx: seen.append(play.now))
    first = play.start("Q-1")
    play.advance(timedelta(hours=1))
    play.start("Q-2")
    play.advance("30d")
    assert [f"{each:%d %H:%M}" for each in seen] == ["01 18:00", "01 19:00"]
    assert f"{play.now:%Y-%m-%d %H:%M}" == "2027-03-31 13:00"
    assert first.state == "late"


def test_the_clock_begins_when_the_test_says_so() -> None:
    with Rehearsal(asking(), at=datetime(2030, 1, 1)) as play:
        assert play.now.replace(microsecond=0) == datetime(2030, 1, 1, tzinfo=UTC)
        assert at(play.start("Q-1"), "started") == ["2030-01-01T00:00:00"]


@pytest.mark.parametrize("wrong", ["6 h", "0s", timedelta(seconds=-1)])
def test_time_goes_forward(play: Rehearsal, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"is not a duration|does not go back"):
        play.advance(wrong)


def test_a_sleeping_routine_sleeps_by_the_fake_clock_and_keeps_its_lease(play: Rehearsal) -> None:
    async def ask(ctx: Context) -> str:
        ctx.note("asleep")
        await asyncio.sleep(2 * 3600)
        ctx.note("awake")
        return "answered"

    play.routine("asked", ask)
    question = play.start("Q-1")
    play.run()
    assert question.notes == ["asleep"]
    assert question.task is not None
    assert question.task["status"] == "claimed"
    play.advance("119m")
    assert question.notes == ["asleep"]
    play.advance("1m")
    assert question.status == "completed"
    assert at(question, "completed") == ["2027-03-01T14:00:00"]


def test_a_routine_is_cancelled_when_its_token_has_moved(play: Rehearsal) -> None:
    ended: list[str] = []

    async def ask(ctx: Context) -> str:
        try:
            await asyncio.sleep(24 * 3600)
        finally:
            ended.append(f"{play.now:%H:%M}")
        return "answered"

    play.routine("asked", ask)
    question = play.start("Q-1")
    play.advance("1d")
    assert ended == ["18:00"]
    assert question.path == ["asked", "late"]


def test_routines_of_several_tokens_run_side_by_side(play: Rehearsal) -> None:
    order: list[str] = []

    async def ask(ctx: Context) -> str:
        for step in range(2):
            order.append(f"{ctx.token}.{step}")
            await asyncio.sleep(60)
        return "answered"

    play.routine("asked", ask)
    for token in ("Q-1", "Q-2"):
        play.start(token)
    play.advance("2m")
    assert order == ["Q-1.0", "Q-2.0", "Q-1.1", "Q-2.1"]
    assert {each.status for each in play.tokens()} == {"completed"}


def test_a_lost_lease_uses_up_a_retry_and_then_is_an_error(play: Rehearsal) -> None:
    question = play.start("Q-1")
    play.lose(question)
    assert question.task is not None
    assert (question.task["status"], question.task["attempt"]) == ("queued", 1)
    play.lose(question.task["task"])
    assert question.path == ["asked", "late"]
    assert "stopped answering: no heartbeat for 2 minutes" in question.story()


def test_a_running_routine_that_is_lost_never_reports() -> None:
    with Rehearsal(asking(timeout=None, retries=0), lease="10s") as play:

        async def ask(ctx: Context) -> str:
            await asyncio.sleep(5)
            ctx.note("too late")
            return "answered"

        play.routine("asked", ask)
        question = play.start("Q-1")
        play.run()
        play.lose("Q-1")
        assert (question.path, question.notes) == (["asked", "late"], [])
        assert "no heartbeat for 10 seconds" in question.story()


def test_what_nobody_holds_cannot_be_lost(play: Rehearsal) -> None:
    play.routine("asked", lambda ctx: None)
    question = play.start("Q-1")
    play.run()
    with pytest.raises(RehearsalError, match="is waiting: it has no lease to lose"):
        play.lose(question)
    with pytest.raises(RehearsalError, match="there is no task 99"):
        play.lose(99)
    play.start("Q-2")
    play.pause("Q-2")
    with pytest.raises(RehearsalError, match="cannot be taken now"):
        play.lose("Q-2")
    play.cancel("Q-2")
    with pytest.raises(RehearsalError, match="no open task"):
        play.lose("Q-2")


def test_a_pause_holds_events_and_the_timer(play: Rehearsal) -> None:
    question = play.start("Q-1")
    play.advance("5h")
    assert play.pause(question).status == "paused"
    play.advance("1d")
    assert question.state == "asked"
    play.resume(question)
    play.advance("59m")
    assert question.state == "asked"
    play.advance("1m")
    assert question.state == "late"
    play.pause(question)
    play.fire(question, "answered")
    assert question.status == "paused"
    assert play.resume(question).status == "completed"


def test_a_cancelled_tokens_routine_is_cancelled(play: Rehearsal) -> None:
    ended: list[str] = []

    async def ask(ctx: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(ctx.token)

    play.routine("asked", ask)
    question = play.start("Q-1")
    play.run()
    assert play.cancel(question).status == "cancelled"
    play.run()
    assert ended == ["Q-1"]


def test_the_end_cancels_what_still_runs() -> None:
    ended: list[str] = []

    async def ask(ctx: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(ctx.token)

    with Rehearsal(asking()) as play:
        play.routine("asked", ask)
        question = play.start("Q-1")
        play.run()
    assert ended == ["Q-1"]
    assert question.status == "active", "a token can be looked at after the end"
    with pytest.raises(RehearsalError, match="after the rehearsal's end"):
        play.run()


def test_refusals_are_those_of_the_client(play: Rehearsal) -> None:
    with pytest.raises(TokenNotFound):
        play.token("Q-9")
    question = play.start("Q-1")
    with pytest.raises(TaskNotHeld):
        play.report(question, "answered")
    with pytest.raises(EventNotAllowed, match="has no event 'nosuch'"):
        play.fire(question, "nosuch")
    play.fire(question, "answered", key="k")
    assert play.fire(question, "answered", key="k").status == "completed"
    assert question.events == ["answered"]
    with pytest.raises(TokenNotActive):
        play.fire(question, "answered", key="another")


def test_a_token_that_goes_round_is_noticed() -> None:
    flow = Workflow("rounds")
    here = flow.state("here")
    again, out = flow.event("again"), flow.event("out")
    flow.transition(START, here)
    flow.transition(here, here, on=again)
    flow.transition(here, END, on=out)
    with Rehearsal(flow) as play:
        play.routine("here", lambda ctx: "again")
        play.start("R-1")
        with pytest.raises(RehearsalError, match=r"still work after 20 tasks.*\nR-1: here \(visit"):
            play.run(most=20)
