"""Bodies: which command one becomes, or which refusal, and in which order it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stateous.json import JsonText
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.api.commands import claim_of, fire_of, heartbeat_of, start_of
from stateous_controlplane.api.outcomes import memory_of, note_of, report_of
from stateous_controlplane.engine.commands import (
    AddNote,
    Claim,
    Fire,
    Heartbeat,
    ReportEvent,
    ReportFailed,
    ReportWaiting,
    Schedule,
    Start,
    WriteMemory,
)

PLACE = {"token": "T-1", "event": "done", "task": "7"}
KEY = b"idempotency-key"
BIG = 2**63
Shape = Callable[..., Any]


def refused_with(answer: object) -> Code:
    assert isinstance(answer, Refusal), answer
    assert 10 < len(answer.sentence) < 400
    return answer.code


@pytest.mark.parametrize(
    ("shape", "body", "command"),
    [
        (start_of, {"token": "T"}, Start("T")),
        (start_of, {"token": "T", "context": None, "more": 1}, Start("T")),
        (start_of, {"token": "T", "context": {}}, Start("T", JsonText("{}"))),
        (
            start_of,
            {"token": "T.1_x-" + "y" * 120, "context": {"n": 10**400, "s": "é"}},
            Start("T.1_x-" + "y" * 120, JsonText('{"n":1' + "0" * 400 + ',"s":"é"}')),
        ),
        (fire_of, {}, Fire("T-1", "done")),
        (fire_of, {"payload": None}, Fire("T-1", "done")),
        (fire_of, {"payload": {}}, Fire("T-1", "done", JsonText("{}"))),
        (claim_of, {"supervisor": "s", "states": []}, Claim("s")),
        (claim_of, {"supervisor": "s", "jobs": []}, Claim("s")),
        (
            claim_of,
            {"supervisor": "s" * 256, "states": ["x" * 129, "w/x"], "jobs": ["m/r", "scripts"]},
            Claim("s" * 256, ("x" * 129, "w/x"), ("m/r", "scripts")),
        ),
        (
            claim_of,
            {"supervisor": "s", "states": ["x"], "request": "A.-_9" * 12, "wait": 30, "max": 100},
            Claim("s", ("x",), (), "A.-_9" * 12, 30, 100),
        ),
        (
            claim_of,
            {"supervisor": "s", "states": ["x"] * 1000, "request": None, "wait": 0},
            Claim("s", ("x",) * 1000),
        ),
        (heartbeat_of, {"supervisor": "s", "tasks": []}, Heartbeat("s", ())),
        (
            heartbeat_of,
            {"supervisor": "s", "tasks": [3, 1, 3, BIG - 1]},
            Heartbeat("s", (3, 1, 3, BIG - 1)),
        ),
        (report_of, {"kind": "waiting"}, ReportWaiting(7)),
        (report_of, {"kind": "event", "event": ""}, ReportEvent(7, "")),
        (
            report_of,
            {
                "kind": "event",
                "event": "done",
                "payload": {"n": 1.0},
                "context": {"a": None},
                "schedules": [
                    {"event": "late", "after": "15m"},
                    {"event": "late", "after": "3650d", "payload": {"x": 1}},
                ],
                "attempt": BIG * BIG,
                "supervisor": "s",
                "error": 5,
            },
            ReportEvent(
                7,
                "done",
                JsonText('{"n":1.0}'),
                JsonText('{"a":null}'),
                (
                    Schedule("late", "15m"),
                    Schedule("late", "3650d", JsonText('{"x":1}')),
                ),
                BIG * BIG,
                "s",
            ),
        ),
        (
            report_of,
            {
                "kind": "event",
                "event": "e",
                "context": {},
                "supervisor": None,
                "attempt": None,
                "schedules": [],
            },
            ReportEvent(7, "e"),
        ),
        (
            report_of,
            {
                "kind": "waiting",
                "context": {"a": 1},
                "schedules": [{"event": "late", "after": "1s"}],
                "attempt": 1,
                "supervisor": "s",
                "event": 5,
                "payload": {"x": 1},
            },
            ReportWaiting(7, JsonText('{"a":1}'), (Schedule("late", "1s"),), 1, "s"),
        ),
        (
            report_of,
            {"kind": "failed", "error": "", "context": {"a": 1}, "attempt": 2},
            ReportFailed(7, "", 2),
        ),
        (note_of, {"text": " \n a\nb \u2003"}, AddNote(7, "a\nb")),
        (
            note_of,
            {"text": "x" * 500, "attempt": BIG - 1, "number": 1},
            AddNote(7, "x" * 500, BIG - 1, 1),
        ),
        (note_of, {"text": " " * 900 + "x", "attempt": None, "number": None}, AddNote(7, "x")),
        (memory_of, {"key": "k", "value": None}, WriteMemory(7, "k", None)),
        (
            memory_of,
            {"key": "k" * 128, "value": [1, {"a": False}], "attempt": 1, "number": BIG - 1},
            WriteMemory(7, "k" * 128, JsonText('[1,{"a":false}]'), 1, BIG - 1),
        ),
    ],
)
def test_a_body_becomes_a_command(shape: Shape, body: Any, command: object) -> None:
    assert shape(body, PLACE, {}) == command


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid_token_id"),
        ({"token": None}, "invalid_token_id"),
        ({"token": 7}, "invalid_token_id"),
        ({"token": ["T"]}, "invalid_token_id"),
        ({"token": ""}, "invalid_token_id"),
        ({"token": "-x"}, "invalid_token_id"),
        ({"token": "é"}, "invalid_token_id"),
        ({"token": "T\n"}, "invalid_token_id"),
        ({"token": "٣"}, "invalid_token_id"),
        ({"token": "x" * 129}, "invalid_token_id"),
        ({"token": "T", "context": []}, "invalid_context"),
        ({"token": "T", "context": "x"}, "invalid_context"),
        ({"token": "T", "context": False}, "invalid_context"),
        # The id is a text, then the context, then the id's form.
        ({"token": 7, "context": []}, "invalid_token_id"),
        ({"token": "-x", "context": []}, "invalid_context"),
    ],
)
def test_starts_that_are_refused(body: Any, code: str) -> None:
    assert refused_with(start_of(body, {}, {})) == code


@pytest.mark.parametrize("payload", [[], [1], "x", 1, 0, 1.5, True, False, ""])
def test_a_payload_is_an_object_or_null(payload: Any) -> None:
    assert refused_with(fire_of({"payload": payload}, PLACE, {})) == "invalid_payload"
    assert (
        refused_with(report_of({"kind": "failed", "error": "x", "payload": payload}, PLACE, {}))
        == "invalid_body"
    )


@pytest.mark.parametrize(
    ("header", "key"),
    [
        (b"k1", "k1"),
        (b"x" * 256, "x" * 256),
        ("é€😀".encode() * 80, "é€😀" * 80),
        (b"a b", "a b"),
        ("\u0080\u2028".encode(), "\u0080\u2028"),
    ],
)
def test_an_idempotency_key(header: bytes, key: str) -> None:
    assert fire_of({}, PLACE, {KEY: header}) == Fire("T-1", "done", None, key)


@pytest.mark.parametrize(
    "header", [b"", b"x" * 257, b"a\tb", b"\x1f", b"\x7f", b"\xff", b"\xed\xa0\x80", b"a\nb"]
)
def test_keys_that_are_refused(header: bytes) -> None:
    assert refused_with(fire_of({}, PLACE, {KEY: header})) == "invalid_payload"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"states": ["x"]}, "invalid_argument"),
        ({"supervisor": None, "states": ["x"]}, "invalid_argument"),
        ({"supervisor": "", "states": 5}, "invalid_argument"),
        ({"supervisor": "s" * 257, "states": ["x"]}, "invalid_argument"),
        ({"supervisor": "s"}, "invalid_body"),
        ({"supervisor": "s", "states": None}, "invalid_body"),
        ({"supervisor": "s", "states": None, "jobs": []}, "invalid_body"),
        ({"supervisor": "s", "states": "x"}, "invalid_body"),
        ({"supervisor": "s", "states": {"x": 1}}, "invalid_body"),
        ({"supervisor": "s", "states": [""]}, "invalid_body"),
        ({"supervisor": "s", "states": ["x", 1]}, "invalid_body"),
        ({"supervisor": "s", "states": ["x" * 130]}, "invalid_body"),
        ({"supervisor": "s", "states": ["x"] * 1001}, "invalid_argument"),
        ({"supervisor": "s", "jobs": None}, "invalid_body"),
        ({"supervisor": "s", "jobs": ["x"] * 1001}, "invalid_argument"),
        ({"supervisor": "s", "states": ["x"], "jobs": [1]}, "invalid_body"),
        *(
            ({"supervisor": "s", "states": ["x"], name: value}, "invalid_argument")
            for name, values in {
                "request": ("", "a b", "x" * 65, "x\n", 5, True, [], "é"),
                "wait": (-1, 31, True, 1.0, "1", None, BIG),
                "max": (0, 101, True, 1.0, "2", None, -1),
            }.items()
            for value in values
        ),
        # states, jobs, request, wait, max
        ({"supervisor": "s", "states": 5, "jobs": ["x"] * 1001, "wait": 99}, "invalid_body"),
        ({"supervisor": "s", "states": ["x"], "jobs": [1], "request": ""}, "invalid_body"),
    ],
)
def test_claims_that_are_refused(body: Any, code: str) -> None:
    assert refused_with(claim_of(body, {}, {})) == code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"tasks": []}, "invalid_argument"),
        ({"supervisor": "s"}, "invalid_body"),
        ({"supervisor": "s", "tasks": None}, "invalid_body"),
        ({"supervisor": "s", "tasks": {}}, "invalid_body"),
        *(
            ({"supervisor": "s", "tasks": [1, task]}, "invalid_body")
            for task in (0, -1, BIG, True, 1.0, "1", None)
        ),
        ({"supervisor": "s", "tasks": [1] * 1001}, "invalid_argument"),
    ],
)
def test_heartbeats_that_are_refused(body: Any, code: str) -> None:
    assert refused_with(heartbeat_of(body, {}, {})) == code


TIMER = {"event": "late", "after": "1s"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        *(
            ({"kind": "waiting", "supervisor": name}, "invalid_argument")
            for name in ("", 5, True, [], "s" * 257)
        ),
        *(({"kind": kind}, "invalid_body") for kind in (None, "done", "Event", 5, [], {})),
        ({}, "invalid_body"),
        ({"kind": "event"}, "invalid_body"),
        ({"kind": "event", "event": None}, "invalid_body"),
        ({"kind": "event", "event": 5}, "invalid_body"),
        ({"kind": "failed"}, "invalid_body"),
        ({"kind": "failed", "error": None}, "invalid_body"),
        ({"kind": "failed", "error": ["x"]}, "invalid_body"),
        *(({"kind": "waiting", "schedules": given}, "invalid_body") for given in (None, {}, "x")),
        *(
            ({"kind": "waiting", "attempt": given}, "invalid_body")
            for given in (0, -1, True, 1.0, "1", [])
        ),
        ({"kind": "waiting", "payload": 5}, "invalid_body"),
        ({"kind": "waiting", "context": [1]}, "invalid_body"),
        ({"kind": "failed", "error": "x", "context": "x"}, "invalid_body"),
        *(
            ({"kind": "failed", "error": "x", "schedules": [TIMER, timer]}, "invalid_body")
            for timer in (
                1,
                None,
                {},
                {"event": "e"},
                {"event": 5, "after": "1s"},
                {"after": "1s"},
                *({"event": "e", "after": after} for after in ("0s", "01s", "1", "1 s", "3651d")),
                *({"event": "e", "after": after} for after in (5, None, True, "٣s", "9" * 5000)),
                {"event": "e", "after": "1s", "payload": []},
                {"event": "e", "after": "1s", "payload": "x"},
            )
        ),
        ({"kind": 5, "supervisor": ""}, "invalid_argument"),
    ],
)
def test_reports_that_are_refused(body: Any, code: str) -> None:
    assert refused_with(report_of(body, PLACE, {})) == code


@pytest.mark.parametrize(
    ("shape", "body", "code"),
    [
        *(
            (note_of, {"text": text}, "invalid_payload")
            for text in ("", " \n ", 5, None, "x" * 501)
        ),
        (note_of, {}, "invalid_payload"),
        (note_of, {"text": "", "attempt": 0}, "invalid_payload"),
        *((memory_of, {"key": key, "value": 1}, "invalid_payload") for key in ("", 5, "k" * 129)),
        (memory_of, {}, "invalid_payload"),
        (memory_of, {"key": "k"}, "invalid_body"),
        (memory_of, {"key": "k", "attempt": 0}, "invalid_body"),
        *(
            (shape, {"text": "x", "key": "k", "value": 1, **wrong}, "invalid_argument")
            for shape in (note_of, memory_of)
            for wrong in (
                *({"attempt": given} for given in (0, -1, True, 1.0, "1", BIG)),
                *({"attempt": 1, "number": given} for given in (0, True, 1.0, "1", BIG)),
                {"number": 1},
            )
        ),
    ],
)
def test_notes_and_memory_writes_that_are_refused(shape: Shape, body: Any, code: str) -> None:
    assert refused_with(shape(body, PLACE, {})) == code


@pytest.mark.parametrize("digits", ["0", "000", str(BIG), "9" * 5000])
@pytest.mark.parametrize(
    ("shape", "body"),
    [
        (report_of, {"kind": "waiting"}),
        (note_of, {"text": "x"}),
        (memory_of, {"key": "k", "value": 1}),
    ],
)
def test_a_task_that_cannot_exist_comes_after_the_shape(
    digits: str, shape: Shape, body: Any
) -> None:
    place = {"task": digits}
    assert refused_with(shape(body, place, {})) == "task_not_found"
    assert refused_with(shape({}, place, {})) != "task_not_found"


@pytest.mark.parametrize(("digits", "task"), [("007", 7), (str(BIG - 1), BIG - 1)])
def test_a_task_in_a_path(digits: str, task: int) -> None:
    assert note_of({"text": "x"}, {"task": digits}, {}) == AddNote(task, "x")
