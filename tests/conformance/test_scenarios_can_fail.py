"""The reader of scenarios notices what is not as expected: in each field, and in each result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import InMemory
from tests.support.scenarios.comparing import Seen, differences, same
from tests.support.scenarios.player import Scenario, problems_of

DATA = Path(__file__).parent / "data" / "statechart"

SEEN = Seen(
    run={
        "status": "completed",
        "configuration": [{"state": "outer"}, {"state": "inner"}],
        "output": {"sum": 6, "ok": True},
        "input": {"n": 1},
        "key": "k-1",
        "error": {"code": "job", "message": "the job a failed: boom"},
        "outputs": {"inner": 1},
        "kept": [{"event": "order"}, {"event": "bill"}],
        "tickets": [{"ticket": "verdict"}, {"ticket": "boss"}],
        "timers": [{"timer": "late", "due_at": "2026-06-01T10:00:00.000123Z"}],
        "jobs": [
            {"job": "b", "status": "claimed"},
            {"job": "a", "status": "queued"},
            {"job": "c", "status": "done"},
        ],
    },
    history=[
        {"kind": "entered", "data": {"state": "outer", "visit": 1}},
        {"kind": "event_dropped", "data": {"event": "x", "from": "client"}},
        {"kind": "left", "data": {"state": "outer"}},
    ],
    sends=[
        {"to": "parent", "event": "a", "data": 1, "delivered": "recorded"},
        {
            "to": {"machine": "c.yaml", "key": "k"},
            "event": "b",
            "data": None,
            "delivered": "started",
        },
    ],
)

RIGHT: dict[str, Any] = {
    "status": "completed",
    "state": ["outer", "inner"],
    "visited": ["+outer", "-outer"],
    "output": {"sum": 6.0, "ok": True},
    "error": "boom",
    "outputs": {"inner": 1, "outer": None},
    "input": {"n": 1},
    "key": "k-1",
    "kept": ["order", "bill"],
    "tickets": ["boss", "verdict"],
    "timers": {"late": "2026-06-01T10:00:00Z"},
    "jobs": ["a", "b"],
    "sends": [
        {"to": "parent", "event": "a", "data": 1, "delivered": "recorded"},
        {
            "to": {"machine": "./c.yaml", "key": "k"},
            "event": "b",
            "data": None,
            "delivered": "started",
        },
    ],
    "history": [{"kind": "entered", "state": "outer"}, {"kind": "left"}],
}


def test_what_is_as_expected_is_no_difference() -> None:
    assert differences(RIGHT, SEEN) == []


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("status", "failed"),
        ("state", ["outer"]),
        ("state", ["inner", "outer"]),
        ("visited", ["+outer"]),
        ("visited", ["-outer", "+outer"]),
        ("output", {"sum": 6}),
        ("output", {"sum": 6, "ok": 1}),
        ("output", {"sum": 6, "ok": True, "more": None}),
        ("error", None),
        ("error", "bang"),
        ("outputs", {"inner": 2}),
        ("outputs", {"outer": 1}),
        ("input", {}),
        ("key", None),
        ("kept", ["bill", "order"]),
        ("tickets", ["verdict"]),
        ("timers", {}),
        ("timers", {"late": "2026-06-01T10:00:01Z"}),
        ("jobs", ["a", "b", "c"]),
        ("sends", [RIGHT["sends"][0]]),
        ("sends", RIGHT["sends"][::-1]),
        ("sends", [RIGHT["sends"][0], {**RIGHT["sends"][1], "delivered": "taken"}]),
        ("sends", [RIGHT["sends"][0], {**RIGHT["sends"][1], "to": {"key": "k"}}]),
        ("history", [{"kind": "left"}, {"kind": "entered"}]),
        ("history", [{"kind": "entered", "state": "inner"}]),
        ("history", [{"kind": "entered", "nothing": "x"}]),
        ("states", ["outer", "inner"]),
    ],
)
def test_what_is_not_as_expected_is_named(field: str, wrong: Any) -> None:
    (words,) = differences({**RIGHT, field: wrong}, SEEN)
    assert field in words


def test_a_run_without_an_error_has_none() -> None:
    well = Seen({**SEEN.run, "error": None}, SEEN.history, SEEN.sends)
    assert differences({"error": None}, well) == []
    assert differences({"error": ""}, well) != []


def test_numbers_are_compared_by_value_and_booleans_are_none() -> None:
    assert same([1, 2.0, None], [1.0, 2, None])
    assert not same(True, 1)
    assert not same(0, None)


async def _played(scenario: str, **changed: Any) -> list[str]:
    given = Scenario(DATA / scenario)
    return await problems_of(given, InMemory().open(), {**given.told, **changed})


async def test_each_step_and_each_run_is_looked_at() -> None:
    steps: list[dict[str, Any]] = [
        {"submit": {"input": {}}, "expect": {"state": ["serving"]}},
        {"repeat": 3, "send": {"event": "bill", "data": "#"}, "result": "dropped"},
        {"send": {"event": "order", "data": 1}, "result": "kept", "expect": {"kept": ["bill"]}},
        {"reply": {"ticket": "none", "value": "tk_x", "answer": 1}, "result": "taken"},
        {"cancel": True},
        {"cancel": True},
        {"run": "other", "submit": {"input": 1, "key": ""}},
    ]
    expect = {"main": {"status": "completed", "error": None, "output": 1}}
    assert await _played("defer", steps=steps, expect=expect) == [
        "step 1, submit main: main: state: expected ['serving'], found ['cooking']",
        *["step 2, send main: expected dropped, got kept"] * 3,
        "step 3, send main: main: kept: expected ['bill'], found ['bill', 'bill', 'bill', 'order']",
        "step 4, reply main: expected taken, got refused ticket_refused",
        "step 6, cancel main: expected no refusal, got refused run_not_active",
        "step 7, submit other: expected no refusal, got refused invalid_argument",
        "at the end: main: status: expected 'completed', found 'cancelled'",
        "at the end: main: output: expected 1, found None",
    ]


async def test_a_held_job_that_is_over_is_not_ok() -> None:
    steps = [
        {"submit": {"input": {}}},
        {"finish": {"job": "calc", "output": 5}, "result": "ignored"},
        {"finish": {"job": "calc", "output": 5}, "result": "ok"},
    ]
    assert await _played("cancel-on-leave", steps=steps, expect={}) == [
        "step 2, finish main: expected ignored, got ok",
        "step 3, finish main: expected ok, got ignored",
    ]
