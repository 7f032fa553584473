"""Reports: every check of `docs/spec/wire.md` 3.10, in its order."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.replies import TokenReply
from stateous_controlplane.engine.rows import TaskStatus, TimerKind, TimerStatus
from tests.support.engine import BOX, Engine, after, code_of, context_of, reason_of
from tests.support.graphs import machine

JOBS = machine(
    """
    START -> work
    work -> check on done
    work -> work on more
    work -> stop on error
    check -> END on ok if ctx['n'] >= 3
    check -> work on more
    stop -> END on ok
    """,
    workflow="jobs",
    context="Ctx",
    states={"work": {"retries": 1, "timeout": "1h"}},
    events={"done": {"payload": "Num"}},
    schemas={
        "Ctx": {
            "type": "object",
            "properties": {"n": {"type": "integer", "default": 0}, "label": {"type": "string"}},
        },
        "Num": {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
        },
    },
)


def queued() -> Engine:
    engine = Engine(JOBS)
    engine.start()
    return engine


def claimed() -> Engine:
    engine = queued()
    engine.claim()
    return engine


def waiting() -> Engine:
    engine = claimed()
    engine.report_waiting()
    return engine


def second_attempt() -> Engine:
    engine = claimed()
    engine.report_failed()
    engine.claim("box-2")
    return engine


def over() -> Engine:
    engine = claimed()
    engine.fire("done", {"n": 1})
    return engine


BAD_CONTEXT = {"n": "x"}
BAD_TIMER = after("nosuch", 1)
BAD_PAYLOAD = {"n": "x"}

# Each row breaks the check that it names and, where it can, every check after it.
CHECKS = [
    ("2 the task exists", claimed, {"task": 99}, Code.TASK_NOT_FOUND),
    ("3 an earlier attempt", second_attempt, {"attempt": 1, "supervisor": BOX}, Code.ATTEMPT_OVER),
    ("3 a later attempt", claimed, {"attempt": 2}, Code.TASK_NOT_HELD),
    ("3 before 4: nobody has claimed it", queued, {"attempt": 1}, Code.TASK_NOT_HELD),
    ("3 before 4: the attempt is over", over, {"attempt": 0}, Code.ATTEMPT_OVER),
    ("4 queued", queued, {}, Code.TASK_NOT_HELD),
    ("4 over", over, {"task": 1}, Code.TASK_NOT_HELD),
    ("4 over, by its own supervisor", over, {"task": 1, "supervisor": BOX}, Code.TASK_NOT_HELD),
    ("5 another's", claimed, {"supervisor": "other"}, Code.TASK_NOT_HELD),
    ("5 a waiting task is nobody's", waiting, {"supervisor": BOX}, Code.TASK_NOT_HELD),
    ("8 before 9, 11, 12", claimed, {"changes": BAD_CONTEXT}, Code.INVALID_CONTEXT),
    ("9 before 11, 12", claimed, {"changes": None}, Code.INVALID_PAYLOAD),
]


@pytest.mark.parametrize(
    ("make", "who", "code"), [row[1:] for row in CHECKS], ids=[row[0] for row in CHECKS]
)
def test_the_checks_come_in_their_order_and_record_nothing(
    make: Any, who: dict[str, Any], code: Code
) -> None:
    engine = make()
    seq = engine.token.seq
    who = {"changes": BAD_CONTEXT, **who}
    changes = who.pop("changes")
    if make is over:
        who.setdefault("task", 1)
    assert code_of(engine.report("nosuch", BAD_PAYLOAD, changes, BAD_TIMER, **who)) is code
    assert engine.token.seq == seq
    assert not engine.effects


def test_a_supervisor_is_asked_for_before_a_waiting_report_is_looked_at() -> None:
    engine = claimed()
    reply = engine.report_waiting(BAD_CONTEXT, supervisor=None)
    assert code_of(reply) is Code.TASK_NOT_HELD
    assert engine.task.status is TaskStatus.CLAIMED


def test_a_failed_report_drops_the_rest_unchecked() -> None:
    # Its context, payload and timers are no part of the command at all.
    engine = claimed()
    assert isinstance(engine.report_failed(), TokenReply)


@pytest.mark.parametrize(
    ("timer", "names"),
    [
        (after("nosuch", 1), "'nosuch'"),
        (after("timeout", 1), "'timeout'"),
        (after("__started__", 1), "'__started__'"),
        (after("done", 1), "done"),
        (after("done", 1, {"n": "x"}), "done: n: "),
        (after("ok", 1, {"a": 1}), "'ok' carries no payload"),
        (after("n" * 65, 1), "n" * 64 + "…"),
    ],
)
@pytest.mark.parametrize("kind", ["event", "waiting"])
def test_9_each_timer_is_checked(timer: Any, names: str, kind: str) -> None:
    engine = claimed()
    if kind == "event":
        reply = engine.report("more", None, {"label": "x"}, after("ok", 1), timer)
    else:
        reply = engine.report_waiting({"label": "x"}, after("ok", 1), timer)
    assert code_of(reply) is Code.INVALID_PAYLOAD
    assert names in reason_of(reply)
    assert not engine.effects


@pytest.mark.parametrize(
    "changes", [{"n": None}, {"n": "x"}, {"label": 1, "n": 1}, {"big": "x" * 1_048_576}]
)
@pytest.mark.parametrize("kind", ["event", "waiting"])
def test_8_the_context_with_the_changes_must_fit(changes: Any, kind: str) -> None:
    engine = claimed()
    reply = engine.report("more", None, changes) if kind == "event" else None
    reply = reply or engine.report_waiting(changes)
    assert code_of(reply) is Code.INVALID_CONTEXT
    assert not engine.effects


@pytest.mark.parametrize("event", ["ok", "nosuch", "timeout", "error", "__started__", "x" * 65])
def test_11_the_state_emits_the_event_or_it_is_refused_and_recorded(event: str) -> None:
    engine = claimed()
    reply = engine.report(event, BAD_PAYLOAD, {"label": "x"}, after("ok", 1), supervisor=BOX)
    assert code_of(reply) is Code.EVENT_NOT_ALLOWED
    assert "'done', 'more'" in reason_of(reply)
    shown = event if len(event) < 65 else "x" * 64 + "…"
    assert engine.told(behind=6) == [
        ("event_rejected", {"event": shown, "reason": reason_of(reply)})
    ]
    assert engine.task.status is TaskStatus.CLAIMED
    assert engine.token.context.value == {"n": 0}
    assert not [timer for timer in engine.pending if timer.kind is TimerKind.TIMER]


@pytest.mark.parametrize("payload", [None, {}, {"n": "x"}, {"n": None}])
def test_12_the_payload_must_fit_and_is_not_recorded(payload: Any) -> None:
    engine = claimed()
    assert code_of(engine.report("done", payload, {"label": "x"})) is Code.INVALID_PAYLOAD
    assert code_of(engine.report("more", {"a": 1})) is Code.INVALID_PAYLOAD
    assert engine.kinds(behind=6) == ""


def checking(n: int) -> Engine:
    engine = claimed()
    engine.report("done", {"n": 1}, {"n": n})
    engine.claim()
    return engine


def test_13_a_refused_event_is_recorded_saves_nothing_and_leaves_the_task() -> None:
    engine = checking(n=2)
    seq = engine.token.seq
    reply = engine.report("ok", None, {"label": "x"}, after("more", 5))
    assert code_of(reply) is Code.EVENT_NOT_ALLOWED
    assert engine.told(behind=seq) == [
        ("event_rejected", {"event": "ok", "reason": reason_of(reply)})
    ]
    assert engine.token.context.value == {"n": 2}
    assert engine.task.status is TaskStatus.CLAIMED
    assert not engine.pending


def test_13_guards_read_the_context_with_the_changes() -> None:
    engine = checking(n=2)
    engine.report("ok", None, {"n": 3})
    assert engine.token.status.value == "completed"


def test_13_two_true_guards_keep_the_changes_but_no_timers() -> None:
    engine = Engine(machine("START -> a\na -> END on go if ctx['n'] > 1\na -> a on go if 1 < 3"))
    engine.start({"n": 0})
    engine.claim()
    reply = engine.report("go", None, {"n": 5}, after("go", 60))
    assert context_of(reply) == {"n": 5}
    assert engine.where == ("a", 1, "failed")
    assert engine.kinds(behind=5) == "context_changed task_cancelled failed"
    assert not engine.family.timers


def test_15_all_that_a_moving_report_writes_in_its_order() -> None:
    engine = claimed()
    engine.wait(seconds=5)
    changes = {"n": 2, "zz": 1, "aa": None, "label": "l"}
    reply = engine.report(
        "done", {"n": 1, "x": "kept"}, changes, after("more", 60), after("ok", 1),
        attempt=1, supervisor=BOX,
    )  # fmt: skip
    assert context_of(reply) == {"n": 2, "zz": 1, "aa": None, "label": "l"}
    assert engine.told(behind=6) == [
        ("context_changed", {"keys": ["aa", "label", "n", "zz"]}),
        ("timer_set", {"event": "more", "due_at": "2027-03-01T12:01:05Z"}),
        ("timer_set", {"event": "ok", "due_at": "2027-03-01T12:00:06Z"}),
        ("event_accepted", {"event": "done", "payload": {"n": 1, "x": "kept"}, "state": "work"}),
        ("task_done", {"task": 1}),
        ("entered", {"state": "check", "visit": 1}),
        ("task_queued", {"task": 2, "state": "check"}),
    ]
    assert not engine.pending
    statuses = {timer.id: timer.status for timer in engine.family.timers.values()}
    assert statuses == dict.fromkeys((1, 2, 3), TimerStatus.CANCELLED)


def test_changes_merge_by_key_and_an_equal_value_is_a_change() -> None:
    engine = claimed()
    engine.report("more", None, {"n": 0})
    assert engine.said("context_changed") == [{"keys": ["n"]}]
    engine.claim()
    engine.report("more", None, {})
    engine.claim()
    engine.report("more", None, None)
    assert len(engine.said("context_changed")) == 1


def test_without_a_supervisor_anyone_may_end_a_claimed_task() -> None:
    engine = claimed()
    assert isinstance(engine.report("more"), TokenReply)
    assert engine.where == ("work", 2, "active")
    assert engine.family.tasks[1].status is TaskStatus.DONE


def test_without_a_supervisor_anyone_may_end_a_waiting_task() -> None:
    engine = waiting()
    assert isinstance(engine.report("done", {"n": 1}, attempt=1), TokenReply)
    assert engine.said("task_done") == [{"task": 1}]


def test_a_report_after_the_lease_is_over_is_taken_while_the_clock_has_not_seen_it() -> None:
    engine = claimed()
    engine.wait(hours=3)
    assert isinstance(engine.report("done", {"n": 1}, supervisor=BOX), TokenReply)


def test_a_second_report_finds_the_task_over() -> None:
    engine = claimed()
    engine.report("more", supervisor=BOX)
    assert code_of(engine.report("more", task=1, supervisor=BOX)) is Code.TASK_NOT_HELD


# ── 10: waiting ─────────────────────────────────────────────────────────


def test_a_waiting_report_saves_at_once_and_gives_the_lease_up() -> None:
    engine = claimed()
    engine.wait(seconds=5)
    reply = engine.report_waiting({"label": "x"}, after("ok", 60), after("done", 5, {"n": 1}))
    assert context_of(reply) == {"n": 0, "label": "x"}
    assert engine.told(behind=6) == [
        ("context_changed", {"keys": ["label"]}),
        ("timer_set", {"event": "ok", "due_at": "2027-03-01T12:01:05Z"}),
        ("timer_set", {"event": "done", "due_at": "2027-03-01T12:00:10Z"}),
        ("task_waiting", {"task": 1}),
    ]
    assert engine.task.status is TaskStatus.WAITING
    assert (engine.task.lease_until, engine.task.claimed_by) == (None, BOX)
    assert [timer.kind for timer in engine.pending] == [
        TimerKind.TIMEOUT,
        TimerKind.TIMER,
        TimerKind.TIMER,
    ]


def test_a_waiting_task_does_not_wait_twice() -> None:
    reply = waiting().report_waiting()
    assert code_of(reply) is Code.TASK_NOT_HELD


def test_every_refusal_holds_a_sentence_that_names_the_task() -> None:
    for make, who in ((queued, {}), (claimed, {"attempt": 7}), (claimed, {"supervisor": "x"})):
        reply = make().report("done", {"n": 1}, **who)
        assert isinstance(reply, Refusal)
        assert "task 1" in reply.sentence
