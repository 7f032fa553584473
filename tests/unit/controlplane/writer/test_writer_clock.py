"""The clock's tick: hold, leases, timers, a portion at a time (`docs/spec/wire.md` 6.3, 3.9)."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from stateous_controlplane.engine.commands import Fire, ReportWaiting, Schedule, Start
from stateous_controlplane.store.port import (
    Changes,
    CommitUnknown,
    DatabaseBusy,
    HoldLost,
    HoldState,
    NextIds,
)
from stateous_controlplane.writer.sequencer import MAX_DUE, TICK_SECONDS
from tests.support.graphs import graph
from tests.support.writer import BOX, Writer, claim, given

TIMED = graph(
    """
    START -> work
    work -> late on timeout
    work -> END on stop
    work -> work on again
    late -> END on stop
    """,
    workflow="timed",
    states={"work": {"timeout": "10m", "retries": 1}},
)


def test_a_tick_comes_a_second_after_the_end_of_the_last() -> None:
    writer = Writer()
    assert writer.sequencer.wake_at() == writer.clock.monotonic() + TICK_SECONDS
    assert not writer.sequencer.step()
    writer.clock.advance(TICK_SECONDS)
    assert writer.sequencer.step()
    assert not writer.sequencer.step()


def test_a_tick_with_nothing_due_commits_nothing() -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.ask(claim())
    writer.store.commits.clear()
    for _ in range(20):
        writer.pass_time(1)
    assert writer.store.commits == []


def test_a_lease_that_is_over_fails_the_attempt() -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.ask(claim())
    writer.pass_time(119)
    assert writer.task(1).status == "claimed"
    writer.pass_time(2)
    assert (writer.task(1).status, writer.task(1).attempt) == ("queued", 1)
    assert writer.kinds("A").endswith("task_claimed task_failed task_retrying")


def test_a_heartbeat_keeps_a_task_and_tells_what_is_lost() -> None:
    writer = Writer(TIMED)
    writer.start("A", "B", "C")
    writer.ask(claim(max=2))
    for _ in range(10):
        writer.pass_time(60)
        if writer.clock.seconds < 1200:
            assert writer.beat(7, 2, 3, 1, 2, 7) == [3, 7]
    assert writer.task(1).attempt == 1
    assert writer.beat(1, 2, supervisor="box-2") == [1, 2]


def test_a_heartbeat_after_the_end_of_the_lease_has_lost_the_task() -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.ask(claim())
    writer.clock.advance(121)
    assert writer.beat(1) == [1]


def test_a_due_timer_fires_and_whoever_follows_the_token_learns_it() -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.pass_time(599)
    assert writer.token("A").state == "work"
    writer.deliveries.clear()
    writer.pass_time(2)
    assert writer.token("A").state == "late"
    assert writer.deliveries == [([], {"A"})]


def test_a_due_timer_serves_the_claim_that_waits() -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.pass_time(590)
    waiting = writer.submit(claim("late", wait=30))
    writer.run()
    writer.pass_time(11)
    assert given(writer.body(waiting)) == [(2, 1)]


def test_due_timers_fire_in_their_order_each_looked_at_again() -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.ask(claim())
    late, soon = (Schedule("again", f"{each}s") for each in (50, 20))
    writer.ask(ReportWaiting(1, schedules=(late, soon), supervisor=BOX))
    writer.pass_time(60)
    # The first one left the visit, and so cancelled the second.
    assert writer.kinds("A").count("timer_fired") == 1
    assert writer.token("A").visits == {"work": 2}
    timers = writer.database.tables.timers
    assert [timers[each].status for each in (2, 3)] == ["cancelled", "fired"]


def test_leases_come_before_timers() -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.pass_time(550)
    writer.ask(claim())
    writer.clock.advance(300)
    writer.run()
    assert "task_failed task_retrying timer_fired event_accepted" in writer.kinds("A")


def test_what_is_due_is_taken_in_portions_with_requests_in_between() -> None:
    writer = Writer(TIMED)
    count = 2 * MAX_DUE + 10
    for number in range(count):
        writer.submit(Start(f"T-{number}"))
    writer.run()
    writer.clock.advance(700)
    fired = []

    def moved() -> int:
        return sum(token.state == "late" for token in writer.database.tables.tokens.values())

    assert writer.sequencer.step()
    fired.append(moved())
    while writer.sequencer.busy:
        asked = writer.submit(Fire("T-0", "nosuch"))
        writer.sequencer.step()
        assert writer.status(asked) == 409
        fired.append(moved())
    assert fired == [MAX_DUE, 2 * MAX_DUE, count]
    assert not writer.sequencer.step()


# ── grace ───────────────────────────────────────────────────────────────


def test_no_lease_ends_in_the_first_45_seconds() -> None:
    writer = Writer(TIMED)
    writer.start("A", "B")
    writer.ask(claim(max=2))
    writer.clock.advance(300)
    after = writer.restarted(grace=True)
    after.pass_time(44)
    assert after.task(1).status == "claimed"
    assert after.beat(1) == []
    after.pass_time(2)
    assert after.task(1).status == "claimed"
    assert after.task(2).status == "queued"
    assert after.beat(1, 2) == [2]


def test_timers_fire_in_the_grace_too() -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.clock.advance(700)
    after = writer.restarted(grace=True)
    after.pass_time(1)
    assert after.token("A").state == "late"


# ── what fails ──────────────────────────────────────────────────────────


def test_a_tick_that_fails_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.store.faults.renew = DatabaseBusy("it is locked")
    with caplog.at_level(logging.WARNING):
        writer.pass_time(700)
    assert caplog.messages == [
        "the clock's tick failed (DatabaseBusy: it is locked); it tries again in 1.0 seconds"
    ]
    assert writer.token("A").state == "work"
    writer.store.faults.renew = None
    writer.pass_time(0.9)
    assert writer.token("A").state == "work"
    writer.pass_time(0.1)
    assert writer.token("A").state == "late"


def test_one_due_timer_that_cannot_be_committed_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    writer = Writer(TIMED)
    writer.start("A", "B", "C")

    def commit(changes: Changes) -> None:
        if any(entry.token == "B" for entry in changes.entries):
            raise RuntimeError("the database refused it")

    writer.store.faults.commit = commit
    with caplog.at_level(logging.WARNING):
        writer.pass_time(700)
    assert [writer.token(each).state for each in "ABC"] == ["late", "work", "late"]
    assert caplog.messages[0].startswith("the clock's tick failed (RuntimeError: ")
    writer.store.faults.commit = None
    writer.pass_time(1)
    assert writer.token("B").state == "late"


def test_a_tick_that_finds_the_hold_lost_ends_everything() -> None:
    writer = Writer()
    waiting = writer.submit(claim(wait=30))
    writer.run()
    row = writer.database.tables.control_plane[1]
    writer.database.tables.control_plane[1] = replace(row, serving="other:1:00000009")
    writer.pass_time(1)
    assert writer.lost == 1
    assert writer.body(waiting)["code"] == "not_serving"


def test_due_work_that_finds_the_hold_lost_ends_everything() -> None:
    writer = Writer()
    writer.store.faults.begin = HoldLost("another's name")
    writer.pass_time(1)
    assert writer.lost == 1


def let_another_serve(writer: Writer, *tokens: str) -> None:
    """Another control plane takes the database, starts tokens, and gives it up."""
    writer.store.close()
    writer.store.give_up_hold(writer.name)
    other = Writer(TIMED, writer.database, writer.clock, "host:5:00000005")
    for token in tokens:
        other.start(token)
    other.store.give_up_hold(other.name)


def test_a_hold_that_was_free_is_taken_back_and_what_happened_meanwhile_is_heeded() -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.ask(claim())
    waiting = writer.submit(claim(wait=300, supervisor="box-2"))
    writer.run()
    let_another_serve(writer, "B")
    writer.clock.advance(200)
    writer.run()
    assert not writer.lost
    assert writer.body(waiting) is None
    assert writer.task(1).status == "claimed", "a new grace has begun"
    writer.start("C")
    assert {task.token for task in writer.database.tables.tasks.values()} == {"A", "B", "C"}
    writer.pass_time(46)
    assert writer.task(1).status == "queued"


def test_nothing_is_decided_until_it_is_known_which_ids_were_used_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer = Writer(TIMED)
    writer.start("A")
    let_another_serve(writer, "B")
    next_ids, tries = writer.store.next_ids, []

    def busy_twice() -> NextIds:
        tries.append(1)
        if len(tries) <= 2:
            raise DatabaseBusy("the connection was lost")
        return next_ids()

    monkeypatch.setattr(writer.store, "next_ids", busy_twice)
    writer.pass_time(1)
    refused = writer.submit(Start("C"))
    writer.run()
    assert writer.status(refused) == 503, "the second try, by the command"
    writer.start("C")
    assert sorted(task.id for task in writer.database.tables.tasks.values()) == [1, 2, 3]


def test_a_take_back_that_is_in_doubt_counts_as_one() -> None:
    writer = Writer(TIMED)
    writer.start("A")
    writer.ask(claim())
    let_another_serve(writer, "B")
    writer.clock.advance(200)
    assert writer.store.renew_hold(writer.name, writer.clock.now()) is HoldState.TAKEN_BACK
    writer.store.faults.renew = CommitUnknown("the connection was lost")
    writer.run()
    writer.store.faults.renew = None
    writer.pass_time(1)
    assert writer.task(1).status == "claimed", "a new grace has begun"
    writer.start("C")
    assert {task.token for task in writer.database.tables.tasks.values()} == {"A", "B", "C"}
