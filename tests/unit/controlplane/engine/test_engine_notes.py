"""Notes and the memory of routines (`docs/spec/wire.md` 3.12, 2.6)."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.wire.problems import Code
from stateous_controlplane.engine.replies import Done
from tests.support.engine import Engine, code_of, text
from tests.support.graphs import machine

LOOP = machine(
    "START -> a\na -> b on go\nb -> a on back\na -> END on stop",
    states={"a": {"retries": 1}},
)


def claimed() -> Engine:
    engine = Engine(LOOP)
    engine.start()
    engine.claim()
    return engine


def memory(engine: Engine, state: str = "a") -> dict[str, Any]:
    return {key: each.value for key, each in engine.family.memory.get(("T-1", state), {}).items()}


def test_a_note_goes_into_the_history() -> None:
    engine = claimed()
    assert engine.note("line 1\nline 2 🎉", attempt=1) == Done()
    assert engine.told(behind=5) == [("note", {"task": 1, "text": "line 1\nline 2 🎉"})]


def test_memory_is_kept_and_the_ledger_tells_only_the_key() -> None:
    engine = claimed()
    assert engine.remember("plan", {"secret": [1]}) == Done()
    assert engine.remember("plan", {"secret": [2]}) == Done()
    assert memory(engine) == {"plan": {"secret": [2]}}
    assert engine.told(behind=5) == [
        ("memory_set", {"state": "a", "memory_key": "plan"}),
        ("memory_set", {"state": "a", "memory_key": "plan"}),
    ]


def test_null_deletes_and_is_recorded_only_when_there_was_something() -> None:
    engine = claimed()
    assert engine.remember("plan", None) == Done()
    assert engine.kinds(behind=5) == ""
    engine.remember("plan", 0)
    engine.remember("plan", None)
    assert memory(engine) == {}
    assert engine.kinds(behind=5) == "memory_set memory_deleted"
    assert engine.said("memory_deleted") == [{"state": "a", "memory_key": "plan"}]


def test_memory_belongs_to_the_state_and_outlives_visits_and_attempts() -> None:
    engine = claimed()
    engine.remember("plan", 1)
    engine.report_failed()
    engine.claim()
    engine.report("go")
    engine.claim()
    engine.remember("plan", 2)
    engine.report("back")
    assert memory(engine) == {"plan": 1}
    assert memory(engine, "b") == {"plan": 2}
    assert engine.token.visit == 2


@pytest.mark.parametrize("how", ["completed", "failed"])
def test_memory_goes_when_the_token_ends(how: str) -> None:
    engine = claimed()
    engine.remember("plan", 1)
    if how == "completed":
        engine.report("stop")
    else:
        engine.report_failed()
        engine.claim()
        engine.report_failed()
    assert engine.token.status.value == how
    assert memory(engine) == {}
    assert engine.effects.forgotten == {"T-1"}


def in_state(status: str) -> tuple[Engine, int]:
    engine = Engine(LOOP)
    engine.start()
    if status != "queued":
        engine.claim()
    match status:
        case "waiting":
            engine.report_waiting()
        case "retried":
            engine.report_failed()
        case "left":
            engine.fire("go")
        case "ended":
            engine.fire("stop")
    return engine, 1


@pytest.mark.parametrize("status", ["queued", "retried", "left", "ended"])
def test_only_a_task_that_is_worked_on_takes_them(status: str) -> None:
    engine, task = in_state(status)
    seq = engine.token.seq
    assert code_of(engine.note("x", task=task)) is Code.TASK_NOT_HELD
    assert code_of(engine.remember("k", 1, task=task)) is Code.TASK_NOT_HELD
    assert engine.token.seq == seq


def test_a_waiting_task_takes_them_from_anyone() -> None:
    engine, _ = in_state("waiting")
    assert engine.note("x", attempt=1) == Done()
    assert engine.remember("k", 1, attempt=1) == Done()


def test_the_attempt_is_looked_at_before_the_status() -> None:
    engine = claimed()
    assert code_of(engine.note("x", attempt=2)) is Code.TASK_NOT_HELD
    engine.report_failed()
    engine.claim()
    assert code_of(engine.note("x", attempt=1)) is Code.ATTEMPT_OVER
    assert code_of(engine.remember("k", 1, attempt=1)) is Code.ATTEMPT_OVER
    assert code_of(engine.note("x", task=99)) is Code.TASK_NOT_FOUND
    engine.fire("go")
    assert code_of(engine.note("x", task=1, attempt=1)) is Code.ATTEMPT_OVER


# ── numbered messages ───────────────────────────────────────────────────


def test_a_number_that_was_kept_is_answered_and_not_applied_again() -> None:
    engine = claimed()
    engine.note("one", attempt=1, number=7)
    engine.remember("k", 1, attempt=1, number=8)
    seq = engine.token.seq
    assert engine.note("one", attempt=1, number=7) == Done()
    assert engine.remember("k", 1, attempt=1, number=8) == Done()
    assert engine.remember("k", 2, attempt=1, number=3) == Done()
    assert engine.token.seq == seq
    assert memory(engine) == {"k": 1}
    assert engine.note("two", attempt=1, number=9) == Done()
    assert engine.said("note") == [{"task": 1, "text": "one"}, {"task": 1, "text": "two"}]


def test_numbers_begin_anew_with_each_attempt_and_others_need_none() -> None:
    engine = claimed()
    engine.note("one", attempt=1, number=7)
    engine.note("from outside")
    engine.report_failed()
    engine.claim()
    engine.note("two", attempt=2, number=1)
    assert [each["text"] for each in engine.said("note")] == ["one", "from outside", "two"]


def test_a_deletion_of_nothing_keeps_its_number() -> None:
    engine = claimed()
    engine.remember("k", None, attempt=1, number=5)
    engine.remember("k", 1, attempt=1, number=5)
    assert memory(engine) == {}
    assert text(None) is None
