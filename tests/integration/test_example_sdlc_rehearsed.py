"""The example `sdlc`, rehearsed: the ways that a ticket can take, with its own routines and fakes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stateous_cli.testing import Rehearsal

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def play() -> Iterator[Rehearsal]:
    with Rehearsal(EXAMPLES / "sdlc" / "flow.py", EXAMPLES / "sdlc-supervisor") as play:
        yield play


def test_a_ticket_without_bugs_goes_straight_through(play: Rehearsal) -> None:
    ticket = play.start("T-1", {"title": "Export to CSV"})
    play.run()
    assert ticket.status == "completed", ticket.story()
    assert ticket.path == ["coding", "testing", "reviews", "merging"]
    assert ticket.notes[-1] == "merged t-1, approved by security-review, design-review"


@pytest.mark.parametrize(("bugs", "rounds", "ends_in"), [(2, 3, "merging"), (3, 3, "testing")])
def test_the_third_failure_gives_up(play: Rehearsal, bugs: int, rounds: int, ends_in: str) -> None:
    ticket = play.start("T-1", {"title": "Export to CSV", "bugs": bugs})
    play.run()
    assert (ticket.status, ticket.state) == ("completed", ends_in), ticket.story()
    assert ticket.path.count("coding") == rounds


def test_a_leak_brings_the_ticket_back_to_coding(play: Rehearsal) -> None:
    ticket = play.start("T-1", {"title": "Deploy", "leaks": True})
    play.run()
    assert ticket.path == [
        "coding",
        "testing",
        "reviews",
        "coding",
        "testing",
        "reviews",
        "merging",
    ]
    assert ticket.children[0].events == ["leak"]
    assert "mended what security-review says: secrets in the change" in ticket.notes


def test_tests_that_hang_are_codings_problem(play: Rehearsal) -> None:
    async def hang(ctx: Any) -> None:
        if ctx.visit == 1:
            await asyncio.Event().wait()

    play.routine("testing", hang)
    ticket = play.start("T-1", {"title": "Export to CSV"})
    play.advance("15m")
    assert ticket.path == ["coding", "testing", "coding", "testing"], ticket.story()
    assert ticket.notes[-1] == "mended a test that hung"


def test_a_merge_is_tried_four_times(play: Rehearsal) -> None:
    def merge(ctx: Any) -> str:
        if ctx.attempt < 4:
            raise ConnectionError("the forge is down")
        return "merged"

    play.routine("merging", merge)
    ticket = play.start("T-1", {"title": "Export to CSV"})
    play.run()
    assert ticket.status == "completed", ticket.story()


def test_a_supervisor_that_dies_while_it_codes_costs_an_attempt(play: Rehearsal) -> None:
    ticket = play.start("T-1", {"title": "Export to CSV"})
    play.lose(ticket)
    assert ticket.status == "completed", ticket.story()
    play.start("T-2", {"title": "Log in"})
    play.routine("coding", None)
    play.lose("T-2")
    play.lose("T-2")
    assert play.token("T-2").status == "failed"
