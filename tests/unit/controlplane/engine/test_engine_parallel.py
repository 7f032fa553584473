"""Parallel states: entering starts all children or none, leaving cancels them (3.7, 3.14)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stateous.graph.machine import Machine
from stateous.wire.problems import Code
from stateous_controlplane.engine.replies import TokenReply
from tests.support.engine import BOX, Engine, T, after, code_of, reason_of
from tests.support.families import DESIGN, SECURITY, child, nested, reviews
from tests.support.graphs import flow, machine

TIMED = reviews(timeout="1h")


def in_reviews(flow: Machine = TIMED) -> Engine:
    engine = Engine(flow)
    engine.start({"repo": "acme/api"})
    engine.fire("done")
    return engine


def test_entering_starts_the_children_in_the_same_command() -> None:
    engine = Engine(TIMED)
    engine.start({"repo": "acme/api"})
    said = len(engine.ledger)
    engine.fire("done")
    assert len({entry.at for entry in engine.ledger[said:]}) == 1
    assert engine.told(behind=4, of=T) == [
        ("event_accepted", {"event": "done", "payload": None, "state": "coding"}),
        ("task_cancelled", {"task": 1}),
        ("entered", {"state": "reviews", "visit": 1}),
        ("timer_set", {"event": "timeout", "due_at": "2027-03-01T13:00:00.000001Z"}),
        ("branch_started", {"workflow": "security", "token": SECURITY}),
        ("branch_started", {"workflow": "design", "token": DESIGN}),
    ]
    context = {"level": 1, "score": None, "repo": "acme/api"}
    for token, task in ((SECURITY, 2), (DESIGN, 3)):
        assert engine.told(of=token) == [
            ("started", {"context": context, "parent": T}),
            ("event_accepted", {"event": "__started__", "payload": None, "state": "__start__"}),
            ("entered", {"state": "look", "visit": 1}),
            ("task_queued", {"task": task, "state": "look"}),
        ]
    assert [task.queue for task in engine.family.tasks.values()] == [
        "coding",
        "security/look",
        "design/look",
    ]


def test_each_child_starts_whole_before_the_next() -> None:
    engine = in_reviews()
    order = [(entry.token, entry.kind) for entry in engine.ledger[-10:]]
    assert order == [
        (T, "branch_started"),
        *((SECURITY, kind) for kind in ("started", "event_accepted", "entered", "task_queued")),
        (T, "branch_started"),
        *((DESIGN, kind) for kind in ("started", "event_accepted", "entered", "task_queued")),
    ]


def test_a_start_can_enter_a_parallel_state_down_through_nested_ones() -> None:
    engine = Engine(nested())
    engine.start({"repo": "r"})
    engine.fire("done")
    deep = child("deep", state="outer")
    assert engine.standing() == {
        T: "outer active",
        deep: "both active",
        child("security", state="both", parent=deep): "look active",
        child("design", state="both", parent=deep): "look active",
        child("design", state="outer"): "look active",
    }


def test_children_get_the_inputs_that_the_context_has_and_their_own_defaults() -> None:
    engine = in_reviews()
    context = engine.family.tokens[SECURITY].context.value
    assert context == {"level": 1, "score": None, "repo": "acme/api"}


def test_inputs_are_read_after_the_changes_of_the_report_that_enters() -> None:
    engine = Engine(TIMED)
    engine.start({"repo": "old"})
    engine.claim()
    engine.report("done", None, {"repo": "new"})
    assert engine.family.tokens[SECURITY].context.value["repo"] == "new"


LEAVING: list[tuple[str, str, Callable[[Engine], object]]] = [
    ("an event", "'hurry'", lambda engine: engine.fire("hurry")),
    ("a timeout", "'timeout'", lambda engine: engine.fire_timer(engine.timeout.id)),
]


@pytest.mark.parametrize(("_", "event", "leave"), LEAVING, ids=[each[0] for each in LEAVING])
def test_leaving_cancels_the_live_children(
    _: str, event: str, leave: Callable[[Engine], object]
) -> None:
    engine = in_reviews(reviews(timeout="1h", more="reviews -> coding on timeout"))
    engine.claim(task=2)
    engine.fire("skip", token=DESIGN)
    engine.wait(hours=2)
    leave(engine)
    assert engine.where == ("coding", 2, "active")
    assert engine.standing()[SECURITY] == "look cancelled"
    assert engine.standing()[DESIGN] == "look completed"
    assert engine.told(behind=5, of=SECURITY) == [
        ("task_cancelled", {"task": 2}),
        ("cancelled", {"reason": f"the parent left 'reviews' on {event}"}),
    ]


def test_a_self_transition_starts_children_of_the_next_visit() -> None:
    engine = in_reviews(reviews(more="reviews -> reviews on again"))
    engine.fire("again")
    assert engine.standing() == {
        T: "reviews active",
        SECURITY: "look cancelled",
        DESIGN: "look cancelled",
        child("security", 2): "look active",
        child("design", 2): "look active",
    }


def test_a_failed_parent_cancels_its_children_first() -> None:
    engine = in_reviews()
    engine.wait(hours=2)
    engine.fire_timer(engine.timeout.id)
    assert engine.standing() == {
        T: "reviews failed",
        SECURITY: "look cancelled",
        DESIGN: "look cancelled",
    }
    assert engine.ledger[-1].kind == "failed"
    assert engine.said("cancelled")[0]["reason"].startswith("the parent failed: 'reviews' timed")


def test_leaving_cancels_down_to_the_deepest() -> None:
    engine = Engine(nested())
    engine.start({"repo": "r"})
    engine.fire("done")
    engine.fire("hurry")
    ended = [status for token, status in engine.standing().items() if token != T]
    assert ended == ["both cancelled", "look cancelled", "look cancelled", "look cancelled"]
    assert engine.open_tasks == [5]
    deep = child("deep", state="outer")
    inner = engine.said("cancelled", of=child("security", state="both", parent=deep))
    assert deep in inner[0]["reason"]


# ── all of them start, or none ──────────────────────────────────────────


NO_REPO = "the child workflow 'security' cannot start"


def test_a_fire_that_cannot_enter_is_refused_and_nothing_starts() -> None:
    engine = Engine(TIMED)
    engine.start({})
    reply = engine.fire("done", key="k")
    assert code_of(reply) is Code.EVENT_NOT_ALLOWED
    assert NO_REPO in reason_of(reply)
    assert engine.kinds(behind=4) == "event_rejected"
    assert engine.standing() == {T: "coding active"}
    assert not engine.family.keys


def test_the_second_child_counts_as_the_first() -> None:
    strict = flow("START -> look\nlook -> END on seen", context="Strict")
    schemas = {"Strict": {"type": "object", "required": ["n"]}}
    easy = flow("START -> look\nlook -> END on seen")
    engine = Engine(
        machine(
            "START -> a\na -> p on go\np -> END on joined",
            states={"p": {"parallel": ["easy", "strict"], "join": "all"}},
            schemas=schemas,
            workflows={"easy": easy, "strict": strict},
        )
    )
    engine.start()
    assert code_of(engine.fire("go")) is Code.EVENT_NOT_ALLOWED
    assert engine.standing() == {T: "a active"}


def guarded_start(lines: str) -> Machine:
    return machine(
        "START -> a\na -> p on go\np -> END on joined",
        states={"p": {"parallel": ["w"], "join": "all", "inputs": ["n"]}},
        workflows={"w": flow(f"{lines}\nx -> END on seen")},
    )


@pytest.mark.parametrize(
    ("lines", "context"),
    [
        ("START -> x if ctx['n'] > 1", {"n": 1}),
        ("START -> x if ctx['n'] > 1\nSTART -> x if ctx['n'] > 2", {"n": 3}),
    ],
    ids=["no START transition holds", "two do"],
)
def test_one_start_transition_of_each_child_must_hold(lines: str, context: object) -> None:
    engine = Engine(guarded_start(lines))
    engine.start(context)
    reply = engine.fire("go")
    assert code_of(reply) is Code.EVENT_NOT_ALLOWED
    assert "'w' cannot start" in reason_of(reply)


def test_a_report_that_cannot_enter_is_refused_and_the_task_stays_held() -> None:
    engine = Engine(TIMED)
    engine.start({})
    engine.claim()
    reply = engine.report("done", None, {"secret": "t"}, after("done", 60), supervisor=BOX)
    assert code_of(reply) is Code.EVENT_NOT_ALLOWED
    assert engine.kinds(behind=5) == "event_rejected"
    assert engine.token.context.value["secret"] == "s"
    assert not engine.pending
    assert engine.task.status.value == "claimed"


def test_a_start_whose_first_state_cannot_be_entered_is_refused() -> None:
    direct = machine(
        "START -> p\np -> END on joined",
        states={"p": {"parallel": ["w"], "join": "all"}},
        schemas={"Strict": {"type": "object", "required": ["n"]}},
        workflows={"w": flow("START -> x\nx -> END on seen", context="Strict")},
    )
    engine = Engine(direct)
    assert code_of(engine.start()) is Code.INVALID_CONTEXT
    assert not engine.family.tokens
    assert not engine.ledger


def test_a_routine_timer_that_cannot_enter_is_recorded_and_the_token_stays() -> None:
    engine = Engine(TIMED)
    engine.start({})
    engine.claim()
    engine.report_waiting(None, after("done", 60))
    engine.wait(minutes=2)
    engine.fire_timer(1)
    assert engine.kinds(behind=7) == "timer_fired event_rejected"
    assert engine.where == ("coding", 1, "active")


OWN: list[tuple[str, str, Callable[[Engine], object]]] = [
    ("error", "'a' failed, and ", lambda engine: engine.report_failed("boom")),
    ("timeout", "'a' timed out: ", lambda engine: engine.fire_timer(1)),
]


@pytest.mark.parametrize(("event", "reason", "happen"), OWN, ids=[each[0] for each in OWN])
def test_an_own_event_that_cannot_enter_fails_the_token(
    event: str, reason: str, happen: Callable[[Engine], object]
) -> None:
    strict = flow("START -> x\nx -> END on seen", context="Strict")
    engine = Engine(
        machine(
            f"START -> a\na -> p on {event}\np -> END on joined",
            states={"a": {"timeout": "1h"}, "p": {"parallel": ["w"], "join": "all"}},
            schemas={"Strict": {"type": "object", "required": ["n"]}},
            workflows={"w": strict},
        )
    )
    engine.start()
    engine.claim()
    engine.wait(hours=2)
    happen(engine)
    assert engine.where == ("a", 1, "failed")
    (failed,) = engine.said("failed")
    assert failed["reason"].startswith(reason)
    assert "'w' cannot start" in failed["reason"]


# ── children are tokens ─────────────────────────────────────────────────


def test_children_take_events_and_keys_like_any_token() -> None:
    engine = in_reviews()
    engine.fire("seen", {"points": 3}, key="k", token=SECURITY)
    again = engine.fire("seen", {"points": 3}, key="k", token=SECURITY)
    other = engine.fire("seen", {"points": 4}, key="k", token=DESIGN)
    assert getattr(again, "matches", None) is True
    assert isinstance(other, TokenReply)
    assert engine.standing()[SECURITY] == "verdict active"
    assert engine.family.tokens[SECURITY].context.value["score"] == {"points": 3}
    assert engine.family.tokens[DESIGN].context.value["score"] == {"points": 4}


def test_a_child_counts_its_own_events_and_retries_its_own_tasks() -> None:
    engine = in_reviews()
    task = engine.task_of(SECURITY)
    engine.claim(task=task)
    engine.report_failed("boom", task=task)
    assert engine.kinds(behind=5, of=SECURITY) == "task_failed task_retrying"
    assert engine.family.tokens[SECURITY].counts == {"__started__": 1}
    assert engine.token.counts == {"__started__": 1, "done": 1}


def test_a_report_of_a_child_answers_the_child_also_when_its_end_moved_the_parent() -> None:
    engine = in_reviews(reviews("any"))
    task = engine.task_of(SECURITY)
    engine.claim(task=task)
    reply = engine.report("skip", task=task)
    assert isinstance(reply, TokenReply)
    assert (reply.token.token, reply.token.status.value) == (SECURITY, "completed")
    assert engine.where == ("merging", 1, "active")


LATE: list[tuple[str, Callable[[Engine, int], object]]] = [
    ("an event", lambda engine, task: engine.report("seen", {"points": 1}, task=task)),
    ("waiting", lambda engine, task: engine.report_waiting(task=task)),
    ("a failure", lambda engine, task: engine.report_failed("boom", task=task)),
    ("a note", lambda engine, task: engine.note("late", task=task)),
    ("a memory write", lambda engine, task: engine.remember("k", 1, task=task)),
]


@pytest.mark.parametrize(("_", "report"), LATE, ids=[each[0] for each in LATE])
def test_what_comes_late_from_a_cancelled_child_is_refused_and_leaves_nothing(
    _: str, report: Callable[[Engine, int], object]
) -> None:
    engine = in_reviews()
    task = engine.task_of(SECURITY)
    engine.claim(task=task)
    engine.fire("hurry")
    said = len(engine.ledger)
    reply = report(engine, task)
    assert code_of(reply) is Code.TASK_NOT_HELD  # type: ignore[arg-type]
    assert len(engine.ledger) == said
