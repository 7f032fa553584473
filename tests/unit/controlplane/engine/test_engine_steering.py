"""Steering: pause, resume and cancel of a top token, with all below it (2.4, 3.15)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from stateous.wire.problems import Code
from stateous_controlplane.engine.replies import GrantReply, Renewed, Reply, Skipped, TokenReply
from tests.support.engine import BOX, NOON, Engine, T, after, code_of, reason_of
from tests.support.families import DESIGN, SECURITY, child, nested, reviews
from tests.support.graphs import machine

FLOW = machine(
    """
    START -> a
    a -> b on go
    a -> b on error
    b -> END on go
    a -> END on stop
    """,
    states={"a": {"timeout": "1h", "retries": 1}},
)

STEER: dict[str, Callable[[Engine, str], Reply]] = {
    "pause": Engine.pause,
    "resume": Engine.resume,
    "cancel": Engine.cancel,
}


def started() -> Engine:
    engine = Engine(FLOW)
    engine.start()
    return engine


def in_reviews() -> Engine:
    engine = Engine(reviews(timeout="1h"))
    engine.start({"repo": "r"})
    engine.fire("done")
    return engine


# ── who may be steered ──────────────────────────────────────────────────


@pytest.mark.parametrize("verb", STEER)
def test_a_token_that_does_not_exist_cannot_be_steered(verb: str) -> None:
    assert code_of(STEER[verb](started(), "T-9")) is Code.TOKEN_NOT_FOUND


@pytest.mark.parametrize("ended", [False, True], ids=["live", "ended"])
@pytest.mark.parametrize("verb", STEER)
def test_a_child_cannot_be_steered_alone_whatever_its_status(verb: str, ended: bool) -> None:
    engine = in_reviews()
    if ended:
        engine.fire("skip", token=SECURITY)
    said = len(engine.ledger)
    reply = STEER[verb](engine, SECURITY)
    assert code_of(reply) is Code.CHILD_TOKEN
    assert repr(T) in reason_of(reply)
    assert len(engine.ledger) == said


def paused(engine: Engine) -> None:
    engine.pause()


def completed(engine: Engine) -> None:
    engine.fire("stop")


def cancelled(engine: Engine) -> None:
    engine.cancel()


WRONG_STATUS: list[tuple[str, str, Callable[[Engine], None]]] = [
    ("pause", "paused", paused),
    ("pause", "completed", completed),
    ("pause", "cancelled", cancelled),
    ("resume", "active", lambda engine: None),
    ("resume", "completed", completed),
    ("resume", "cancelled", cancelled),
    ("cancel", "completed", completed),
    ("cancel", "cancelled", cancelled),
]


@pytest.mark.parametrize(("verb", "status", "before"), WRONG_STATUS)
def test_a_token_of_another_status_is_refused_and_nothing_is_recorded(
    verb: str, status: str, before: Callable[[Engine], None]
) -> None:
    engine = started()
    before(engine)
    said = len(engine.ledger)
    reply = STEER[verb](engine, T)
    assert code_of(reply) is Code.TOKEN_NOT_ACTIVE
    assert status in reason_of(reply)
    assert len(engine.ledger) == said


# ── pause ───────────────────────────────────────────────────────────────


def test_a_pause_is_one_entry_and_answers_the_token() -> None:
    engine = started()
    reply = engine.pause()
    assert isinstance(reply, TokenReply)
    assert reply.token.status.value == "paused"
    assert engine.told(behind=5) == [("paused", {})]
    assert engine.token.entered_at == NOON


def test_a_pause_reaches_each_live_child_depth_first() -> None:
    engine = Engine(nested())
    engine.start({"repo": "r"})
    engine.fire("done")
    deep = child("deep", state="outer")
    ended = child("security", state="both", parent=deep)
    engine.fire("skip", token=ended)
    said = len(engine.ledger)
    engine.pause()
    paused = [T, deep, child("design", state="both", parent=deep), child("design", state="outer")]
    assert [(entry.token, entry.kind) for entry in engine.ledger[said:]] == [
        (token, "paused") for token in paused
    ]
    assert engine.standing()[ended] == "look completed"
    said = len(engine.ledger)
    engine.resume()
    assert [(entry.token, entry.kind) for entry in engine.ledger[said:]] == [
        (token, "resumed") for token in paused
    ]


def test_no_task_of_a_paused_family_is_claimed() -> None:
    engine = in_reviews()
    engine.pause()
    tasks = [engine.task_of(SECURITY), engine.task_of(DESIGN)]
    assert [engine.claim(task=task) for task in tasks] == [Skipped(), Skipped()]
    engine.resume()
    assert all(isinstance(engine.claim(task=task), GrantReply) for task in tasks)


def test_no_timer_of_a_paused_family_fires() -> None:
    engine = in_reviews()
    engine.pause()
    engine.wait(hours=2)
    assert engine.fire_timer(engine.timeout.id) == Skipped()


def test_the_work_of_a_paused_token_goes_on() -> None:
    engine = started()
    engine.claim()
    engine.pause()
    assert engine.renew() == Renewed(1)
    engine.note("still here")
    engine.remember("k", 1)
    engine.report_waiting({"n": 1}, after("go", 60))
    assert engine.kinds(behind=7) == "note memory_set context_changed timer_set task_waiting"
    assert engine.token.context.value == {"n": 1}
    assert engine.task.status.value == "waiting"


def test_a_failed_attempt_counts_during_a_pause_and_its_retry_waits_in_the_queue() -> None:
    engine = started()
    engine.claim()
    engine.pause()
    engine.wait(minutes=3)
    engine.end_lease()
    assert engine.kinds(behind=7) == "task_failed task_retrying"
    assert engine.claim() == Skipped()
    engine.resume()
    reply = engine.claim()
    assert isinstance(reply, GrantReply)
    assert reply.task.attempt == 2


# ── timers stand still ──────────────────────────────────────────────────


def test_a_resume_moves_pending_timers_by_the_time_of_the_pause() -> None:
    engine = started()
    engine.wait(minutes=10)
    engine.pause()
    engine.wait(minutes=25)
    before = engine.timeout.due_at
    engine.resume()
    assert engine.timeout.due_at - before == timedelta(minutes=25)
    assert "timer_set" not in engine.kinds(behind=5)


def test_a_timer_that_was_set_during_the_pause_moves_by_the_time_since_then() -> None:
    engine = started()
    engine.claim()
    engine.pause()
    engine.wait(minutes=10)
    engine.report_waiting(None, after("go", 60))
    engine.wait(minutes=5)
    engine.resume()
    (timer,) = [each for each in engine.pending if each.kind.value == "timer"]
    assert timer.due_at == NOON + timedelta(minutes=16)


def test_a_timer_that_was_due_during_the_pause_fires_as_late_after_it() -> None:
    engine = started()
    engine.wait(minutes=59)
    engine.pause()
    engine.wait(hours=5)
    engine.resume()
    assert engine.fire_timer(1) == Skipped()
    engine.wait(minutes=1)
    assert isinstance(engine.fire_timer(1), TokenReply)
    assert engine.kinds(behind=7) == "timer_fired task_cancelled failed"


def test_timers_of_children_stand_still_too() -> None:
    engine = in_reviews()
    task = engine.task_of(SECURITY)
    engine.claim(task=task)
    engine.report_waiting(None, after("skip", 60), task=task)
    (timer,) = [each for each in engine.pending if each.token == SECURITY]
    due = timer.due_at
    engine.wait(seconds=1)
    engine.pause()
    engine.wait(hours=3)
    engine.resume()
    assert engine.family.timers[timer.id].due_at - due == timedelta(hours=3)


# ── cancel ──────────────────────────────────────────────────────────────


def test_a_cancel_ends_the_work_and_says_so() -> None:
    engine = started()
    engine.claim()
    engine.remember("k", 1)
    reply = engine.cancel()
    assert isinstance(reply, TokenReply)
    assert engine.told(behind=7) == [("task_cancelled", {"task": 1}), ("cancelled", {})]
    assert engine.where == ("a", 1, "cancelled")
    assert not engine.pending
    assert not any(engine.family.memory.values())
    assert code_of(engine.report("go", supervisor=BOX)) is Code.TASK_NOT_HELD


def test_a_cancel_reaches_all_below_with_a_reason() -> None:
    engine = Engine(nested())
    engine.start({"repo": "r"})
    engine.fire("done")
    engine.cancel()
    assert {status.split()[1] for status in engine.standing().values()} == {"cancelled"}
    assert engine.said("cancelled", of=T) == [{}]
    deep = child("deep", state="outer")
    assert T in engine.said("cancelled", of=deep)[0]["reason"]
    inner = child("design", state="both", parent=deep)
    assert deep in engine.said("cancelled", of=inner)[0]["reason"]
    assert "joined" not in str(engine.said("event_accepted"))
    assert engine.ledger[-1].token == T


def test_a_cancelled_paused_token_drops_what_it_holds_first() -> None:
    engine = in_reviews()
    engine.pause()
    engine.fire("skip", token=DESIGN)
    engine.fire("hurry", key="k")
    before = {token: engine.family.tokens[token].seq for token in (T, DESIGN)}
    engine.cancel()
    assert engine.kinds(before[T], of=T) == "event_dropped cancelled"
    assert engine.kinds(before[DESIGN], of=DESIGN) == "event_dropped task_cancelled cancelled"
    assert "cancelled" in engine.said("event_dropped", of=T)[0]["reason"]
    assert (engine.family.held, engine.family.holding) == ({}, 0)
    duplicate = engine.fire("hurry", key="k")
    assert getattr(duplicate, "matches", None) is True
