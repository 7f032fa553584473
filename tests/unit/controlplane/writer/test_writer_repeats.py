"""Request ids: the same claim again gets the same grant, over restarts too (`docs/spec/wire.md` 3.8)."""

from __future__ import annotations

from stateous.json import JsonText
from stateous_controlplane.engine.commands import (
    Fire,
    ReportEvent,
    ReportFailed,
    ReportWaiting,
    WriteMemory,
)
from tests.support.writer import BOX, LEASE, Writer, claim, given


def granted(*tokens: str, **more: object) -> Writer:
    writer = Writer()
    writer.start(*tokens)
    writer.ask(claim(request="r1", **more))
    return writer


def test_the_same_request_gets_the_same_attempt_and_commits_only_a_lease() -> None:
    writer = granted("A", "B")
    writer.clock.advance(100)
    writer.store.commits.clear()
    assert given(writer.ask(claim(request="r1"))) == [(1, 1)]
    assert writer.store.commits == [[]]
    assert writer.task(1).lease_until > writer.clock.now() + LEASE * 0.9  # type: ignore[operator]
    assert writer.kinds("A").count("task_claimed") == 1


def test_states_and_max_of_the_repetition_are_not_looked_at() -> None:
    writer = granted("A", "B", "C", max=2)
    assert given(writer.ask(claim("nothing", request="r1", max=1))) == [(1, 1), (2, 1)]
    nothing = type(claim())(BOX, (), (), "r1")
    assert given(writer.ask(nothing)) == [(1, 1)]


def test_a_repetition_after_a_restart_gets_the_same_grant() -> None:
    writer = granted("A", "B").restarted()
    assert given(writer.ask(claim(request="r1"))) == [(1, 1)]
    assert given(writer.ask(claim(request="r2"))) == [(2, 1)]


def test_context_and_memory_are_those_of_now() -> None:
    writer = granted("A")
    writer.ask(WriteMemory(1, "k", JsonText('{"step":2}')))
    body = writer.ask(claim(request="r1"))
    assert body["memory"] == {"k": {"step": 2}}
    after = writer.restarted()
    assert after.ask(claim(request="r1"))["memory"] == {"k": {"step": 2}}


def test_only_what_is_still_held_is_granted_again() -> None:
    writer = granted("A", "B", "C", "D", max=4)
    writer.ask(ReportEvent(1, "again"))
    writer.ask(ReportWaiting(2, supervisor=BOX))
    writer.ask(ReportFailed(3, "boom"))
    assert given(writer.ask(claim(request="r1", max=4))) == [(4, 1)]


def test_with_nothing_left_it_is_a_new_claim_that_is_remembered() -> None:
    writer = granted("A", "B")
    writer.fire("A", "stop")
    assert given(writer.ask(claim(request="r1"))) == [(2, 1)]
    assert given(writer.ask(claim(request="r1"))) == [(2, 1)]


def test_a_lease_that_is_over_is_not_granted_again() -> None:
    writer = granted("A", "B")
    writer.clock.advance(121)
    again = writer.submit(claim(request="r1"))
    writer.run()
    # The clock's tick came first: the task is queued once more, behind the other one.
    assert given(writer.body(again)) == [(2, 1)]


def test_a_grant_of_another_request_replaces_what_is_remembered() -> None:
    writer = granted("A", "B", "C")
    assert given(writer.ask(claim(request="r2"))) == [(2, 1)]
    assert given(writer.ask(claim(request="r1"))) == [(3, 1)]


def test_what_gets_nothing_or_has_no_request_replaces_nothing() -> None:
    writer = granted("A", "B")
    writer.ask(claim("nothing", request="r2"))
    assert given(writer.ask(claim(request="r1"))) == [(1, 1)]
    assert given(writer.ask(claim())) == [(2, 1)]
    assert given(writer.ask(claim(request="r1"))) == [(1, 1)]


def test_each_supervisor_has_a_memory_of_its_own() -> None:
    writer = granted("A", "B")
    assert given(writer.ask(claim(request="r1", supervisor="box-2"))) == [(2, 1)]
    assert given(writer.ask(claim(request="r1"))) == [(1, 1)]


def test_a_repetition_that_may_wait_is_answered_at_once() -> None:
    writer = granted("A")
    assert given(writer.ask(claim(request="r1", wait=30))) == [(1, 1)]


def test_in_one_batch_a_repetition_sees_what_came_before_it() -> None:
    writer = granted("A")
    writer.submit(Fire("A", "again"))
    again = writer.submit(claim(request="r1"))
    writer.run()
    assert given(writer.body(again)) == [(2, 1)]
