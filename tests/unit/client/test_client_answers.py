"""Answers become values or errors: the class by code, else by status."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import stateous_client
from stateous.errors import StateousError
from stateous.wire.problems import STATUS, Code
from stateous_client import (
    AnswerNotTaken,
    AttemptOver,
    BadAnswer,
    ChildToken,
    ClientError,
    Conflict,
    DatabaseBusy,
    EventNotAllowed,
    GraphNotFound,
    Invalid,
    InvalidArgument,
    KeyTaken,
    NotFound,
    NotServing,
    NotStarter,
    NoWorkflow,
    Refused,
    RunExists,
    RunNotActive,
    RunNotFound,
    TaskNotFound,
    TaskNotHeld,
    TicketRefused,
    TokenNotActive,
    TokenNotFound,
    Unavailable,
    Unreachable,
)
from stateous_client.protocol import calls
from stateous_client.protocol.answers import value_of
from stateous_client.protocol.exchange import Answer, Request

URL = "http://ann:***@h"
TOKEN = {
    "token": "T-1",
    "state": "coding",
    "status": "active",
    "visit": 1,
    "context": {"n": 10**40},
    "entered_at": "2027-03-01T14:51:53.873706Z",
}
ENTRY = {"seq": 1, "at": "2027-03-01T14:51:53Z", "kind": "started", "data": {"context": {}}}
GRANT = {
    "task": 1,
    "token": "T-1",
    "state": "coding",
    "visit": 1,
    "attempt": 1,
    "context": {},
    "memory": {},
}
JOB = {key: value for key, value in GRANT.items() if key != "context"} | {
    "machine": "review",
    "job": "pricing",
    "input": None,
    "timeout": 300,
}
ROUTINE = JOB | {"routine": "price"}
SCRIPT = JOB | {"script": {"path": "draft.js", "source": "return 1"}}
TASK = {"task": 1, "token": "T-1", "status": "waiting", "claimed_by": None}
EVENT = calls.fire("T-1", "done", None, key=None)
CLAIM = calls.claim("box", ["a"], (), request=None, wait=0)
CLAIM_MANY = calls.claim_many("box", ["a"], (), request=None, wait=0, max=2)
TOKENS = calls.tokens(
    status=None,
    state=None,
    workflow=None,
    parent=None,
    prefix=None,
    moved_after=None,
    moved_before=None,
    limit=None,
)
TASKS = calls.tasks(status=None, state=None, token=None, limit=None)


def answer(status: int, value: Any = None, **headers: str) -> Answer:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Answer(status, headers, b"" if status == 204 else text)


@pytest.mark.parametrize(
    ("request_", "got", "value"),
    [
        (calls.start("T-1", None), answer(201, TOKEN), TOKEN),
        (calls.start("T-1", None), answer(200, TOKEN), TOKEN),
        (
            calls.get("T-1"),
            answer(200, TOKEN | {"parent": "P", "new": 1}),
            TOKEN | {"parent": "P", "new": 1},
        ),
        (EVENT, answer(200, TOKEN), TOKEN),
        (
            EVENT,
            answer(200, {"duplicate": True, "token": TOKEN}),
            {"duplicate": True, "token": TOKEN},
        ),
        (calls.history("T-1"), answer(200, [ENTRY]), [ENTRY]),
        (calls.history("T-1"), answer(200, []), []),
        (CLAIM, answer(200, GRANT), GRANT),
        (CLAIM, answer(200, ROUTINE), ROUTINE),
        (CLAIM_MANY, answer(200, {"tasks": [SCRIPT, GRANT]}), [SCRIPT, GRANT]),
        (CLAIM, answer(204), None),
        (CLAIM_MANY, answer(200, {"tasks": [GRANT]}), [GRANT]),
        (CLAIM_MANY, answer(200, {"tasks": []}), []),
        (CLAIM_MANY, answer(204), []),
        (calls.heartbeat("box", [1]), answer(200, {"lost": [1, 2]}), [1, 2]),
        (calls.note(1, "x", attempt=None, number=None), answer(204), None),
        (calls.note(1, "x", attempt=None, number=None), answer(200, b"thanks"), None),
        (calls.memory(1, "k", 1, attempt=None, number=None), answer(204), None),
        (calls.send_report(1, {}), answer(200, TOKEN), TOKEN),
        (calls.send_report(1, {}), answer(200, b"thanks"), None),
        (calls.send_report(1, {}), answer(204), None),
        (calls.workflow(), answer(200, {"workflow": "sdlc"}), {"workflow": "sdlc"}),
        (
            calls.health(),
            answer(200, {"workflow": None, "checksum": None, "contract": None}),
            {"workflow": None, "checksum": None, "contract": None},
        ),
        (calls.ready(), answer(200, {"ready": True}), True),
        (calls.ready(), answer(503, {"error": "busy", "code": "database_busy"}), False),
    ],
)
def test_the_value_of_an_answer(request_: Request[Any], got: Answer, value: Any) -> None:
    assert value_of(request_, got, URL) == value


def test_a_page_knows_where_the_next_one_begins() -> None:
    page = value_of(TOKENS, answer(200, [TOKEN], **{"stateous-next": "c-1"}), URL)
    assert (page.items, page.cursor) == ([TOKEN], "c-1")
    last = value_of(TASKS, answer(200, [TASK]), URL)
    assert (last.items, last.cursor) == ([TASK], None)


@pytest.mark.parametrize(
    "request_",
    [
        calls.start("T-1", None),
        calls.get("T-1"),
        EVENT,
        calls.steer("T-1", "pause"),
        TOKENS,
        TASKS,
        calls.history("T-1"),
        CLAIM,
        CLAIM_MANY,
        calls.heartbeat("box", []),
        calls.workflow(),
        calls.health(),
        calls.ready(),
    ],
    ids=lambda request: f"{request.method} {request.path}",
)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!doctype html><p>hello",
        b'"text"',
        b"null",
        b"[1]",
        b'{"token": 1}',
        b'{"a": NaN}',
        b'{"a": 1, "a": 1}',
        b"\xff\xfe",
        b'{"ready": false}',
    ],
)
def test_a_page_of_something_else_is_a_bad_answer(request_: Request[Any], body: bytes) -> None:
    with pytest.raises(BadAnswer, match="did not answer as a Stateous control plane") as bad:
        value_of(request_, answer(200, body), URL)
    assert bad.value.status == 200


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize(
    "request_", [calls.get("T"), calls.note(1, "x", attempt=None, number=None), calls.ready()]
)
def test_a_redirect_is_a_bad_answer(request_: Request[Any], status: int) -> None:
    moved = Answer(status, {"location": "http://bob:secret@elsewhere/x"}, b"")
    with pytest.raises(BadAnswer, match=r"redirects .* to http://\*\*\*@elsewhere/x") as bad:
        value_of(request_, moved, URL)
    assert bad.value.status == status


BY_CODE: dict[Code, type[Refused]] = {
    Code.BAD_REQUEST: Invalid,
    Code.UNSUPPORTED_MEDIA_TYPE: Invalid,
    Code.REQUEST_TIMEOUT: Refused,
    Code.TOO_MANY_CONNECTIONS: Unavailable,
    Code.CROSS_SITE: Refused,
    Code.WRONG_HOST: Refused,
    Code.NOT_FOUND: NotFound,
    Code.METHOD_NOT_ALLOWED: Refused,
    Code.TOKEN_NOT_FOUND: TokenNotFound,
    Code.TASK_NOT_FOUND: TaskNotFound,
    Code.GRAPH_NOT_FOUND: GraphNotFound,
    Code.RUN_NOT_FOUND: RunNotFound,
    Code.NO_WORKFLOW: NoWorkflow,
    Code.INVALID_TOKEN_ID: Invalid,
    Code.INVALID_CONTEXT: Invalid,
    Code.INVALID_PAYLOAD: Invalid,
    Code.INVALID_ARGUMENT: Invalid,
    Code.INVALID_BODY: Invalid,
    Code.INVALID_DEFINITION: Invalid,
    Code.INVALID_INPUT: Invalid,
    Code.INVALID_RUN_ID: Invalid,
    Code.CHECKSUM_MISMATCH: Invalid,
    Code.IDEMPOTENCY_MISMATCH: Invalid,
    Code.NOT_STARTER: NotStarter,
    Code.EVENT_NOT_ALLOWED: EventNotAllowed,
    Code.TOKEN_NOT_ACTIVE: TokenNotActive,
    Code.RUN_NOT_ACTIVE: RunNotActive,
    Code.RUN_EXISTS: RunExists,
    Code.KEY_TAKEN: KeyTaken,
    Code.TICKET_REFUSED: TicketRefused,
    Code.ANSWER_NOT_TAKEN: AnswerNotTaken,
    Code.CHILD_TOKEN: ChildToken,
    Code.TASK_NOT_HELD: TaskNotHeld,
    Code.ATTEMPT_OVER: AttemptOver,
    Code.DATABASE_BUSY: DatabaseBusy,
    Code.NOT_SERVING: NotServing,
    Code.UNEXPECTED: Refused,
}


@pytest.mark.parametrize("code", Code)
def test_the_class_of_each_code(code: Code) -> None:
    status = STATUS[code]
    with pytest.raises(Refused) as refused:
        value_of(calls.get("T"), answer(status, {"error": "no way", "code": code}), URL)
    error = refused.value
    assert type(error) is BY_CODE[code]
    assert (error.status, error.message, error.code) == (status, "no way", code)
    assert str(error) == f"the control plane at {URL} refused ({status}): no way"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid),
        (401, Refused),
        (403, Refused),
        (404, NotFound),
        (405, Refused),
        (409, Conflict),
        (413, Invalid),
        (415, Invalid),
        (422, Invalid),
        (429, Refused),
        (500, Refused),
        (502, Unavailable),
        (503, Unavailable),
        (504, Unavailable),
        (599, Refused),
    ],
)
def test_an_unknown_code_is_the_class_of_its_status(status: int, kind: type[Refused]) -> None:
    for value in ({"error": "no", "code": "brand_new"}, {"error": "no"}, b"<p>no</p>"):
        with pytest.raises(Refused) as refused:
            value_of(calls.get("T"), answer(status, value), URL)
        assert type(refused.value) is kind


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b'{"error": "no", "code": "x"}', "no", "x"),
        (b'{"error": "no"}', "no", None),
        (b'{"error": "no", "code": 7}', "no", None),
        (b'{"error": ["no"], "code": "x"}', '{"error": ["no"], "code": "x"}', "x"),
        (b"<html>" + b"x" * 500, "<html>" + "x" * 194, None),
        (b"\xff", "\ufffd", None),
        (b"[]", "[]", None),
        (b"", "Bad Gateway", None),
    ],
)
def test_the_message_of_a_refusal(body: bytes, message: str, code: str | None) -> None:
    with pytest.raises(Unavailable) as refused:
        value_of(calls.get("T"), Answer(502, {}, body), URL)
    assert (refused.value.message, refused.value.code) == (message, code)


def test_a_readiness_that_is_refused_otherwise_is_an_error() -> None:
    with pytest.raises(NotFound):
        value_of(calls.ready(), answer(404, {"error": "no such path", "code": "not_found"}), URL)


@pytest.mark.parametrize(
    ("request_", "got", "lease"),
    [
        (calls.health(), answer(200, {}, **{"stateous-lease": "120"}), 120.0),
        (CLAIM, answer(204, **{"stateous-lease": "4"}), 4.0),
        (calls.heartbeat("b", []), answer(200, {}, **{"stateous-lease": "2.5"}), 2.5),
        (calls.health(), answer(200, {}), None),
        (calls.health(), answer(200, {}, **{"stateous-lease": "soon"}), None),
        (calls.health(), answer(200, {}, **{"stateous-lease": "nan"}), None),
        (calls.health(), answer(200, {}, **{"stateous-lease": "-1"}), None),
        (calls.health(), answer(503, {}), 9.0),
        (calls.get("T"), answer(200, {}, **{"stateous-lease": "120"}), 9.0),
    ],
)
def test_the_announced_lease(request_: Request[Any], got: Answer, lease: float | None) -> None:
    assert request_.lease_after(got, 9.0) == lease


def test_the_error_tree() -> None:
    assert issubclass(ClientError, StateousError)
    assert issubclass(InvalidArgument, ClientError)
    assert issubclass(InvalidArgument, ValueError)
    for kind in (NotFound, Invalid, Conflict, Unavailable):
        assert issubclass(kind, Refused)
    errors = [
        value
        for name in stateous_client.__all__
        if isinstance(value := getattr(stateous_client, name), type)
        and issubclass(value, Exception)
    ]
    assert all(issubclass(error, ClientError) for error in errors)


@pytest.mark.parametrize(
    "error",
    [
        InvalidArgument("token is empty"),
        Unreachable(URL, "timed out"),
        Unreachable(URL, "[Errno 111] Connection refused", True),
        BadAnswer(URL, 200, "it is a page"),
        TokenNotFound(URL, 404, "no token 'T'", "token_not_found"),
        Refused(URL, 500, "oops"),
    ],
)
def test_an_error_survives_pickling(error: ClientError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
