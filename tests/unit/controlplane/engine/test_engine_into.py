"""`into`: payloads kept in the context (`docs/spec/wire.md` 3.7, `docs/spec/authoring.md` 2.8)."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.wire.problems import Code
from tests.support.engine import Engine, after, code_of, reason_of
from tests.support.graphs import machine

KEPT = machine(
    """
    START -> work
    work -> done on report if ctx['result'] == null
    work -> again on report otherwise
    done -> work on back
    again -> work on report
    again -> END on back
    """,
    context="Ctx",
    events={"report": {"payload": "Report", "into": "result"}},
    schemas={
        "Ctx": {
            "type": "object",
            "properties": {
                "result": {"anyOf": [{"$ref": "#/schemas/Report"}, {"type": "null"}]},
                "n": {"type": "integer"},
            },
        },
        "Report": {"type": "object", "properties": {"n": {"type": "integer", "default": 7}}},
    },
)


def started(context: Any = None) -> Engine:
    engine = Engine(KEPT)
    engine.start(context)
    return engine


def test_the_payload_is_kept_after_routing_and_before_entering() -> None:
    engine = started()
    engine.fire("report", {"n": 1, "more": 2})
    assert engine.told(behind=4) == [
        ("event_accepted", {"event": "report", "payload": {"n": 1, "more": 2}, "state": "work"}),
        ("context_changed", {"keys": ["result"]}),
        ("task_cancelled", {"task": 1}),
        ("entered", {"state": "done", "visit": 1}),
        ("task_queued", {"task": 2, "state": "done"}),
    ]
    assert engine.token.context.value == {"result": {"n": 1, "more": 2}}


def test_the_guards_of_the_event_see_the_old_value() -> None:
    engine = started({"result": {"n": 0}})
    engine.fire("report", {"n": 1})
    assert engine.token.state == "again"
    engine.fire("report", {"n": 2})
    assert engine.token.context.value == {"result": {"n": 2}}


@pytest.mark.parametrize("payload", [None, {}])
def test_no_payload_is_kept_as_an_empty_object_without_defaults(payload: Any) -> None:
    engine = started({"result": {"n": 0}})
    engine.fire("report", payload)
    assert engine.token.context.value == {"result": {}}
    assert engine.said("event_accepted")[-1]["payload"] == payload


def test_a_reports_own_changes_come_first() -> None:
    engine = started()
    engine.claim()
    engine.report("report", {"n": 1}, {"n": 5, "result": None})
    assert engine.kinds(behind=5) == (
        "context_changed event_accepted context_changed task_done entered task_queued"
    )
    assert engine.said("context_changed") == [{"keys": ["n", "result"]}, {"keys": ["result"]}]
    assert engine.token.context.value == {"n": 5, "result": {"n": 1}}


def test_a_timers_payload_is_kept_too() -> None:
    engine = started()
    engine.claim()
    engine.report_waiting(None, after("report", 5, {"n": 3}))
    engine.wait(seconds=6)
    engine.fire_timer(1)
    assert engine.token.context.value == {"result": {"n": 3}}


def test_a_key_that_was_not_there_is_added_at_the_end() -> None:
    engine = started({"z": 1, "n": 2})
    engine.fire("report", {"n": 1})
    assert engine.token.context.text == '{"z":1,"n":2,"result":{"n":1}}'


def test_a_refused_event_keeps_nothing() -> None:
    engine = started()
    engine.fire("report", {"n": 1})
    assert code_of(engine.fire("report", {"n": 2})) is Code.EVENT_NOT_ALLOWED
    assert engine.token.context.value == {"result": {"n": 1}}


def test_two_true_guards_keep_nothing() -> None:
    engine = Engine(
        machine(
            "START -> a\na -> END on go if 1 < 2\na -> a on go if 1 < 3",
            events={"go": {"payload": "Any", "into": "k"}},
            schemas={"Any": {"type": "object"}},
        )
    )
    engine.start()
    engine.fire("go", {"n": 1})
    assert engine.token.context.value == {}
    assert engine.token.status.value == "failed"


# A context that does not let the payload in: such a document is not the compiler's, but it runs.
NARROW = machine(
    """
    START -> a
    a -> b on go
    a -> b on timeout
    b -> END on stop
    """,
    context="Ctx",
    states={"a": {"timeout": "1h"}},
    events={"go": {"payload": "Any", "into": "k"}},
    schemas={
        "Ctx": {
            "type": "object",
            "properties": {"k": {"type": "object", "maxProperties": 1}},
        },
        "Any": {"type": "object"},
    },
)


def test_a_move_whose_kept_payload_breaks_the_schema_is_refused() -> None:
    engine = Engine(NARROW)
    engine.start()
    reply = engine.fire("go", {"a": 1, "b": 2})
    assert code_of(reply) is Code.EVENT_NOT_ALLOWED
    assert "'go'" in reason_of(reply)
    assert engine.told(behind=5) == [
        ("event_rejected", {"event": "go", "reason": reason_of(reply)})
    ]
    assert engine.where == ("a", 1, "active")
    assert engine.token.context.value == {}


def test_a_reported_move_whose_kept_payload_breaks_the_schema_leaves_the_task() -> None:
    engine = Engine(NARROW)
    engine.start()
    engine.claim()
    reply = engine.report("go", {"a": 1, "b": 2}, {"n": 1})
    assert code_of(reply) is Code.EVENT_NOT_ALLOWED
    assert engine.kinds(behind=6) == "event_rejected"
    assert engine.task.status.value == "claimed"


def test_a_timers_payload_that_cannot_be_kept_is_recorded() -> None:
    engine = Engine(NARROW)
    engine.start()
    engine.claim()
    engine.report_waiting(None, after("go", 5, {"a": 1, "b": 2}))
    engine.wait(seconds=6)
    engine.fire_timer(2)
    assert engine.kinds(behind=8) == "timer_fired event_rejected"


def test_a_context_must_not_grow_or_deepen_for_ever() -> None:
    engine = Engine(
        machine(
            "START -> a\na -> a on go",
            events={"go": {"payload": "Any", "into": "k"}},
            schemas={"Any": {"type": "object"}},
        )
    )
    engine.start()
    deep: Any = {}
    for _ in range(62):
        deep = {"a": deep}
    engine.fire("go", deep)
    assert engine.token.visit == 2
    assert code_of(engine.fire("go", {"a": deep})) is Code.EVENT_NOT_ALLOWED
    assert code_of(engine.fire("go", {"a": "x" * 1_048_576})) is Code.EVENT_NOT_ALLOWED
    assert engine.token.visit == 2
