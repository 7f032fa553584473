"""Each kind of the ledger has its text, and no text from outside can leave its line."""

from __future__ import annotations

from datetime import UTC, date, timedelta, timezone
from typing import Any

import pytest

from stateous.visible import visible
from stateous_cli.output.history import entry_text, history_lines
from stateous_cli.output.tokens import token_line, token_lines
from stateous_cli.output.visible import json_text

TEXTS: list[tuple[str, dict[str, Any], str]] = [
    ("started", {"context": {}}, "started"),
    ("started", {"context": {}, "parent": "INV-1"}, "started by INV-1"),
    ("branch_started", {"workflow": "tax", "token": "I.c.1.tax"}, "started the child I.c.1.tax"),
    ("entered", {"state": "coding", "visit": 1}, "entered coding"),
    ("entered", {"state": "coding", "visit": 3}, "entered coding (visit 3)"),
    (
        "event_accepted",
        {"event": "__started__", "payload": None, "state": "__start__"},
        "__started__ in START",
    ),
    ("event_accepted", {"event": "done", "payload": {}, "state": "coding"}, "done in coding: {}"),
    (
        "event_accepted",
        {"event": "passed", "payload": {"n": 1.0}, "state": "testing"},
        'passed in testing: {"n":1.0}',
    ),
    ("event_rejected", {"event": "paid", "reason": "no way"}, "paid refused: no way"),
    ("event_deferred", {"event": "paid", "payload": None, "arrival": 1}, "paid held while paused"),
    ("event_replayed", {"event": "paid"}, "paid applied on resume"),
    ("event_dropped", {"event": "paid", "reason": "left"}, "paid dropped on resume: left"),
    ("task_queued", {"task": 7, "state": "coding"}, "task 7 queued for coding"),
    (
        "task_claimed",
        {"task": 7, "supervisor": "box-a", "attempt": 2},
        "box-a took task 7 (attempt 2)",
    ),
    ("task_waiting", {"task": 7}, "task 7 waits: for an event, a timer or a report"),
    ("task_done", {"task": 7}, "task 7 done"),
    ("task_failed", {"task": 7, "error": "ValueError: boom"}, "task 7 failed: ValueError: boom"),
    ("task_retrying", {"task": 7, "attempt": 2}, "task 7 is tried again (attempt 2)"),
    ("task_cancelled", {"task": 7}, "task 7 cancelled"),
    (
        "timer_set",
        {"event": "timeout", "due_at": "2027-03-01T23:30:00Z"},
        "timer set: timeout at 2027-03-02 00:30:00",
    ),
    ("timer_fired", {"event": "timeout"}, "timer fired: timeout"),
    ("context_changed", {"keys": ["a", "b"]}, "context changed: a, b"),
    ("note", {"task": 7, "text": "half\nway"}, r"half\nway"),
    ("memory_set", {"state": "coding", "memory_key": "k"}, "memory set: k (in coding)"),
    ("memory_deleted", {"state": "coding", "memory_key": "k"}, "memory deleted: k (in coding)"),
    ("paused", {}, "paused"),
    ("resumed", {}, "resumed"),
    ("completed", {}, "completed"),
    ("cancelled", {}, "cancelled"),
    ("cancelled", {"reason": "the parent left"}, "cancelled: the parent left"),
    ("failed", {"reason": "'coding' timed out"}, "failed: 'coding' timed out"),
    ("teleported", {"to": "mars"}, 'teleported {"to":"mars"}'),
]


@pytest.mark.parametrize(("kind", "data", "text"), TEXTS)
def test_a_kind_has_its_text(kind: str, data: dict[str, Any], text: str) -> None:
    assert entry_text(kind, data, timezone(timedelta(hours=1))) == text


def test_all_26_kinds_of_a_workflow_token_are_worded() -> None:
    assert len({kind for kind, _, _ in TEXTS} - {"teleported"}) == 26


def test_a_long_payload_is_cut_at_80_characters() -> None:
    data = {"event": "done", "payload": {"text": "x" * 100}, "state": "coding"}
    shown = entry_text("event_accepted", data).removeprefix("done in coding: ")
    assert len(shown) == 80
    assert shown.endswith("…")


@pytest.mark.parametrize(
    ("today", "line"),
    [
        (date(2027, 3, 1), "14:51:53  #9  completed"),
        (date(2027, 3, 2), "2027-03-01 14:51:53  #9  completed"),
    ],
)
def test_the_date_stands_only_before_entries_of_other_days(today: date, line: str) -> None:
    entry = {"seq": 9, "at": "2027-03-01T14:51:53.873706Z", "kind": "completed", "data": {}}
    assert history_lines([entry], today=today, zone=UTC) == [line]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain Zürich 漢 😀", "plain Zürich 漢 😀"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x1b[31m\x00\x7f", r"\x1b[31m\x00\x7f"),
        ("\x85\x9b", r"\x85\x9b"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\u202e\u2066\u200f\u061c", r"\u202e\u2066\u200f\u061c"),
        ("\udc80", r"\udc80"),
    ],
)
def test_unsafe_characters_become_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_json_keeps_its_meaning_and_hides_no_control_character() -> None:
    assert json_text({"a": "\x9b\u202eü", "n": 10**30}) == (
        '{"a":"\\u009b\\u202eü","n":1000000000000000000000000000000}'
    )


@pytest.mark.parametrize(
    ("token", "line"),
    [
        (
            {"token": "T-1", "state": "coding", "status": "active", "visit": 1},
            "T-1: coding, active",
        ),
        (
            {"token": "T-1", "state": "coding", "status": "failed", "visit": 2},
            "T-1: coding (visit 2), failed",
        ),
    ],
)
def test_a_token_is_a_line(token: dict[str, Any], line: str) -> None:
    assert token_line(token) == line


def test_no_tokens_is_said() -> None:
    assert token_lines([]) == ["no tokens"]
