"""Bad input on a real socket: the status, the code and one sentence of `docs/spec/wire.md` 1.4.

After each of them everything on record is as it was, but for the `event_rejected` of a refused event.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from stateous_client import Client
from tests.support.databases import ServedDatabase
from tests.support.processes import ControlPlane, control_plane
from tests.support.served import ticket_graph

pytestmark = pytest.mark.e2e


class Served:
    """A control plane with `T-1` in `coding`, its task claimed by `box-1`; `T-2` has ended."""

    def __init__(self, process: ControlPlane, client: Client, database: ServedDatabase) -> None:
        self.process = process
        self.database = database
        client.start("T-1", {"repo": "acme/api"})
        client.claim("box-1", ["coding"])
        client.memory(1, "seen", 1)
        client.start("T-2")
        client.cancel("T-2")

    def records(self) -> list[Any]:
        """All that is on record of tokens."""
        return [
            self.database.query(f"SELECT * FROM {table}")
            for table in ("tokens", "tasks", "timers", "ledger", "memory", "claims", "kept")
        ]

    def send(
        self, method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection("127.0.0.1", self.process.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                connection.putheader(name, value)
            connection.endheaders()
            with contextlib.suppress(ConnectionError):  # refused unread: the answer is there
                connection.send(body)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def served(
    module_database: ServedDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("plane")
    url = module_database.url
    with control_plane(ticket_graph(folder), url, "--key-file", "ticket.key", cwd=folder) as (
        process,
        client,
    ):
        made = Served(process, client, module_database)
        yield made
        assert process.stop() == 0
        assert "Traceback" not in process.said
        assert process.said.count("\n") == 2, process.said


TOKENS = ("POST", "/tokens")
FIRE = ("POST", "/tokens/T-1/events/done")
CLAIM = ("POST", "/tasks/claim")
HEARTBEAT = ("POST", "/tasks/heartbeat")
REPORT = ("POST", "/tasks/1/report")
NOTE = ("POST", "/tasks/1/note")
MEMORY = ("PUT", "/tasks/1/memory")
TAKING_A_BODY = (TOKENS, FIRE, CLAIM, HEARTBEAT, REPORT, NOTE, MEMORY)

JSON = {"Content-Type": "application/json"}
HUNDRED_LEVELS = b'{"token":"T-9","context":' + b'{"a":' * 98 + b"[]" + b"}" * 99
LONG_NUMBER = b'{"token":"T-9","context":{"a":' + b"9" * 4301 + b"}}"

#: Bodies that are wrong whatever the endpoint takes.
WRONG_BODIES = {
    "cut short": (b'{"token":', 400, "bad_request"),
    "a comma too many": (b'{"a":1,}', 400, "bad_request"),
    "behind the end": (b'{"a":1} {}', 400, "bad_request"),
    "NaN": (b'{"a":NaN}', 400, "bad_request"),
    "-Infinity": (b'{"a":-Infinity}', 400, "bad_request"),
    "too great": (b'{"a":1e400}', 400, "bad_request"),
    "no UTF-8": (b'{"a":"\xff"}', 400, "bad_request"),
    "UTF-16": ('{"a":1}'.encode("utf-16"), 400, "bad_request"),
    "a byte order mark": (b'\xef\xbb\xbf{"a":1}', 400, "bad_request"),
    "a lone surrogate": (b'{"a":"\\ud800"}', 400, "bad_request"),
    "a key twice": (b'{"a":1,"a":1}', 400, "bad_request"),
    "100 levels": (HUNDRED_LEVELS, 400, "bad_request"),
    "4301 digits": (LONG_NUMBER, 400, "bad_request"),
    "NUL": (b'{"a":"\\u0000"}', 422, "invalid_body"),
    "NUL in a key": (b'{"a\\u0000":1}', 422, "invalid_body"),
    "a list": (b"[]", 422, "invalid_body"),
    "a text": (b'"T-9"', 422, "invalid_body"),
    "null": (b"null", 422, "invalid_body"),
}

#: A body that is an object, of the wrong shape.
WRONG_SHAPES: list[tuple[tuple[str, str], Any, int, str]] = [
    (TOKENS, {}, 422, "invalid_token_id"),
    (TOKENS, {"token": 5}, 422, "invalid_token_id"),
    (TOKENS, {"token": ""}, 422, "invalid_token_id"),
    (TOKENS, {"token": "T 1"}, 422, "invalid_token_id"),
    (TOKENS, {"token": "x" * 129}, 422, "invalid_token_id"),
    (TOKENS, {"token": "t-1"}, 422, "invalid_token_id"),
    (TOKENS, {"token": "T-9", "context": []}, 422, "invalid_context"),
    (TOKENS, {"token": "T-9", "context": "x"}, 422, "invalid_context"),
    (TOKENS, {"token": "T-9", "context": {"repo": 5}}, 422, "invalid_context"),
    (FIRE, {"payload": []}, 422, "invalid_payload"),
    (FIRE, {"payload": 0}, 422, "invalid_payload"),
    (FIRE, {"payload": {"a": 1}}, 422, "invalid_payload"),
    (CLAIM, {}, 422, "invalid_argument"),
    (CLAIM, {"supervisor": "", "states": []}, 422, "invalid_argument"),
    (CLAIM, {"supervisor": "x" * 257, "states": []}, 422, "invalid_argument"),
    (CLAIM, {"supervisor": "b"}, 422, "invalid_body"),
    (CLAIM, {"supervisor": "b", "states": "coding"}, 422, "invalid_body"),
    (CLAIM, {"supervisor": "b", "states": [1]}, 422, "invalid_body"),
    (CLAIM, {"supervisor": "b", "states": ["x"] * 1001}, 422, "invalid_argument"),
    (CLAIM, {"supervisor": "b", "states": ["x"], "wait": 31}, 422, "invalid_argument"),
    (CLAIM, {"supervisor": "b", "states": ["x"], "wait": 1.0}, 422, "invalid_argument"),
    (CLAIM, {"supervisor": "b", "states": ["x"], "max": True}, 422, "invalid_argument"),
    (CLAIM, {"supervisor": "b", "states": ["x"], "request": "a b"}, 422, "invalid_argument"),
    (HEARTBEAT, {"tasks": [1]}, 422, "invalid_argument"),
    (HEARTBEAT, {"supervisor": "b"}, 422, "invalid_body"),
    (HEARTBEAT, {"supervisor": "b", "tasks": ["1"]}, 422, "invalid_body"),
    (HEARTBEAT, {"supervisor": "b", "tasks": [2**63]}, 422, "invalid_body"),
    (HEARTBEAT, {"supervisor": "b", "tasks": [True]}, 422, "invalid_body"),
    (REPORT, {}, 422, "invalid_body"),
    (REPORT, {"kind": "nosuch"}, 422, "invalid_body"),
    (REPORT, {"kind": "event"}, 422, "invalid_body"),
    (REPORT, {"kind": "event", "event": 5}, 422, "invalid_body"),
    (REPORT, {"kind": "failed"}, 422, "invalid_body"),
    (REPORT, {"kind": "event", "event": "done", "schedules": None}, 422, "invalid_body"),
    (REPORT, {"kind": "event", "event": "done", "attempt": 0}, 422, "invalid_body"),
    (REPORT, {"kind": "event", "event": "done", "attempt": "1"}, 422, "invalid_body"),
    (REPORT, {"kind": "event", "event": "done", "supervisor": 5}, 422, "invalid_argument"),
    (REPORT, {"kind": "event", "event": "done", "context": []}, 422, "invalid_body"),
    (
        REPORT,
        {"kind": "event", "event": "done", "context": {"repo": 5}},
        422,
        "invalid_context",
    ),
    (
        REPORT,
        {"kind": "event", "event": "done", "schedules": [{"event": "nosuch", "after": "1m"}]},
        422,
        "invalid_payload",
    ),
    (
        REPORT,
        {"kind": "event", "event": "done", "schedules": [{"event": "done", "after": "1 m"}]},
        422,
        "invalid_body",
    ),
    (REPORT, {"kind": "event", "event": "done", "attempt": 2}, 409, "task_not_held"),
    (REPORT, {"kind": "event", "event": "done", "supervisor": "box-2"}, 409, "task_not_held"),
    (REPORT, {"kind": "waiting"}, 409, "task_not_held"),
    (("POST", "/tasks/99/report"), {"kind": "waiting"}, 404, "task_not_found"),
    (("POST", "/tasks/0/note"), {"text": "x"}, 404, "task_not_found"),
    (("POST", "/tasks/9223372036854775808/note"), {"text": "x"}, 404, "task_not_found"),
    (NOTE, {}, 422, "invalid_payload"),
    (NOTE, {"text": " "}, 422, "invalid_payload"),
    (NOTE, {"text": "x" * 501}, 422, "invalid_payload"),
    (NOTE, {"text": 5}, 422, "invalid_payload"),
    (NOTE, {"text": "x", "attempt": 1.0}, 422, "invalid_argument"),
    (MEMORY, {"value": 1}, 422, "invalid_payload"),
    (MEMORY, {"key": "", "value": 1}, 422, "invalid_payload"),
    (MEMORY, {"key": "k"}, 422, "invalid_body"),
    (MEMORY, {"key": "k", "value": 1, "attempt": 2**63}, 422, "invalid_argument"),
]

#: Paths and methods, without a body.
WRONG_PLACES: list[tuple[str, str, int, str]] = [
    ("GET", "/tokens/nobody", 404, "token_not_found"),
    ("GET", "/tokens/t-1", 404, "token_not_found"),
    ("GET", "/tokens/nobody/history", 404, "token_not_found"),
    ("POST", "/tokens/nobody/events/done", 404, "token_not_found"),
    ("POST", "/tokens/nobody/pause", 404, "token_not_found"),
    ("POST", "/tokens/T-2/pause", 409, "token_not_active"),
    ("POST", "/tokens/T-1/resume", 409, "token_not_active"),
    ("POST", "/tokens/T-2/cancel", 409, "token_not_active"),
    ("POST", "/tasks/99/report", 422, "invalid_body"),
    ("POST", "/tasks/one/note", 404, "not_found"),
    ("GET", "/tokens?limit=0", 422, "invalid_argument"),
    ("GET", "/tokens?limit=1001", 422, "invalid_argument"),
    ("GET", "/tokens?status=Active", 422, "invalid_argument"),
    ("GET", "/tokens?cursor=nonsense", 422, "invalid_argument"),
    ("GET", "/tokens?moved_after=yesterday", 422, "invalid_argument"),
    ("GET", "/tokens?prefix=", 422, "invalid_argument"),
    ("GET", "/tokens/T-1?wait=61", 422, "invalid_argument"),
    ("GET", "/tokens/T-1?wait=1&until=never", 422, "invalid_argument"),
    ("GET", "/tokens/T-1/history?after=-1", 422, "invalid_argument"),
    ("GET", "/tasks?status=open", 422, "invalid_argument"),
    ("GET", "/", 404, "not_found"),
    ("GET", "/tokens/", 404, "not_found"),
    ("GET", "/TOKENS", 404, "not_found"),
    ("GET", "/tokens/a%2Fb", 404, "not_found"),
    ("GET", "/tokens/%ff", 404, "not_found"),
    ("GET", "/tokens/T-1%00", 404, "not_found"),
    ("DELETE", "/tokens/T-1", 405, "method_not_allowed"),
    ("PUT", "/tokens", 405, "method_not_allowed"),
    ("GET", "/tasks/claim", 405, "method_not_allowed"),
    ("POST", "/tasks/1/memory", 405, "method_not_allowed"),
    ("PATCH", "/health", 405, "method_not_allowed"),
    ("OPTIONS", "/tokens", 405, "method_not_allowed"),
]

#: Events that are refused, and recorded.
REFUSED_EVENTS: list[tuple[str, str, int, str]] = [
    ("T-1", "nosuch", 409, "event_not_allowed"),
    ("T-1", "passed", 409, "event_not_allowed"),
    ("T-1", "timeout", 409, "event_not_allowed"),
    ("T-1", "x" * 5000, 409, "event_not_allowed"),
    ("T-2", "done", 409, "token_not_active"),
]


def refused(answer: tuple[int, dict[str, str], bytes]) -> tuple[int, str]:
    """Status and code of a refusal, of which the form is checked."""
    status, headers, body = answer
    assert headers["content-type"] == "application/json"
    value = json.loads(body)
    assert set(value) == {"error", "code"}
    sentence = value["error"]
    assert sentence
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    assert len(sentence) < 1000
    return status, value["code"]


@pytest.mark.parametrize("place", TAKING_A_BODY, ids=lambda place: place[1])
def test_a_body_that_is_no_json_object(served: Served, place: tuple[str, str]) -> None:
    before = served.records()
    answers = {
        name: refused(served.send(*place, body, JSON))
        for name, (body, _, _) in WRONG_BODIES.items()
    }
    assert answers == {name: (status, code) for name, (_, status, code) in WRONG_BODIES.items()}
    assert served.records() == before


@pytest.mark.parametrize("place", TAKING_A_BODY, ids=lambda place: place[1])
def test_a_body_of_the_wrong_type_or_length(served: Served, place: tuple[str, str]) -> None:
    before = served.records()
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "text/json; charset=x"):
        answer = served.send(*place, b"{}", {"Content-Type": content_type})
        assert refused(answer) == (415, "unsupported_media_type")
    long = b'{"a":"' + b"x" * (2 * 1024 * 1024) + b'"}'
    assert refused(served.send(*place, long, JSON)) == (413, "bad_request")
    # What is too long is refused unread.
    unread = {**JSON, "Content-Length": "9999999999"}
    assert refused(served.send(*place, b"", unread)) == (413, "bad_request")
    assert served.records() == before


@pytest.mark.parametrize(
    ("place", "body", "status", "code"),
    WRONG_SHAPES,
    ids=[f"{place[1]} {json.dumps(body)[:60]}" for place, body, _, _ in WRONG_SHAPES],
)
def test_an_object_of_the_wrong_shape(
    served: Served, place: tuple[str, str], body: Any, status: int, code: str
) -> None:
    before = served.records()
    answer = served.send(*place, json.dumps(body, ensure_ascii=False).encode(), JSON)
    assert refused(answer) == (status, code)
    assert served.records() == before


@pytest.mark.parametrize(("method", "path", "status", "code"), WRONG_PLACES)
def test_a_path_a_method_or_a_query_that_is_wrong(
    served: Served, method: str, path: str, status: int, code: str
) -> None:
    before = served.records()
    answer = served.send(method, path, b"", {})
    assert refused(answer) == (status, code)
    if status == 405:
        assert method not in answer[1]["allow"].split(", ")
    assert served.records() == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
def test_a_page_of_another_site(served: Served, headers: dict[str, str]) -> None:
    before = served.records()
    assert refused(served.send(*FIRE, b"{}", {**JSON, **headers})) == (403, "cross_site")
    assert served.records() == before


@pytest.mark.parametrize("key", ["", "x" * 257, "a\tb"], ids=["empty", "long", "a tab"])
def test_a_bad_idempotency_key(served: Served, key: str) -> None:
    before = served.records()
    answer = served.send(*FIRE, b"{}", {**JSON, "Idempotency-Key": key})
    assert refused(answer) == (422, "invalid_payload")
    assert served.records() == before


@pytest.mark.parametrize(
    ("token", "event", "status", "code"),
    REFUSED_EVENTS,
    ids=[f"{token} {event[:10]}" for token, event, _, _ in REFUSED_EVENTS],
)
def test_a_refused_event_is_recorded_and_nothing_else(
    served: Served, token: str, event: str, status: int, code: str
) -> None:
    def looked_at() -> tuple[Any, list[Any]]:
        _, _, row = served.send("GET", f"/tokens/{token}", b"", {})
        _, _, history = served.send("GET", f"/tokens/{token}/history", b"", {})
        return json.loads(row), json.loads(history)

    row, history = looked_at()
    answer = served.send("POST", f"/tokens/{token}/events/{event}", b"{}", JSON)
    assert refused(answer) == (status, code)
    row_now, history_now = looked_at()
    assert row_now == row
    assert history_now[:-1] == history
    rejected = history_now[-1]
    assert rejected["kind"] == "event_rejected"
    assert rejected["data"]["event"] == (event if len(event) <= 64 else event[:64] + "…")
    assert rejected["data"]["reason"]
