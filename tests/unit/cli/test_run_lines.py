"""Runs as lines (`docs/spec/statechart.md` 17)."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from stateous_cli.output.history import entry_text
from stateous_cli.output.run_history import RUN_TEXTS
from stateous_cli.output.runs import run_line, run_lines, ticket_lines, whole_run_lines

RUN: dict[str, Any] = {
    "id": "run-1",
    "machine": "review",
    "graph": "sha256:1",
    "key": None,
    "parent": None,
    "job": None,
    "status": "active",
    "configuration": [{"state": "drafting", "visit": 1, "entered_at": "2026-11-30T15:04:06Z"}],
    "error": None,
    "started_at": "2026-11-30T15:04:06Z",
    "ended_at": None,
    "input": {"document": "der Plan – ü"},
    "output": None,
    "jobs": [],
    "timers": [],
    "tickets": [],
    "kept": [],
}
ENDED = {"ended_at": "2026-11-30T15:05:06Z"}
DOCUMENT = {
    "statechart": "review",
    "states": {
        "drafting": {"job": {"script": "draft.js"}},
        "outer": {
            "states": {
                "both": {
                    "jobs": [
                        {"job": "price", "routine": "quote"},
                        {"job": "chat", "machine": "shared/chat.yaml"},
                    ]
                }
            }
        },
    },
    "machines": {"shared/chat.yaml": {"statechart": "chat", "states": {}}},
}


def path(*states: tuple[str, int]) -> dict[str, Any]:
    return {"configuration": [{"state": state, "visit": visit} for state, visit in states]}


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (RUN, "run-1: review: drafting, active"),
        (RUN | path(("a", 2), ("b", 1)), "run-1: review: a/b, active"),
        (RUN | path(("a", 1), ("b", 3)), "run-1: review: a/b (visit 3), active"),
        (RUN | {"id": "x\n"}, "x\\n: review: drafting, active"),
        (RUN | path() | {"status": "failed"}, "run-1: review: -, failed"),
    ],
)
def test_a_run_is_one_line(run: dict[str, Any], line: str) -> None:
    assert run_line(run) == line
    assert run_lines([run]) == [line]


def test_no_runs_are_said() -> None:
    assert run_lines([]) == ["no runs"]


def test_what_goes_on_in_a_run() -> None:
    run = RUN | {
        "jobs": [
            {"job": "drafting", "state": "drafting", "kind": "script", "status": "queued"},
            {
                "job": "price",
                "state": "both",
                "kind": "routine",
                "status": "claimed",
                "attempt": 2,
                "task": 4,
            },
            {"job": "chat", "state": "both", "kind": "machine", "status": "running", "run": "r-2"},
            {"job": "gone", "state": "nowhere", "kind": "script", "status": "queued"},
        ],
        "timers": [
            {
                "timer": "too_long",
                "state": "waiting",
                "text": "48h",
                "due_at": "2026-12-02T15:04:06Z",
            }
        ],
        "tickets": [{"ticket": "verdict", "state": "waiting", "id": "tid_1"}],
        "kept": [{"event": "order", "from": "client", "at": "2026-12-02T15:04:06Z"}],
    }
    assert whole_run_lines(run, DOCUMENT, UTC) == [
        "run-1: review: drafting, active",
        'input: {"document": "der Plan – ü"}',
        "job: drafting: script draft.js, queued",
        "job: price: routine quote, claimed (attempt 2)",
        "job: chat: machine shared/chat.yaml, running: r-2",
        "job: gone: script, queued",
        "timer: too_long in waiting, due 2026-12-02 15:04:06",
        "ticket: verdict in waiting, open",
        "kept: order",
    ]


@pytest.mark.parametrize(
    ("end", "last"),
    [
        ({"status": "completed", "output": None}, "output: null"),
        ({"status": "completed", "output": "A draft"}, 'output: "A draft"'),
        (
            {
                "status": "failed",
                "error": {"code": "job", "message": "the job x failed: no"},
                "output": None,
            },
            "error: job: the job x failed: no",
        ),
        ({"status": "cancelled"}, 'input: {"document": "der Plan – ü"}'),
    ],
)
def test_how_a_run_ended(end: dict[str, Any], last: str) -> None:
    assert whole_run_lines(RUN | ENDED | end, {})[-1] == last


def test_tickets_have_their_values() -> None:
    assert ticket_lines([{"ticket": "verdict", "value": "tk_x"}]) == ["verdict: tk_x"]


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        ("started", {"by": "client"}, "started"),
        ("started", {"by": "parent", "parent": "run-0", "job": "x"}, "started by run-0"),
        ("started", {"by": "run-9", "sender": "run-9", "send": 4}, "started by run-9"),
        ("left", {"state": "waiting", "visit": 2}, "left waiting"),
        ("event_accepted", {"event": "go", "data": None, "state": "a"}, "go in a"),
        ("event_accepted", {"event": "go", "data": {"n": 1}, "state": "a"}, 'go in a: {"n":1}'),
        ("event_kept", {"event": "go", "data": None, "from": "client"}, "go kept"),
        ("event_dropped", {"event": "go", "reason": "no_rule"}, "go dropped: no_rule"),
        ("sent", {"event": "go", "to": "parent"}, "sent go to parent"),
        ("sent", {"event": "go", "to": {"key": "chat:1"}}, 'sent go to {"key":"chat:1"}'),
        (
            "undelivered",
            {"event": "go", "to": "child", "reason": "left"},
            "go to child undelivered: left",
        ),
        ("ticket_issued", {"ticket": "t", "state": "a", "id": "tid_1"}, "ticket t issued"),
        ("ticket_answered", {"ticket": "t", "state": "a", "id": "tid_1"}, "ticket t answered"),
        ("branch_ended", {"run": "run-2", "status": "completed"}, "the child run-2 completed"),
        ("failed", {"code": "loop", "reason": "no end"}, "failed: loop: no end"),
        ("note", {"text": "half done"}, "half done"),
        (
            "note",
            {"about": "condition", "event": "go", "state": "a", "text": "Key not found"},
            "a condition of go in a counts as false: Key not found",
        ),
        ("paused", {}, "paused"),
    ],
)
def test_what_an_entry_of_a_run_says(kind: str, data: dict[str, Any], text: str) -> None:
    assert entry_text(kind, data, UTC, RUN_TEXTS) == text
