"""The whole API over ASGI: order of checks, methods, bodies, headers (`docs/spec/wire.md` 1, 2)."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from stateous_controlplane.answers import Answer
from stateous_controlplane.engine.commands import (
    AddNote,
    Claim,
    Fire,
    Heartbeat,
    ReportWaiting,
    Start,
    WriteMemory,
)
from stateous_controlplane.store.port import DatabaseBusy, Place, TokenFilter

MIB = 1_048_576
GETS = (
    "/tokens",
    "/tokens/T-1",
    "/tokens/T-1/history",
    "/tasks",
    "/workflow",
    "/health",
    "/ready",
    "/openapi.json",
)
POSTS = {
    "/tokens": {"token": "T"},
    "/tokens/T-1/events/done": {},
    "/tasks/claim": {"supervisor": "s", "states": []},
    "/tasks/heartbeat": {"supervisor": "s", "tasks": []},
    "/tasks/1/report": {"kind": "waiting"},
    "/tasks/1/note": {"text": "x"},
}


@pytest.mark.parametrize(
    ("method", "path", "body", "command"),
    [
        ("POST", "/tokens", {"token": "T"}, Start("T")),
        ("POST", "/tokens/a%20b/events/%C3%A9", {}, Fire("a b", "é")),
        ("POST", "/tasks/claim", {"supervisor": "s", "states": ["x"]}, Claim("s", ("x",))),
        ("POST", "/tasks/heartbeat", {"supervisor": "s", "tasks": [1]}, Heartbeat("s", (1,))),
        ("POST", "/tasks/09/report", {"kind": "waiting"}, ReportWaiting(9)),
        ("POST", "/tasks/9/note", {"text": "x"}, AddNote(9, "x")),
        ("PUT", "/tasks/9/memory", {"key": "k", "value": None}, WriteMemory(9, "k", None)),
    ],
)
async def test_a_request_reaches_the_desk(
    client: Any, desk: Any, method: str, path: str, body: Any, command: object
) -> None:
    response = await client.request(method, path, json=body)
    assert response.status_code in (200, 204)
    assert desk.asked == [command]


@pytest.mark.parametrize("path", GETS)
async def test_head_is_get_without_the_body(client: Any, path: str) -> None:
    get, head = await client.get(path), await client.head(path)
    assert get.status_code == head.status_code == 200
    assert head.content == b""
    assert head.headers == get.headers
    assert int(get.headers["content-length"]) == len(get.content)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/tokens", "GET, HEAD, POST"),
        ("/tokens/T-1", "GET, HEAD"),
        ("/tokens/T-1/history", "GET, HEAD"),
        ("/tokens/T-1/events/done", "POST"),
        ("/tasks", "GET, HEAD"),
        ("/tasks/claim", "POST"),
        ("/tasks/heartbeat", "POST"),
        ("/tasks/1/report", "POST"),
        ("/tasks/1/note", "POST"),
        ("/tasks/1/memory", "PUT"),
        ("/workflow", "GET, HEAD"),
        ("/health", "GET, HEAD"),
        ("/ready", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
    ],
)
async def test_other_methods_are_405(client: Any, desk: Any, path: str, allowed: str) -> None:
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        if method in allowed.split(", "):
            continue
        response = await client.request(method, path)
        assert (response.status_code, response.headers["allow"]) == (405, allowed)
        if method != "HEAD":
            assert response.json()["code"] == "method_not_allowed"
    assert desk.asked == []


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/redoc", "/tokens/", "/tokens/a%2Fb", "/Health", "/health/", "/console"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
async def test_other_paths_are_404(client: Any, method: str, path: str) -> None:
    response = await client.request(method, path)
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", [*POSTS, "/nothing", "/health"])
async def test_the_order_of_the_checks(client: Any, path: str) -> None:
    """Each header alone is refused with its own status; together the first of the order wins."""
    wrong = [
        (421, {"Host": "evil.example"}),
        (403, {"Origin": "http://evil.example"}),
        (413, {"Content-Length": str(2 * MIB + 1)}),
    ]
    for number, (status, _) in enumerate(wrong):
        headers: dict[str, str] = {}
        for _, header in wrong[number:]:
            headers |= header
        response = await client.post(path, headers=headers, content=b"{")
        assert response.status_code == status


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    ("headers", "content", "status", "code"),
    [
        ({"Content-Type": "text/plain"}, b"{bad", 415, "unsupported_media_type"),
        ({"Content-Type": "text/plain"}, b" ", 415, "unsupported_media_type"),
        ({}, b"{bad", 400, "bad_request"),
        ({}, b"[]", 422, "invalid_body"),
        ({}, b'{"a":"\\u0000"}', 422, "invalid_body"),
    ],
)
async def test_bodies_that_no_endpoint_takes(
    client: Any, path: str, headers: dict[str, str], content: bytes, status: int, code: str
) -> None:
    response = await client.post(path, headers=headers, content=content)
    assert (response.status_code, response.json()["code"]) == (status, code)


@pytest.mark.parametrize(
    ("content_type", "taken"),
    [
        (None, True),
        ("application/json", True),
        ("Application/JSON", True),
        ("application/json;charset=UTF-8", True),
        ('application/json; charset="utf-8"', True),
        ("application/json ; a=b; charset=utf-8", True),
        ("application/json; version=1", True),
        ("application/json; charset=iso-8859-1", False),
        ("application/json; charset=utf-8; charset=utf-16", False),
        ("application/json; charset=", False),
        ('application/json; charset="utf-16', False),
        ("application/jsonx", False),
        ("text/json", False),
        ("multipart/form-data; boundary=x", False),
        ("", False),
    ],
)
async def test_the_type_of_a_body(client: Any, content_type: str | None, taken: bool) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    response = await client.post("/tokens", headers=headers, content=b'{"token":"T"}')
    assert response.status_code == (200 if taken else 415)
    # A body that is empty has no type to be wrong.
    empty = await client.post("/tokens/T/events/e", headers=headers, content=b"")
    assert empty.status_code == 200


@pytest.mark.parametrize("content", [b"", b" \r\n\t", b"{}", b" " * 200])
async def test_an_empty_body_is_an_empty_object(client: Any, desk: Any, content: bytes) -> None:
    assert (await client.post("/tokens/T/events/e", content=content)).status_code == 200
    assert desk.asked == [Fire("T", "e")]


@pytest.mark.parametrize(
    ("path", "limit"), [("/tokens", MIB), ("/tokens/T/events/e", MIB), ("/tasks/1/report", 2 * MIB)]
)
async def test_the_length_of_a_body(client: Any, desk: Any, path: str, limit: int) -> None:
    body = b'{"token":"T","kind":"waiting","pad":"'

    async def chunks(length: int) -> AsyncIterator[bytes]:
        rest = length - len(body) - 2
        yield body
        while rest:
            yield b"x" * min(rest, 100_000)
            rest -= min(rest, 100_000)
        yield b'"}'

    for length, status in ((limit, 200), (limit + 1, 413)):
        for chunked in (False, True):
            content: Any = chunks(length)
            if not chunked:
                content = b"".join([part async for part in content])
            response = await client.post(path, content=content)
            assert response.status_code == status
            if status == 413:
                assert response.json()["code"] == "bad_request"
    assert len(desk.asked) == 2


@pytest.mark.parametrize(
    ("given", "status"),
    [("1048577", 413), ("9" * 30, 413), ("0" * 30 + "2", 200), ("1048576", 200)],
)
async def test_a_declared_length(client: Any, given: str, status: int) -> None:
    response = await client.post(
        "/tokens/T/events/e", headers={"Content-Length": given}, content=b"{}"
    )
    assert response.status_code == status


async def test_of_a_header_given_twice_the_first_counts(client: Any, desk: Any) -> None:
    headers = [("Idempotency-Key", "k1"), ("Idempotency-Key", "")]
    assert (await client.post("/tokens/T/events/e", headers=headers)).status_code == 200
    assert desk.asked == [Fire("T", "e", None, "k1")]
    headers = [("Content-Type", "text/plain"), ("Content-Type", "application/json")]
    refused = await client.post("/tokens/T/events/e", headers=headers, content=b"{}")
    assert refused.status_code == 415


async def test_the_lease_is_announced(make_client: Callable[..., Any]) -> None:
    async with make_client(lease_seconds=300) as client:
        for response in (
            await client.get("/health"),
            await client.post("/tasks/claim", json={"supervisor": "s", "states": []}),
            await client.post("/tasks/claim", json={}),
            await client.post("/tasks/heartbeat", json={"supervisor": "s", "tasks": []}),
        ):
            assert response.headers["stateous-lease"] == "300"
        assert "stateous-lease" not in (await client.get("/ready")).headers


async def test_what_is_served(client: Any, make_client: Callable[..., Any]) -> None:
    workflow = await client.get("/workflow")
    assert workflow.content == b'{ "stateous": 1,\n "workflow": "ticket" }\n'
    health = (await client.get("/health")).json()
    assert health == {"workflow": "ticket", "checksum": "sha256:1", "contract": "sha256:2"}
    async with make_client(served=None) as nothing:
        missing = await nothing.get("/workflow")
        assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
        assert set((await nothing.get("/health")).json().values()) == {None}


async def test_ready(client: Any, make_client: Callable[..., Any], desk: Any, reads: Any) -> None:
    async with make_client(holder="box:1:abc") as ours:
        assert (await ours.get("/ready")).json() == {"ready": True}
    assert reads.asked == ["box:1:abc"]
    reads.held = False
    lost = await client.get("/ready")
    assert (lost.status_code, lost.json()["code"]) == (503, "not_serving")

    def busy() -> None:
        raise DatabaseBusy("the database is locked")

    reads.before = busy
    response = await client.get("/ready")
    assert (response.status_code, response.json()["code"]) == (503, "database_busy")


@pytest.mark.parametrize("path", GETS)
async def test_nothing_is_read_once_the_hold_is_lost(client: Any, desk: Any, path: str) -> None:
    desk.serving = False
    response = await client.get(path)
    assert (response.status_code, response.json()["code"]) == (503, "not_serving")


async def test_the_hold_comes_after_route_and_shape(client: Any, desk: Any) -> None:
    desk.serving = False
    assert (await client.get("/nothing")).status_code == 404
    assert (await client.get("/tokens?limit=0")).status_code == 422
    assert (await client.get("/tokens/T-1?wait=99")).status_code == 422


@pytest.mark.parametrize("path", ["/tokens", "/tokens/T-1", "/tokens/T-1/history", "/tasks"])
async def test_reads_of_a_busy_database(client: Any, reads: Any, path: str) -> None:
    def busy() -> None:
        raise DatabaseBusy("the database is locked")

    reads.before = busy
    response = await client.get(path)
    assert (response.status_code, response.json()["code"]) == (503, "database_busy")


@pytest.mark.parametrize("path", [*GETS[:4], "/ready"])
async def test_a_defect_is_500_and_stands_in_the_log_alone(
    client: Any, reads: Any, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("a secret")

    reads.before = broken
    with caplog.at_level(logging.ERROR, "stateous.serve"):
        response = await client.get(path)
    assert (response.status_code, response.json()["code"]) == (500, "unexpected")
    assert "secret" not in response.text
    assert any(record.exc_info for record in caplog.records)


async def test_a_defect_of_the_desk(
    client: Any, desk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(request: object) -> Answer:
        raise ZeroDivisionError

    desk.answering = broken
    response = await client.post("/tokens", json={"token": "T"})
    assert (response.status_code, response.json()["code"]) == (500, "unexpected")
    assert any(record.exc_info for record in caplog.records)


async def test_pages_of_tokens(client: Any, reads: Any, make_view: Callable[..., Any]) -> None:
    assert (await client.get("/tokens")).json() == []
    reads.pages, reads.more = [make_view("A", at=2), make_view("B", at=1)], True
    first = await client.get("/tokens?limit=2&status=active")
    assert [token["token"] for token in first.json()] == ["A", "B"]
    cursor = first.headers["stateous-next"]
    reads.more = False
    last = await client.get("/tokens", params={"cursor": cursor})
    assert "stateous-next" not in last.headers
    where, behind, limit, max_bytes = reads.asked[-1]
    assert behind == Place(reads.pages[-1].entered_at, "B")
    assert (where, limit, max_bytes) == (TokenFilter(), 100, 16 * MIB)


async def test_pages_of_tasks(
    client: Any, reads: Any, make_task_view: Callable[[int], Any]
) -> None:
    reads.task_pages, reads.more = [make_task_view(4), make_task_view(9)], True
    first = await client.get("/tasks?limit=2")
    assert [task["task"] for task in first.json()] == [4, 9]
    await client.get("/tasks", params={"cursor": first.headers["stateous-next"]})
    assert reads.asked[-1][1:] == (9, 100)


async def test_reads_of_one_token(client: Any, reads: Any, make_entry: Callable[..., Any]) -> None:
    reads.entries["T-1"] = [make_entry(1), make_entry(2), make_entry(3)]
    assert (await client.get("/tokens/T-1")).json()["context"] == {"repo": "acme"}
    history = (await client.get("/tokens/T-1/history?after=1&limit=1")).json()
    assert [entry["seq"] for entry in history] == [2]
    for path in ("/tokens/t-1", "/tokens/NOPE", "/tokens/NOPE/history", "/tokens/%C3%A9/history"):
        response = await client.get(path)
        assert (response.status_code, response.json()["code"]) == (404, "token_not_found")


async def test_the_access_log(
    make_client: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "stateous.serve"):
        async with make_client(access_log=True) as client:
            await client.get("/tokens/T-1?wait=0", headers={"Cookie": "s3cret"})
            await client.post("/tickets/s3cret", json={})
            await client.post("/Tickets/s3cret", json={})
            await client.get(f"/runs/%74k_{'s' * 43}x")
            await client.get("/health", headers={"Host": "evil.example"})
            await client.get("/health")
    assert [record.message for record in caplog.records if record.name == "stateous.serve"] == [
        "GET /tokens/T-1 200",
        "POST /tickets/*** 200",
        "POST /tickets/*** 404",
        "GET /runs/***x 404",
        "GET /health 421",
        "GET /health 200",
    ]
