"""The clients of a rehearsal: the real ones, on the way to a control plane without a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from stateous import END, START, Context, Workflow
from stateous_cli.testing import Rehearsal, RehearsalError
from stateous_client import Client, Invalid, TokenNotFound


def rounds() -> Workflow:
    flow = Workflow("rounds")
    here = flow.state("here")
    again, out = flow.event("again"), flow.event("out")
    flow.transition(START, here)
    flow.transition(here, here, on=again)
    flow.transition(here, END, on=out)
    return flow


@pytest.fixture
def play() -> Iterator[Rehearsal]:
    with Rehearsal(rounds()) as play:
        yield play


def test_lists_have_pages_and_filters(play: Rehearsal) -> None:
    with play.client() as client:
        for number in range(5):
            client.start(f"R-{number}")
        client.fire("R-2", "out")
        active = client.iter_tokens(status="active", page=2)
        assert [each["token"] for each in active] == ["R-4", "R-3", "R-1", "R-0"]
        assert [each["task"] for each in client.iter_tasks(page=2)] == [1, 2, 3, 4, 5]
        assert [each["task"] for each in client.tasks(token="R-2", status="cancelled")] == [3]
        assert len(client.history("R-2", after=4)) == 3
        assert client.wait("R-2", timeout=1)["status"] == "completed"
        assert client.ready()
        assert client.health()["workflow"] == client.workflow()["workflow"] == "rounds"
        assert client.lease == 120


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda client: client.get("nobody"), TokenNotFound),
        (lambda client: client.tokens(limit=0), Invalid),
        (lambda client: client.tasks(limit=1001), Invalid),
        (lambda client: client.history("R-1", limit=0), Invalid),
        (lambda client: client.start("not an id"), Invalid),
        (lambda client: client.start("R-9", {"k": "x" * 2_000_000}), Invalid),
        (lambda client: client.start("R-9", {"k": "\0"}), Invalid),
    ],
)
def test_the_refusals_are_those_of_the_api(play: Rehearsal, ask: Any, error: Any) -> None:
    client: Client = play.client()
    with pytest.raises(error):
        ask(client)


def test_waiting_for_what_nothing_lets_happen_is_refused(play: Rehearsal) -> None:
    play.start("R-1")
    with pytest.raises(RehearsalError, match="waits for ever here"):
        play.client().wait("R-1", timeout=5)


def test_an_async_routine_may_wait_for_another_token(play: Rehearsal) -> None:
    async def here(ctx: Context) -> str:
        if ctx.token == "R-1":
            async with play.async_client() as client:
                await client.start("R-2")
                other = await client.wait("R-2")
                ctx.note(f"R-2 is {other['status']}")
        else:
            ctx.note("alone")
        return "out"

    play.routine("here", here)
    first = play.start("R-1")
    play.advance("10s")
    assert first.notes == ["R-2 is completed"]
    assert first.status == "completed"


def test_a_key_may_be_used_once(play: Rehearsal) -> None:
    client = play.client()
    client.start("R-1")
    assert client.fire("R-1", "again", key="ü") == client.get("R-1")
    assert client.fire("R-1", "out", key="ü")["matches"] is False  # type: ignore[typeddict-item]
    assert client.get("R-1")["visit"] == 2
