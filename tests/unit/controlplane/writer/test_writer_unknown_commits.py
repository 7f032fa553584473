"""A connection that is lost during a commit: it was done, and the control plane does not know."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stateous_controlplane.engine.commands import Fire, Start
from stateous_controlplane.store.port import CommitUnknown
from tests.support.writer import Writer, claim, given


def lose_the_answer(writer: Writer) -> Callable[[], None]:
    """The next commit is done, and nobody hears of it."""

    def once() -> None:
        writer.store.committed = lambda: None
        raise CommitUnknown("the connection was lost during the commit")

    writer.store.committed = once
    return once


@pytest.fixture
def writer() -> Writer:
    writer = Writer()
    writer.start("T-1", "T-2")
    lose_the_answer(writer)
    return writer


def test_a_batch_in_doubt_is_answered_busy_and_not_done_again(writer: Writer) -> None:
    fires = [writer.submit(Fire(token, "again")) for token in ("T-1", "T-1", "T-2")]
    writer.run()
    assert {writer.status(each) for each in fires} == {503}
    assert writer.kinds("T-1").count("event_accepted") == 1 + 2
    assert writer.kinds("T-2").count("event_accepted") == 1 + 1


def test_the_next_request_is_served_as_ever(writer: Writer) -> None:
    writer.submit(Fire("T-1", "again"))
    writer.run()
    assert writer.fire("T-1", "again")["visit"] == 3


def test_a_claim_that_may_have_been_served_asks_again_and_is_granted_the_same() -> None:
    writer = Writer()
    waiting = claim(request="r1", wait=20)
    submission = writer.submit(waiting)
    writer.run()
    lose_the_answer(writer)
    start = writer.submit(Start("T-1"))
    writer.run()
    assert [writer.status(each) for each in (start, submission)] == [503, 503]
    assert given(writer.ask(waiting)) == [(1, 1)]
    assert writer.kinds("T-1").count("task_claimed") == 1


def test_a_claim_never_waits_beside_a_task_that_a_commit_in_doubt_has_queued() -> None:
    writer = Writer()
    writer.start("T-1")
    assert given(writer.ask(claim())) == [(1, 1)]
    submission = writer.submit(claim(wait=20))
    writer.run()
    lose_the_answer(writer)
    writer.submit(Fire("T-1", "again"))
    writer.run()
    assert not writer.waits(submission)


def test_a_tick_in_doubt_is_looked_at_again_at_the_next() -> None:
    writer = Writer()
    writer.start("T-1")
    assert given(writer.ask(claim())) == [(1, 1)]
    lose_the_answer(writer)
    writer.pass_time(121)
    writer.pass_time(1)
    assert writer.kinds("T-1").count("task_failed") == 1
    assert given(writer.ask(claim())) == [(1, 2)]
