"""Both clients through real httpx and a transport of the test's: no network, no real time."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from stateous_client import (
    AsyncClient,
    BadAnswer,
    Client,
    EventNotAllowed,
    InvalidArgument,
    Unreachable,
)

TOKEN = {
    "token": "T-1",
    "state": "coding",
    "status": "active",
    "visit": 1,
    "context": {},
    "entered_at": "2027-03-01T14:51:53Z",
}
GRANT = {
    "task": 1,
    "token": "T-1",
    "state": "coding",
    "visit": 1,
    "attempt": 1,
    "context": {},
    "memory": {},
}
URL = "http://ann:secret@h/flows/"
Script = Callable[[httpx.Request], httpx.Response]


class Shell:
    """One of the two clients, driven alike: what is awaitable is awaited."""

    def __init__(self, kind: type[Client] | type[AsyncClient]) -> None:
        self.kind = kind
        self.sent: list[httpx.Request] = []
        self.slept: list[float] = []
        self.client: Client | AsyncClient

    def open(self, script: Script, url: str = URL, **options: Any) -> Shell:
        def answer(request: httpx.Request) -> httpx.Response:
            self.sent.append(request)
            return script(request)

        def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        async def async_sleep(seconds: float) -> None:
            self.slept.append(seconds)

        transport = httpx.MockTransport(answer)
        if issubclass(self.kind, Client):
            self.client = self.kind.through(
                transport, url, sleep=sleep, draw=lambda: 0.5, **options
            )
        else:
            self.client = self.kind.through(
                transport, url, sleep=async_sleep, draw=lambda: 0.5, **options
            )
        return self

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        value = getattr(self.client, method)(*args, **options)
        if inspect.isawaitable(value):
            return await value
        if hasattr(value, "__aiter__"):
            return [item async for item in value]
        return list(value) if hasattr(value, "__next__") else value

    async def close(self) -> None:
        if isinstance(self.client, Client):
            self.client.close()
        else:
            await self.client.aclose()


@pytest.fixture(params=[Client, AsyncClient])
def shell(request: pytest.FixtureRequest) -> Shell:
    return Shell(request.param)


def in_turn(*turns: httpx.Response | Exception) -> Script:
    left = iter(turns)

    def script(_request: httpx.Request) -> httpx.Response:
        turn = next(left)
        if isinstance(turn, Exception):
            raise turn
        return turn

    return script


async def test_a_request_as_it_is_sent(shell: Shell) -> None:
    shell.open(in_turn(httpx.Response(200, json=TOKEN)))
    assert await shell.call("fire", "a/b", "..", {"x": "é"}, key="ключ") == TOKEN
    sent = shell.sent[0]
    assert sent.method == "POST"
    assert sent.url.raw_path == b"/flows/tokens/a%2Fb/events/%2E%2E"
    assert sent.content == '{"payload":{"x":"é"}}'.encode()
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers["authorization"].startswith("Basic ")
    assert (b"Idempotency-Key", "ключ".encode()) in sent.headers.raw


async def test_every_method_reaches_its_endpoint(shell: Shell) -> None:
    task = {"task": 1, "token": "T-1", "status": "queued"}
    answers: dict[str, Any] = {
        "GET /health": {"workflow": "w", "checksum": "c", "contract": "d"},
        "GET /ready": {"ready": True},
        "GET /workflow": {"workflow": "w"},
        "GET /tokens": [TOKEN],
        "GET /tasks": [task],
        "GET /tokens/T-1/history": [],
        "POST /tasks/heartbeat": {"lost": []},
        "POST /tasks/claim": GRANT,
    }

    def script(request: httpx.Request) -> httpx.Response:
        line = f"{request.method} {request.url.path}"
        if line == "POST /tasks/claim" and b"max" in request.content:
            return httpx.Response(200, json={"tasks": [GRANT]})
        return httpx.Response(200, json=answers.get(line, TOKEN | {"status": "completed"}))

    ended = TOKEN | {"status": "completed"}
    shell.open(script, "http://h")
    assert await shell.call("start", "T-1") == ended
    assert await shell.call("get", "T-1") == ended
    assert await shell.call("wait", "T-1", timeout=1) == ended
    assert await shell.call("tokens", state="coding") == [TOKEN]
    assert await shell.call("iter_tokens", parent="P") == [TOKEN]
    assert await shell.call("history", "T-1") == []
    assert await shell.call("watch", "T-1") == []
    assert await shell.call("fire", "T-1", "done") == ended
    for how in ("pause", "resume", "cancel"):
        assert await shell.call(how, "T-1") == ended
    assert await shell.call("report", 1, "done") == ended
    assert await shell.call("report_failed", 1, "no") == ended
    assert await shell.call("send_report", 1, {"kind": "failed", "error": "no"}) == ended
    assert await shell.call("note", 1, "hello") is None
    assert await shell.call("memory", 1, "k", [1]) is None
    assert await shell.call("tasks", status="queued") == [task]
    assert await shell.call("iter_tasks", page=7) == [task]
    assert await shell.call("workflow") == {"workflow": "w"}
    assert await shell.call("health") == answers["GET /health"]
    assert await shell.call("ready") is True
    assert await shell.call("claim", "box", ["coding"]) == GRANT
    assert await shell.call("claim", "box", ["coding"], max=2) == [GRANT]
    assert await shell.call("heartbeat", "box", [1]) == []


async def test_a_safe_call_survives_lost_connections_and_busy_answers(shell: Shell) -> None:
    shell.open(
        in_turn(
            httpx.ConnectError("refused"),
            httpx.Response(503, json={"error": "busy", "code": "database_busy"}),
            httpx.ReadTimeout(""),
            httpx.Response(201, json=TOKEN),
        )
    )
    assert await shell.call("start", "T-1") == TOKEN
    assert shell.slept == pytest.approx([0.2, 0.5, 1.0])
    assert {sent.content for sent in shell.sent} == {b'{"token":"T-1"}'}


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "[Errno 111] Connection refused"),
        (httpx.ConnectTimeout(""), "no connection within 2.5 seconds"),
        (httpx.ReadTimeout(""), "no answer within 2.5 seconds"),
        (httpx.PoolTimeout(""), "no free connection within 2.5 seconds"),
        (httpx.RemoteProtocolError("peer closed"), "peer closed"),
        (httpx.ReadError(""), "ReadError"),
        (httpx.DecodingError("bad gzip"), "bad gzip"),
    ],
)
async def test_no_answer_is_unreachable(shell: Shell, error: Exception, why: str) -> None:
    shell.open(in_turn(error), timeout=2.5)
    with pytest.raises(Unreachable) as unreachable:
        await shell.call("fire", "T-1", "done")
    shown = "http://ann:***@h/flows"
    assert str(unreachable.value) == f"cannot reach the control plane at {shown}: {why}"


async def test_an_answer_that_breaks_off_is_unreachable(shell: Shell) -> None:
    shell.open(
        in_turn(httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Broken())),
        retries=0,
    )
    with pytest.raises(Unreachable):
        await shell.call("get", "T-1")


class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that is not what its headers say."""

    def __iter__(self) -> Any:
        yield b"no gzip"

    async def __aiter__(self) -> Any:
        yield b"no gzip"


async def test_the_seconds_of_a_long_poll_come_on_top_of_the_timeout(shell: Shell) -> None:
    def script(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("claim"):
            return httpx.Response(204)
        return httpx.Response(200, json=TOKEN | {"status": "failed"})

    shell.open(script, timeout=5)
    await shell.call("wait", "T-1")
    await shell.call("claim", "box", ["a"], wait=20)
    await shell.call("get", "T-1")
    timeouts = [sent.extensions["timeout"] for sent in shell.sent]
    assert [seconds["read"] for seconds in timeouts] == [65, 25, 5]
    assert {seconds["connect"] for seconds in timeouts} == {5}


async def test_redirects_are_not_followed(shell: Shell) -> None:
    shell.open(in_turn(httpx.Response(307, headers={"location": "http://elsewhere/"})))
    with pytest.raises(BadAnswer, match=r"redirects \(307\) to http://elsewhere/"):
        await shell.call("get", "T-1")
    assert len(shell.sent) == 1


async def test_a_refusal_has_its_class(shell: Shell) -> None:
    refused = {"error": "the workflow has no event 'x'", "code": "event_not_allowed"}
    shell.open(in_turn(httpx.Response(409, json=refused)))
    with pytest.raises(EventNotAllowed, match=r"refused \(409\): the workflow has no event 'x'"):
        await shell.call("fire", "T-1", "x")


async def test_nothing_is_sent_for_a_wrong_argument(shell: Shell) -> None:
    shell.open(in_turn())
    for method, args in (
        ("start", ("T", {"x": float("nan")})),
        ("get", ("",)),
        ("iter_tokens", ()),
        ("iter_tasks", ()),
        ("watch", ("",)),
        ("wait", ("",)),
    ):
        options = {"page": "7"} if method.startswith("iter") else {}
        with pytest.raises(InvalidArgument):
            await shell.call(method, *args, **options)
    with pytest.raises(InvalidArgument):
        await shell.call("get", "x" * 70_000)  # longer than any URL may be
    assert shell.sent == []


async def test_a_closed_client_asks_nothing(shell: Shell) -> None:
    shell.open(in_turn())
    await shell.close()
    await shell.close()
    for method, args in (("get", ("T",)), ("iter_tokens", ()), ("watch", ("T",))):
        with pytest.raises(
            InvalidArgument, match=r"the client of http://ann:\*\*\*@h/flows is closed"
        ):
            await shell.call(method, *args)
    assert shell.sent == []


async def test_the_context_manager_closes(shell: Shell) -> None:
    shell.open(in_turn())
    if isinstance(shell.client, Client):
        with shell.client as entered:
            assert entered is shell.client
    else:
        async with shell.client as entered_async:
            assert entered_async is shell.client
    with pytest.raises(InvalidArgument):
        await shell.call("get", "T")


async def test_the_lease_is_the_latest_that_was_announced(shell: Shell) -> None:
    health = {"workflow": None, "checksum": None}
    shell.open(
        in_turn(
            httpx.Response(200, json=health, headers={"Stateous-Lease": "120"}),
            httpx.Response(200, json=TOKEN),
            httpx.Response(204, headers=[("Stateous-Lease", "60"), ("Stateous-Lease", "5")]),
            httpx.Response(200, json={"lost": []}),
        )
    )
    assert shell.client.lease is None
    leases = []
    for method, args in (
        ("health", ()),
        ("get", ("T-1",)),
        ("claim", ("box", ["a"])),
        ("heartbeat", ("box", [])),
    ):
        await shell.call(method, *args)
        leases.append(shell.client.lease)
    assert leases == [120.0, 120.0, 60.0, None]


async def test_pages_are_fetched_as_they_are_needed(shell: Shell) -> None:
    shell.open(
        in_turn(
            httpx.Response(200, json=[TOKEN], headers={"Stateous-Next": "c-1"}),
            httpx.Response(200, json=[TOKEN | {"token": "T-2"}]),
        )
    )
    if isinstance(shell.client, Client):
        tokens = shell.client.iter_tokens(page=1)
        assert next(tokens)["token"] == "T-1"
    else:
        assert (await anext(shell.client.iter_tokens(page=1)))["token"] == "T-1"
    assert len(shell.sent) == 1


async def test_numbers_keep_every_digit(shell: Shell) -> None:
    text = b'{"token":"T","state":"s","status":"active","visit":1,"context":{"n":%d}}'
    shell.open(in_turn(httpx.Response(200, content=text % 10**300)))
    token = await shell.call("start", "T", {"n": 10**300})
    assert token["context"]["n"] == 10**300
    assert json.loads(shell.sent[0].content)["context"]["n"] == 10**300


async def test_a_password_is_not_shown(shell: Shell) -> None:
    shell.open(in_turn())
    assert shell.client.url == "http://ann@h/flows"
    assert repr(shell.client) == f"{shell.kind.__name__}('http://ann:***@h/flows')"


def test_a_bad_url_is_refused_by_the_constructor() -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(InvalidArgument):
            kind("localhost:8080")


def test_importing_the_client_does_not_load_httpx() -> None:
    script = (
        "import sys; from stateous_client import Client, AsyncClient; print('httpx' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
