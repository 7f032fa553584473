"""Each method's request: its line, its body, and whether it may be sent again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from stateous_client import InvalidArgument
from stateous_client.protocol import calls
from stateous_client.protocol.arguments import body
from stateous_client.protocol.exchange import Request

NO_FILTERS: dict[str, Any] = dict.fromkeys(
    ["status", "state", "workflow", "parent", "prefix", "moved_after", "moved_before", "limit"]
)
LATE = datetime(2027, 3, 1, 14, 51, 53, tzinfo=UTC)
FROM_OUTSIDE: dict[str, Any] = {"context": None, "attempt": None}


@pytest.mark.parametrize(
    ("request_", "line", "members", "repeatable"),
    [
        (calls.start("T-1", None), "POST /tokens", {"token": "T-1"}, True),
        (
            calls.start("T-1", {"repo": "é", "n": 10**40}),
            "POST /tokens",
            {"token": "T-1", "context": {"repo": "é", "n": 10**40}},
            True,
        ),
        (calls.start("T-1", {}), "POST /tokens", {"token": "T-1", "context": {}}, True),
        (calls.get("T-1"), "GET /tokens/T-1", None, True),
        (
            calls.get("T-1", held=60, until="moved"),
            "GET /tokens/T-1?until=moved&wait=60",
            None,
            True,
        ),
        (calls.tokens(**NO_FILTERS), "GET /tokens", None, True),
        (
            calls.tokens(**NO_FILTERS | {"status": "active", "prefix": "a&b", "limit": 5}),
            "GET /tokens?status=active&prefix=a%26b&limit=5",
            None,
            True,
        ),
        (calls.tokens(**NO_FILTERS | {"prefix": ""}), "GET /tokens?prefix=", None, True),
        (
            calls.tokens(
                **NO_FILTERS | {"moved_after": LATE, "moved_before": "2028-01-01T00:00:00Z"}
            ),
            "GET /tokens?moved_after=2027-03-01T14%3A51%3A53%2B00%3A00"
            "&moved_before=2028-01-01T00%3A00%3A00Z",
            None,
            True,
        ),
        (calls.history("T-1"), "GET /tokens/T-1/history", None, True),
        (
            calls.history("T-1", after=7, limit=2, held=3),
            "GET /tokens/T-1/history?after=7&limit=2&wait=3",
            None,
            True,
        ),
        (calls.fire("T-1", "done", None, key=None), "POST /tokens/T-1/events/done", {}, False),
        (
            calls.fire("T-1", "done", {"a": None}, key="k"),
            "POST /tokens/T-1/events/done",
            {"payload": {"a": None}},
            True,
        ),
        (calls.steer("T-1", "pause"), "POST /tokens/T-1/pause", None, False),
        (calls.steer("T-1", "resume"), "POST /tokens/T-1/resume", None, False),
        (calls.steer("T-1", "cancel"), "POST /tokens/T-1/cancel", None, False),
        (
            calls.report(4, "approved", None, **FROM_OUTSIDE),
            "POST /tasks/4/report",
            {"kind": "event", "event": "approved"},
            False,
        ),
        (
            calls.report(4, "approved", {"by": "ann"}, context={"n": 1}, attempt=2),
            "POST /tasks/4/report",
            {
                "kind": "event",
                "event": "approved",
                "payload": {"by": "ann"},
                "context": {"n": 1},
                "attempt": 2,
            },
            False,
        ),
        (
            calls.report_failed(4, "", attempt=None),
            "POST /tasks/4/report",
            {"kind": "failed", "error": ""},
            False,
        ),
        (
            calls.send_report(4, {"kind": "waiting", "supervisor": "box"}),
            "POST /tasks/4/report",
            {"kind": "waiting", "supervisor": "box"},
            False,
        ),
        (
            calls.note(4, "hello", attempt=None, number=None),
            "POST /tasks/4/note",
            {"text": "hello"},
            False,
        ),
        (
            calls.note(4, "hello", attempt=1, number=9),
            "POST /tasks/4/note",
            {"text": "hello", "attempt": 1, "number": 9},
            False,
        ),
        (
            calls.memory(4, "k", None, attempt=1, number=None),
            "PUT /tasks/4/memory",
            {"key": "k", "value": None, "attempt": 1},
            True,
        ),
        (
            calls.tasks(status="waiting", state="w/x", token="T", limit=1),
            "GET /tasks?status=waiting&state=w%2Fx&token=T&limit=1",
            None,
            True,
        ),
        (calls.workflow(), "GET /workflow", None, True),
        (calls.health(), "GET /health", None, True),
        (calls.ready(), "GET /ready", None, True),
        (
            calls.claim("box", ["a", "w/b"], (), request=None, wait=0),
            "POST /tasks/claim",
            {"supervisor": "box", "states": ["a", "w/b"]},
            False,
        ),
        (
            calls.claim("box", (), ["m/r"], request="r1", wait=30),
            "POST /tasks/claim",
            {"supervisor": "box", "states": [], "jobs": ["m/r"], "request": "r1", "wait": 30},
            True,
        ),
        (
            calls.claim_many("box", ["a"], (), request="r1", wait=0, max=8),
            "POST /tasks/claim",
            {"supervisor": "box", "states": ["a"], "request": "r1", "max": 8},
            True,
        ),
        (
            calls.heartbeat("box", {4}),
            "POST /tasks/heartbeat",
            {"supervisor": "box", "tasks": [4]},
            True,
        ),
    ],
)
def test_a_request(
    request_: Request[Any], line: str, members: dict[str, Any] | None, repeatable: bool
) -> None:
    assert f"{request_.method} {request_.target}" == line
    assert (None if request_.body is None else json.loads(request_.body)) == members
    assert dict(request_.headers).get("Content-Type") == (
        None if members is None else b"application/json"
    )
    assert request_.repeatable is repeatable


@pytest.mark.parametrize(
    ("token", "segment"),
    [
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("a.b", "a.b"),
        ("a/b", "a%2Fb"),
        ("a b?c#d%2F", "a%20b%3Fc%23d%252F"),
        ("é\x00", "%C3%A9%00"),
        ("~_-", "~_-"),
    ],
)
def test_an_id_is_one_segment_of_the_path(token: str, segment: str) -> None:
    assert calls.get(token).path == f"/tokens/{segment}"
    assert calls.fire("T", token, None, key=None).path == f"/tokens/T/events/{segment}"


def test_only_long_polls_hold_an_answer_back() -> None:
    assert calls.claim("box", ["a"], (), request=None, wait=30).held == 30
    assert calls.get("T", held=60).held == 60
    assert calls.history("T", held=5).held == 5
    assert calls.get("T").held == 0


def test_a_body_is_compact_utf8() -> None:
    assert body({"a": ["é", 1.0, True, None]}) == '{"a":["é",1.0,true,null]}'.encode()


class Payload(BaseModel):
    text: str = "x"


LOOP: dict[str, Any] = {}
LOOP["self"] = [LOOP]
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "value",
    [
        {"a": float("nan")},
        {"a": [float("-inf")]},
        {1: "a"},
        {"a": [{None: 1}]},
        {"a": ({True: 1},)},
        {"a": "\ud800"},
        {"\udfff": 1},
        {"a": {1, 2}},
        {"a": b"bytes"},
        {"a": Decimal(1)},
        {"a": LATE},
        {"a": Payload()},
        Payload(),
        LOOP,
        {"a": DEEP},
        {"a": 10**5000},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_refused_before_it_is_sent(value: Any) -> None:
    for ask in (
        lambda: calls.start("T", value),
        lambda: calls.fire("T", "e", value, key=None),
        lambda: calls.report(1, "e", value, **FROM_OUTSIDE),
        lambda: calls.report(1, "e", None, context=value, attempt=None),
        lambda: calls.memory(1, "k", value, attempt=None, number=None),
        lambda: calls.send_report(1, value),
    ):
        with pytest.raises(InvalidArgument):
            ask()


@pytest.mark.parametrize("key", ["k", "k" * 256, "ключ", "a b", "\x85", "€" * 256])
def test_a_key_goes_as_utf8(key: str) -> None:
    sent = calls.fire("T", "e", None, key=key)
    assert dict(sent.headers)["Idempotency-Key"] == key.encode()


@pytest.mark.parametrize(
    "key", ["", "k" * 257, "a\nb", "a\rb", "a\tb", "\x7f", "\x00", " a", "a ", "\ud800", 5, b"k"]
)
def test_a_bad_key_is_refused(key: Any) -> None:
    with pytest.raises(InvalidArgument):
        calls.fire("T", "e", None, key=key)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: calls.get(""),
        lambda: calls.get(5),  # type: ignore[arg-type]
        lambda: calls.get("\ud800"),
        lambda: calls.start("", None),
        lambda: calls.start(None, None),  # type: ignore[arg-type]
        lambda: calls.fire("T", "", None, key=None),
        lambda: calls.report(1, "", None, **FROM_OUTSIDE),
        lambda: calls.report("1", "e", None, **FROM_OUTSIDE),  # type: ignore[arg-type]
        lambda: calls.report(True, "e", None, **FROM_OUTSIDE),
        lambda: calls.report(-1, "e", None, **FROM_OUTSIDE),
        lambda: calls.report(10**5000, "e", None, **FROM_OUTSIDE),
        lambda: calls.report(1, "e", None, context=None, attempt=1.0),  # type: ignore[arg-type]
        lambda: calls.report_failed(1, None, attempt=None),  # type: ignore[arg-type]
        lambda: calls.send_report(1, "done"),  # type: ignore[arg-type]
        lambda: calls.note(1, None, attempt=None, number=None),  # type: ignore[arg-type]
        lambda: calls.memory(1, None, 1, attempt=None, number=None),  # type: ignore[arg-type]
        lambda: calls.history("T", after="1"),  # type: ignore[arg-type]
        lambda: calls.history("T", limit=True),
        lambda: calls.tokens(**NO_FILTERS | {"limit": "5"}),
        lambda: calls.tokens(**NO_FILTERS | {"prefix": "\ud800"}),
        lambda: calls.tokens(**NO_FILTERS | {"moved_after": datetime(2027, 1, 1)}),
        lambda: calls.claim("", ["a"], (), request=None, wait=0),
        lambda: calls.claim("box", "coding", (), request=None, wait=0),
        lambda: calls.claim("box", [1], (), request=None, wait=0),  # type: ignore[list-item]
        lambda: calls.claim("box", ["a"], (), request=None, wait=0.5),  # type: ignore[arg-type]
        lambda: calls.heartbeat("box", 4),  # type: ignore[arg-type]
        lambda: calls.heartbeat("box", ["4"]),  # type: ignore[list-item]
    ],
)
def test_a_wrong_argument_is_refused_before_it_is_sent(ask: Any) -> None:
    with pytest.raises(InvalidArgument):
        ask()


def test_a_moment_keeps_its_offset() -> None:
    there = datetime(2027, 3, 1, tzinfo=timezone(timedelta(hours=2)))
    asked = calls.tokens(**NO_FILTERS | {"moved_after": there})
    assert asked.query == (("moved_after", "2027-03-01T00:00:00+02:00"),)
