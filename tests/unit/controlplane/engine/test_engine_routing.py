"""Routing: which transition an event takes (`docs/spec/wire.md` 3.6)."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.wire.problems import Code
from tests.support.engine import Engine, code_of, reason_of
from tests.support.graphs import machine

GUARDED = machine(
    """
    START -> a
    a -> high on go if payload.n > 5
    a -> low on go if payload.n < 0
    a -> middle on go otherwise
    a -> high on ctx if ctx['level'] == 'high'
    high -> END on go
    low -> END on go
    middle -> END on go
    """,
    events={"go": {"payload": "N"}},
    schemas={"N": {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}},
)


@pytest.mark.parametrize(
    ("payload", "state"),
    [({"n": 6}, "high"), ({"n": -1}, "low"), ({"n": 5}, "middle"), ({}, "middle"),
     (None, "middle"), ({"n": None}, "middle")],
)  # fmt: skip
def test_one_true_guard_is_taken_else_the_transition_without(payload: Any, state: str) -> None:
    engine = Engine(GUARDED)
    engine.start()
    engine.fire("go", payload)
    assert engine.token.state == state


def test_no_true_guard_and_no_other_way_refuses_the_event() -> None:
    engine = Engine(GUARDED)
    engine.start({"level": "low"})
    reply = engine.fire("ctx")
    assert code_of(reply) is Code.EVENT_NOT_ALLOWED
    assert "'ctx' from 'a'" in reason_of(reply)
    assert engine.kinds(behind=4) == "event_rejected"


def test_an_unguarded_transition_needs_no_mark() -> None:
    engine = Engine(machine("START -> a\na -> b on go if 1 > 2\na -> END on go\nb -> END on go"))
    engine.start()
    engine.fire("go")
    assert engine.token.status.value == "completed"


def test_counts_hold_the_event_that_is_decided_and_all_states() -> None:
    engine = Engine(
        machine(
            """
            START -> a
            a -> b on go
            a -> END on back
            b -> a on back if count('back') < 3
            b -> c on back if count('back') == 3 and count('go') == 3 and count('never') == 0
            c -> END on go if count('__started__') == 1 and count('go') == 4
            """
        )
    )
    engine.start()
    for _ in range(3):
        engine.fire("go")
        engine.fire("back")
    assert engine.where == ("c", 1, "active")
    engine.fire("go")
    assert engine.token.status.value == "completed"
    assert engine.token.counts == {"__started__": 1, "go": 4, "back": 3}


def test_refused_events_do_not_count() -> None:
    engine = Engine(
        machine("START -> a\na -> b on go\na -> END on x\nb -> END on x if count('x') == 1")
    )
    engine.start()
    engine.fire("go")
    engine.fire("go")
    engine.fire("x")
    assert engine.token.status.value == "completed"


def test_own_events_count() -> None:
    engine = Engine(
        machine(
            """
            START -> a
            a -> a on timeout if count('timeout') < 3
            a -> END on timeout if count('timeout') == 3
            """,
            states={"a": {"timeout": "10s"}},
        )
    )
    engine.start()
    for _ in range(3):
        engine.wait(seconds=11)
        engine.fire_timer(engine.timeout.id)
    assert engine.where == ("a", 3, "completed")


def test_two_true_guards_fail_the_token_with_the_answer_of_a_success() -> None:
    engine = Engine(
        machine(
            """
            START -> a
            a -> b on go if 1 < 2
            a -> END on go if 2 < 3
            a -> a on go otherwise
            b -> END on go
            """,
            states={"a": {"timeout": "1h"}},
        )
    )
    engine.start()
    reply = engine.fire("go", key="k")
    assert reply.token.status.value == "failed"  # type: ignore[union-attr]
    assert engine.where == ("a", 1, "failed")
    assert engine.kinds(behind=5) == "task_cancelled failed"
    reason = engine.said("failed")[0]["reason"]
    assert "matched more than one guard" in reason
    for name in ("'go'", "'a'", "'b'", "END"):
        assert name in reason
    assert engine.token.counts == {"__started__": 1}
    assert not engine.pending
    assert engine.token.ended_at == engine.token.at
