"""Timers that are due: timeouts, and those that a routine set (`docs/spec/wire.md` 3.14)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from stateous_controlplane.engine.replies import Skipped, TokenReply
from stateous_controlplane.engine.rows import TaskStatus, TimerStatus
from tests.support.engine import BOX, Engine, after
from tests.support.graphs import machine

REVIEW = machine(
    """
    START -> ask
    ask -> ask on remind if count('remind') < 3
    ask -> late on timeout
    ask -> END on answered if payload.ok
    late -> END on answered
    """,
    states={"ask": {"timeout": "2d"}},
    events={"answered": {"payload": "Answer"}},
    schemas={"Answer": {"type": "object", "properties": {"ok": {"type": "boolean"}}}},
)


def waiting(*timers: object) -> Engine:
    engine = Engine(REVIEW)
    engine.start()
    engine.wait(minutes=1)
    engine.claim()
    engine.wait(minutes=1)
    engine.report_waiting(None, *timers)
    return engine


def test_a_timeout_counts_from_the_entry_and_moves_the_token() -> None:
    engine = waiting()
    timeout = engine.timeout
    assert timeout.due_at == engine.token.entered_at + timedelta(days=2)
    engine.now = timeout.due_at
    seq = engine.token.seq
    assert engine.fire_timer(timeout.id) == TokenReply(engine.token)
    assert engine.told(behind=seq) == [
        ("timer_fired", {"event": "timeout"}),
        ("event_accepted", {"event": "timeout", "payload": None, "state": "ask"}),
        ("task_cancelled", {"task": 1}),
        ("entered", {"state": "late", "visit": 1}),
        ("task_queued", {"task": 2, "state": "late"}),
    ]
    assert engine.family.timers[timeout.id].status is TimerStatus.FIRED
    assert not engine.pending


def test_a_timeout_that_nothing_takes_fails_the_token() -> None:
    engine = Engine(machine("START -> a\na -> END on go", states={"a": {"timeout": "10s"}}))
    engine.start()
    engine.wait(seconds=10)
    engine.fire_timer(1)
    assert engine.where == ("a", 1, "failed")
    assert engine.told(behind=5) == [
        ("timer_fired", {"event": "timeout"}),
        ("task_cancelled", {"task": 1}),
        ("failed", {"reason": "'a' timed out: no transition for 'timeout' from 'a'"}),
    ]


def test_a_timeout_whose_guards_are_false_fails_the_token() -> None:
    engine = Engine(
        machine("START -> a\na -> END on timeout if ctx['x']", states={"a": {"timeout": "10s"}})
    )
    engine.start()
    engine.wait(seconds=10)
    engine.fire_timer(1)
    (failed,) = engine.said("failed")
    assert failed["reason"].startswith("'a' timed out: ")
    assert "'timeout' from 'a'" in failed["reason"]


def test_a_timeout_with_two_true_guards_fails_the_token() -> None:
    engine = Engine(
        machine(
            "START -> a\na -> END on timeout if 1 < 2\na -> a on timeout if 1 < 3",
            states={"a": {"timeout": "10s"}},
        )
    )
    engine.start()
    engine.wait(seconds=10)
    engine.fire_timer(1)
    assert "matched more than one guard" in engine.said("failed")[0]["reason"]


def test_a_routines_timer_fires_its_event_with_its_payload() -> None:
    engine = waiting(after("answered", 60, {"ok": True, "more": 1}))
    engine.wait(seconds=60)
    seq = engine.token.seq
    engine.fire_timer(2)
    assert engine.told(behind=seq) == [
        ("timer_fired", {"event": "answered"}),
        (
            "event_accepted",
            {"event": "answered", "payload": {"ok": True, "more": 1}, "state": "ask"},
        ),
        ("task_done", {"task": 1}),
        ("completed", {}),
    ]


def test_a_routines_timer_whose_event_is_refused_is_recorded_and_over() -> None:
    engine = waiting(after("answered", 60, {"ok": False}))
    engine.wait(seconds=60)
    seq = engine.token.seq
    engine.fire_timer(2)
    assert engine.kinds(behind=seq) == "timer_fired event_rejected"
    rejected = engine.said("event_rejected")[0]
    assert rejected["event"] == "answered"
    assert "'answered' from 'ask'" in rejected["reason"]
    assert engine.where == ("ask", 1, "active")
    assert engine.task.status is TaskStatus.WAITING
    assert engine.family.timers[2].status is TimerStatus.FIRED
    assert engine.fire_timer(2) == Skipped()


def test_a_timer_without_payload_is_an_event_without_payload() -> None:
    engine = waiting(after("remind", 60))
    engine.wait(seconds=60)
    engine.fire_timer(2)
    assert engine.said("event_accepted")[-1] == {
        "event": "remind",
        "payload": None,
        "state": "ask",
    }
    assert engine.where == ("ask", 2, "active")
    assert [(timer.event, timer.visit) for timer in engine.pending] == [("timeout", 2)]


def test_a_reminder_makes_waiting_work_done_and_the_next_visit_queued() -> None:
    engine = waiting(after("remind", 60), after("remind", 120))
    engine.wait(seconds=200)
    engine.fire_timer(2)
    assert engine.fire_timer(3) == Skipped()
    assert engine.token.counts["remind"] == 1
    assert engine.open_tasks == [2]


@pytest.mark.parametrize("how", ["early", "fired", "left", "ended", "retried", "unknown"])
def test_the_clock_looks_again_before_a_timer_fires(how: str) -> None:
    engine = Engine(
        machine(
            "START -> a\na -> b on go\na -> END on stop\nb -> a on go\na -> b on timeout",
            states={"a": {"timeout": "1m", "retries": 1}},
        )
    )
    engine.start()
    engine.claim()
    engine.report_waiting(None, after("go", 30))
    timer = 2
    if how != "early":
        engine.wait(minutes=2)
    match how:
        case "fired":
            engine.fire_timer(1)
            timer = 1
        case "left":
            engine.fire("go")
            engine.fire("go")
        case "ended":
            engine.fire("stop")
        case "retried":
            engine.report_failed(supervisor=None)
        case "unknown":
            timer = 99
    seq = engine.token.seq
    assert engine.fire_timer(timer) == Skipped()
    assert engine.token.seq == seq


def test_a_timer_fires_at_its_very_moment() -> None:
    engine = waiting(after("remind", 60))
    engine.now = engine.family.timers[2].due_at
    assert isinstance(engine.fire_timer(2), TokenReply)


def test_the_longest_timer_lies_ten_years_ahead() -> None:
    engine = waiting(after("remind", 3650 * 86_400))
    assert engine.said("timer_set")[-1]["due_at"].startswith("2037-02-26T12:02:00")
    assert engine.task.claimed_by == BOX
