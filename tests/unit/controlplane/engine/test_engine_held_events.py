"""What arrives during a pause is held, and applied on resume in the order of arrival (3.15)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from stateous.wire.problems import Code
from stateous_controlplane.engine.replies import TokenReply
from tests.support.engine import BOX, NOON, Engine, T, after, code_of
from tests.support.families import DESIGN, SECURITY, child, reviews
from tests.support.graphs import flow, machine

FLOW = machine(
    """
    START -> a
    a -> b on go
    a -> b on kept
    a -> b on error
    b -> a on back
    b -> END on go
    a -> b on twice if 1 < 2
    a -> END on twice if 2 < 3
    a -> b on perhaps if ctx['n'] == 1
    """,
    context="Context",
    states={"a": {"timeout": "1h"}},
    events={"kept": {"payload": "Any", "into": "k"}},
    schemas={
        "Any": {"type": "object"},
        "Context": {"type": "object", "properties": {"n": {"type": "integer"}}},
    },
)


def paused(*, claimed: bool = False) -> Engine:
    engine = Engine(FLOW)
    engine.start()
    if claimed:
        engine.claim()
    engine.pause()
    return engine


def behind(engine: Engine, act: Callable[[], object], of: str = T) -> str:
    """The kinds of the entries that ``act`` left on a token."""
    seq = engine.family.tokens[of].seq
    act()
    return engine.kinds(seq, of=of)


# ── holding ─────────────────────────────────────────────────────────────


def test_a_fired_event_is_held_with_its_arrival() -> None:
    engine = paused()
    reply = engine.fire("kept", {"x": 1})
    assert isinstance(reply, TokenReply)
    assert (reply.token.state, reply.token.status.value) == ("a", "paused")
    engine.fire("go")
    assert engine.said("event_deferred") == [
        {"event": "kept", "payload": {"x": 1}, "arrival": 1},
        {"event": "go", "payload": None, "arrival": 2},
    ]
    assert engine.token.counts == {"__started__": 1}


def test_a_held_event_is_not_checked_further_than_its_payload() -> None:
    engine = paused()
    assert isinstance(engine.fire("back"), TokenReply)
    assert code_of(engine.fire("go", {"x": 1})) is Code.INVALID_PAYLOAD
    assert code_of(engine.fire("nosuch")) is Code.EVENT_NOT_ALLOWED
    assert code_of(engine.fire("timeout")) is Code.EVENT_NOT_ALLOWED
    assert [each["event"] for each in engine.said("event_deferred")] == ["back"]


def test_a_reported_event_is_held_whole_and_its_task_is_done() -> None:
    engine = paused(claimed=True)
    kinds = behind(
        engine,
        lambda: engine.report("kept", {"x": 1}, {"n": 2}, after("go", 60), supervisor=BOX),
    )
    assert kinds == "event_deferred task_done"
    assert engine.said("event_deferred") == [
        {
            "event": "kept",
            "payload": {"x": 1},
            "arrival": 1,
            "state": "a",
            "visit": 1,
            "task": 1,
            "context": {"n": 2},
            "schedules": [{"event": "go", "after": "60s"}],
        }
    ]
    assert engine.token.context.value == {}
    assert [timer.kind.value for timer in engine.pending] == ["timeout"]
    assert code_of(engine.report("go")) is Code.TASK_NOT_HELD


def test_a_held_report_without_changes_and_timers_does_not_name_them() -> None:
    engine = paused(claimed=True)
    engine.report("go", None, {})
    (held,) = engine.said("event_deferred")
    assert list(held) == ["event", "payload", "arrival", "state", "visit", "task"]


def test_a_reported_event_that_cannot_move_the_token_is_refused_at_once() -> None:
    engine = paused(claimed=True)
    assert code_of(engine.report("perhaps", None, {"n": 2})) is Code.EVENT_NOT_ALLOWED
    assert engine.task.status.value == "claimed"
    assert isinstance(engine.report("perhaps", None, {"n": 1}), TokenReply)


def test_the_error_of_a_task_that_failed_for_good_is_held() -> None:
    engine = paused(claimed=True)
    assert behind(engine, lambda: engine.report_failed("boom")) == "task_failed event_deferred"
    assert engine.said("event_deferred") == [
        {"event": "error", "payload": None, "arrival": 1, "state": "a", "visit": 1, "task": 1}
    ]
    assert engine.task.status.value == "failed"


def test_arrivals_count_over_the_family_and_begin_again_after_a_resume() -> None:
    engine = Engine(reviews())
    engine.start({"repo": "r"})
    engine.fire("done")
    for _ in range(2):
        engine.pause()
        engine.fire("seen", {"points": 1}, token=DESIGN)
        engine.fire("seen", {"points": 1}, token=SECURITY)
        engine.fire("seen", {"points": 1}, token=DESIGN)
        engine.resume()
    assert [each["arrival"] for each in engine.said("event_deferred")] == [1, 2, 3, 1, 2, 3]


# ── applying ────────────────────────────────────────────────────────────


def test_a_replayed_event_moves_the_token_and_counts_once() -> None:
    engine = paused()
    engine.fire("kept", {"x": 1}, key="k")
    kinds = behind(engine, engine.resume)
    assert kinds == (
        "resumed event_replayed event_accepted context_changed task_cancelled entered task_queued"
    )
    assert engine.said("event_replayed") == [{"event": "kept"}]
    assert engine.token.counts["kept"] == 1
    assert engine.token.context.value == {"k": {"x": 1}}
    assert [entry.kind for entry in engine.ledger if entry.key == "k"] == ["event_deferred"]


def test_a_replayed_report_brings_its_changes_and_timers_along() -> None:
    engine = paused(claimed=True)
    engine.report("go", None, {"n": 2}, after("back", 60))
    engine.wait(hours=5)
    kinds = behind(engine, engine.resume)
    assert kinds == (
        "resumed event_replayed context_changed timer_set event_accepted entered task_queued"
    )
    assert engine.said("timer_set")[1]["due_at"].startswith("2027-03-01T17:01:00")
    assert engine.token.context.value == {"n": 2}
    assert not engine.pending


def test_held_events_are_applied_in_the_order_of_arrival_each_on_what_those_before_left() -> None:
    engine = paused()
    for event in ("go", "back", "go", "go", "back"):
        engine.fire(event)
    engine.resume()
    assert engine.where == ("b", 2, "completed")
    assert [entry.kind for entry in engine.ledger][-2:] == ["completed", "event_dropped"]
    assert "completed" in engine.said("event_dropped")[0]["reason"]


def test_with_any_the_child_whose_end_arrived_first_wins() -> None:
    engine = Engine(reviews("any"))
    engine.start({"repo": "r"})
    engine.fire("done")
    engine.pause()
    engine.fire("skip", token=DESIGN)
    engine.fire("skip", token=SECURITY)
    seq = engine.family.tokens[SECURITY].seq
    engine.resume()
    joined = engine.said("event_accepted", of=T)[-1]
    assert [each["token"] for each in joined["payload"]["branches"]] == [DESIGN]
    assert engine.where == ("merging", 1, "active")
    assert engine.kinds(seq, of=SECURITY) == "resumed task_cancelled cancelled event_dropped"
    assert "cancelled" in engine.said("event_dropped")[0]["reason"]


def test_a_held_event_of_the_parent_that_arrived_first_cancels_the_children() -> None:
    engine = Engine(reviews("any"))
    engine.start({"repo": "r"})
    engine.fire("done")
    engine.pause()
    engine.fire("hurry")
    engine.fire("skip", token=DESIGN)
    engine.resume()
    assert engine.where == ("coding", 2, "active")
    assert engine.standing()[DESIGN] == "look cancelled"
    assert engine.said("event_dropped", of=DESIGN)


def test_children_that_a_resume_starts_are_active() -> None:
    engine = Engine(reviews())
    engine.start({"repo": "r"})
    engine.pause()
    engine.fire("done")
    engine.resume()
    assert engine.standing() == {
        T: "reviews active",
        SECURITY: "look active",
        DESIGN: "look active",
    }


def test_a_held_error_takes_its_transition() -> None:
    engine = paused(claimed=True)
    engine.report_failed("boom")
    assert behind(engine, engine.resume) == (
        "resumed event_replayed event_accepted entered task_queued"
    )
    assert engine.where == ("b", 1, "active")


# ── dropping ────────────────────────────────────────────────────────────


def test_an_event_that_no_transition_takes_is_dropped_and_its_key_stays_used() -> None:
    engine = paused()
    engine.fire("back", key="k")
    assert behind(engine, engine.resume) == "resumed event_dropped"
    (dropped,) = engine.said("event_dropped")
    assert dropped["event"] == "back"
    assert "'back' from 'a'" in dropped["reason"]
    assert getattr(engine.fire("back", key="k"), "matches", None) is True


@pytest.mark.parametrize(
    "hold",
    [lambda engine: engine.report("go"), lambda engine: engine.report_failed("boom")],
    ids=["a report", "an error"],
)
def test_what_a_task_left_behind_is_dropped_when_its_visit_is_over(
    hold: Callable[[Engine], object],
) -> None:
    engine = paused(claimed=True)
    engine.fire("go")
    engine.fire("back")
    hold(engine)
    engine.resume()
    assert engine.where == ("a", 2, "active")
    assert "'a'" in engine.said("event_dropped")[0]["reason"]


def test_two_true_guards_drop_the_event_and_fail_the_token() -> None:
    engine = paused()
    engine.fire("twice")
    assert behind(engine, engine.resume) == "resumed event_dropped task_cancelled failed"
    assert "matched more than one guard" in engine.said("failed")[0]["reason"]


def test_an_error_that_nothing_takes_fails_the_token() -> None:
    engine = Engine(machine("START -> a\na -> END on go"))
    engine.start()
    engine.claim()
    engine.pause()
    engine.report_failed("boom")
    assert behind(engine, engine.resume) == "resumed event_dropped failed"
    (failed,) = engine.said("failed")
    assert failed["reason"].startswith("'a' failed, and has no transition on 'error': ")


# ── reports that no longer fit ──────────────────────────────────────────


def into_parallel(retries: int = 0, more: str = "") -> Engine:
    """A paused token whose task is claimed; `go` leads into a parallel state."""
    engine = Engine(
        machine(
            f"START -> a\na -> p on go\na -> b on error{more}\np -> END on joined",
            states={
                "a": {"retries": retries},
                "b": {"emits": []},
                "p": {"parallel": ["w"], "join": "all", "emits": []},
            },
            workflows={"w": flow("START -> x\nx -> END on seen")},
        )
    )
    engine.start()
    engine.claim()
    engine.pause()
    return engine


def take_the_id(engine: Engine) -> None:
    """Somebody has the id of the child meanwhile, so that nothing enters any more."""
    engine.taken = {child("w", state="p").lower()}


def held_back(retries: int, more: str = "") -> Engine:
    """A report is held that no longer fits."""
    engine = into_parallel(retries, more)
    engine.report("go", None, {"n": 1}, after("go", 60))
    take_the_id(engine)
    return engine


def test_a_report_that_no_longer_fits_fails_its_attempt_which_is_tried_again() -> None:
    engine = held_back(retries=1)
    assert behind(engine, engine.resume) == "resumed event_dropped task_failed task_retrying"
    assert engine.said("task_failed")[0]["error"] == engine.said("event_dropped")[0]["reason"]
    assert engine.token.context.value == {}
    assert (engine.task.status.value, engine.task.ready) == ("queued", True)
    engine.claim()
    assert engine.task.attempt == 2


def test_a_report_that_no_longer_fits_raises_error_without_retries() -> None:
    engine = held_back(retries=0)
    assert behind(engine, engine.resume) == (
        "resumed event_dropped task_failed event_accepted entered task_queued"
    )
    assert engine.where == ("b", 1, "active")


def test_a_fired_event_that_no_longer_fits_is_only_dropped() -> None:
    engine = into_parallel()
    engine.fire("go")
    take_the_id(engine)
    assert behind(engine, engine.resume) == "resumed event_dropped"
    assert engine.open_tasks == [1]


def test_an_attempt_that_failed_so_can_still_be_left_by_the_next_held_event() -> None:
    engine = held_back(retries=1, more="\na -> b on stop")
    engine.fire("stop")
    assert behind(engine, engine.resume) == (
        "resumed event_dropped task_failed task_retrying "
        "event_replayed event_accepted task_cancelled entered task_queued"
    )


def test_time_that_a_held_timer_waits_counts_from_the_resume() -> None:
    engine = paused(claimed=True)
    engine.report_waiting(None, after("go", 60))
    engine.wait(minutes=10)
    engine.resume()
    (timer,) = [each for each in engine.pending if each.kind.value == "timer"]
    assert timer.due_at == NOON + timedelta(minutes=11)
