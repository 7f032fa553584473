"""Failed attempts, retries, `error` and ended leases (`docs/spec/wire.md` 3.11)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from stateous.graph.machine import Machine
from stateous.wire.problems import Code
from stateous_controlplane.engine.commands import EndLease
from stateous_controlplane.engine.replies import Skipped, TokenReply
from stateous_controlplane.engine.rows import TaskStatus, TimerKind
from tests.support.engine import BOX, Engine, after, code_of
from tests.support.graphs import machine


def jobs(retries: int = 0, error: str = "work -> stop on error") -> Machine:
    return machine(
        f"START -> work\nwork -> END on done\nstop -> END on done\n{error}",
        states={"work": {"retries": retries, "timeout": "1h"}},
    )


def claimed(**more: Any) -> Engine:
    engine = Engine(jobs(**more))
    engine.start()
    engine.wait(seconds=10)
    engine.claim()
    return engine


def test_a_failed_attempt_is_queued_again_at_the_end_of_the_queue() -> None:
    engine = claimed(retries=1)
    engine.wait(seconds=30)
    reply = engine.report_failed("ValueError: boom", attempt=1, supervisor=BOX)
    assert isinstance(reply, TokenReply)
    assert engine.told(behind=6) == [
        ("task_failed", {"task": 1, "error": "ValueError: boom"}),
        ("task_retrying", {"task": 1, "attempt": 2}),
    ]
    task = engine.task
    assert (task.status, task.ready, task.attempt) == (TaskStatus.QUEUED, True, 1)
    assert (task.claimed_by, task.lease_until, task.queued_at) == (None, None, engine.now)
    assert engine.where == ("work", 1, "active")
    engine.claim("box-2")
    assert (engine.task.attempt, engine.task.claimed_by) == (2, "box-2")


def test_a_retry_keeps_the_timeout_and_cancels_the_routines_timers() -> None:
    engine = claimed(retries=1)
    timeout = engine.timeout
    engine.report_waiting(None, after("done", 600), after("done", 900))
    assert len(engine.pending) == 3
    engine.report_failed()
    assert engine.pending == [timeout]
    assert timeout.kind is TimerKind.TIMEOUT


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_after_all_retries_error_moves_the_token(retries: int) -> None:
    engine = claimed(retries=retries)
    for _ in range(retries):
        engine.report_failed()
        engine.claim()
    seq = engine.token.seq
    engine.report_failed("no way")
    assert engine.told(behind=seq) == [
        ("task_failed", {"task": 1, "error": "no way"}),
        ("event_accepted", {"event": "error", "payload": None, "state": "work"}),
        ("entered", {"state": "stop", "visit": 1}),
        ("task_queued", {"task": 2, "state": "stop"}),
    ]
    assert engine.family.tasks[1].status is TaskStatus.FAILED
    assert engine.token.entered_by.value == {"name": "error"}
    assert not engine.pending


def test_without_a_way_on_error_the_token_fails() -> None:
    engine = claimed(error="work -> stop on done2")
    engine.report_failed("ValueError: boom")
    assert engine.where == ("work", 1, "failed")
    assert engine.told(behind=6) == [
        ("task_failed", {"task": 1, "error": "ValueError: boom"}),
        (
            "failed",
            {"reason": "'work' failed, and has no transition on 'error': ValueError: boom"},
        ),
    ]
    assert not engine.pending
    assert engine.effects.forgotten == {"T-1"}


@pytest.mark.parametrize(
    ("error", "names"),
    [
        ("work -> stop on error if 1 > 2", "'error' from 'work'"),
        (
            "work -> stop on error if 1 < 2\nwork -> END on error if 2 < 3",
            "matched more than one guard",
        ),
    ],
)
def test_an_error_that_no_guard_or_two_take_fails_the_token(error: str, names: str) -> None:
    engine = claimed(error=error)
    engine.report_failed("boom")
    (failed,) = engine.said("failed")
    assert names in failed["reason"]
    assert "boom" in failed["reason"]
    assert engine.kinds(behind=6) == "task_failed failed"


def test_error_guards_may_count_it() -> None:
    engine = claimed(
        error="work -> work on error if count('error') < 3\nwork -> stop on error otherwise"
    )
    for _ in range(3):
        engine.report_failed()
        engine.claim()
    assert engine.where == ("stop", 1, "active")
    assert engine.token.visits == {"work": 3, "stop": 1}


def test_an_empty_error_gets_a_text() -> None:
    engine = claimed()
    engine.report_failed("")
    assert len(engine.said("task_failed")[0]["error"]) > 5


def test_a_waiting_task_can_fail_from_outside() -> None:
    engine = claimed(retries=1)
    engine.report_waiting()
    engine.report_failed("given up")
    assert engine.task.status is TaskStatus.QUEUED
    assert code_of(engine.report_failed(attempt=1)) is Code.TASK_NOT_HELD


def test_a_failed_report_needs_the_attempt_and_the_holder() -> None:
    engine = claimed()
    assert code_of(engine.report_failed(attempt=2)) is Code.TASK_NOT_HELD
    assert code_of(engine.report_failed(supervisor="other")) is Code.TASK_NOT_HELD
    assert code_of(engine.report_failed(task=99)) is Code.TASK_NOT_FOUND
    assert not engine.effects


# ── leases ──────────────────────────────────────────────────────────────


def test_an_ended_lease_is_a_failure() -> None:
    engine = claimed(retries=1)
    engine.wait(minutes=2)
    engine.end_lease()
    assert engine.told(behind=6) == [
        (
            "task_failed",
            {"task": 1, "error": "build-box-1 stopped answering: no heartbeat for 2 minutes"},
        ),
        ("task_retrying", {"task": 1, "attempt": 2}),
    ]


def test_the_last_ended_lease_raises_error() -> None:
    engine = claimed()
    engine.wait(minutes=3)
    engine.end_lease()
    assert engine.where == ("stop", 1, "active")


@pytest.mark.parametrize(
    ("seconds", "spelled"),
    [(4, "4 seconds"), (60, "1 minute"), (90, "90 seconds"), (600, "10 minutes"), (3600, "1 hour")],
)
def test_the_sentence_follows_the_length_of_leases(seconds: int, spelled: str) -> None:
    engine = claimed(retries=1)
    engine.wait(hours=2)
    engine.play(EndLease(1, timedelta(seconds=seconds)))
    assert engine.said("task_failed")[0]["error"].endswith(f"no heartbeat for {spelled}")


@pytest.mark.parametrize("how", ["not yet", "renewed", "waiting", "queued", "left", "unknown"])
def test_the_clock_looks_again_before_it_takes_a_task_back(how: str) -> None:
    engine = claimed(retries=1)
    task = 1
    match how:
        case "not yet":
            engine.wait(seconds=119)
        case "renewed":
            engine.wait(seconds=119)
            engine.renew()
            engine.wait(seconds=1)
        case "waiting":
            engine.report_waiting()
            engine.wait(days=1)
        case "queued":
            engine.report_failed()
            engine.wait(days=1)
        case "left":
            engine.fire("done")
            engine.wait(days=1)
        case "unknown":
            task = 99
    assert engine.end_lease(task) == Skipped()
    assert not engine.effects


def test_a_late_report_of_an_attempt_that_was_taken_back_is_told_so() -> None:
    engine = claimed(retries=1)
    engine.wait(minutes=3)
    engine.end_lease()
    assert code_of(engine.report("done", attempt=1, supervisor=BOX)) is Code.TASK_NOT_HELD
    engine.claim("box-2")
    assert code_of(engine.report("done", attempt=1, supervisor=BOX)) is Code.ATTEMPT_OVER
    assert code_of(engine.report("done", supervisor=BOX)) is Code.TASK_NOT_HELD
