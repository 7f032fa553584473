"""Runs through the clients: each request, each answer, and waiting for the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from stateous.graph.hashes import checksum
from stateous_client import BadAnswer, Client, InvalidArgument
from stateous_client.protocol import run_calls
from stateous_client.protocol.answers import value_of
from stateous_client.protocol.exchange import Answer, Request
from stateous_client.run_methods import NO_INPUT

SECRET = "s" * 32
ALONE: dict[str, Any] = {"key": None, "id": None, "idempotency_key": None, "starter": None}
NO_FILTERS: dict[str, Any] = dict.fromkeys(["status", "machine", "key", "parent", "limit"])
RUN: dict[str, Any] = {
    "id": "run-bwlqz2ftv4kxm7ha",
    "machine": "review",
    "graph": "sha256:758f",
    "status": "active",
    "configuration": [{"state": "waiting", "visit": 1, "entered_at": "2026-11-30T15:04:06Z"}],
}


@pytest.mark.parametrize(
    ("request_", "line", "sent", "repeatable"),
    [
        (
            run_calls.submit("sha256:1", NO_INPUT, **ALONE),
            "POST /runs",
            {"graph": "sha256:1", "input": {}},
            False,
        ),
        (
            run_calls.submit({"statechart": "r"}, None, **ALONE | {"key": "k", "id": "r-1"}),
            "POST /runs",
            {"graph": {"statechart": "r"}, "input": None, "key": "k", "id": "r-1"},
            True,
        ),
        (
            run_calls.submit("sha256:1", [1], **ALONE | {"idempotency_key": "i"}),
            "POST /runs",
            {"graph": "sha256:1", "input": [1]},
            True,
        ),
        (run_calls.run("r/1"), "GET /runs/r%2F1", None, True),
        (
            run_calls.run("r", held=60, outputs=True),
            "GET /runs/r?outputs=true&wait=60",
            None,
            True,
        ),
        (run_calls.runs(**NO_FILTERS), "GET /runs", None, True),
        (
            run_calls.runs(status="active", machine="m", key="a&b", parent="p", limit=3),
            "GET /runs?status=active&machine=m&key=a%26b&parent=p&limit=3",
            None,
            True,
        ),
        (
            run_calls.run_history("r", after=2, limit=5, starter=None),
            "GET /runs/r/history?after=2&limit=5",
            None,
            True,
        ),
        (
            run_calls.tickets("r", starter=SECRET, held=10),
            "GET /runs/r/tickets?wait=10",
            None,
            True,
        ),
        (
            run_calls.reply("tk_x", {"ok": True}, run=None, key=None),
            "POST /tickets/tk_x",
            {"ok": True},
            False,
        ),
        (
            run_calls.reply("tk_x", "yes", run="r 1", key="k"),
            "POST /tickets/tk_x?run=r+1",
            "yes",
            True,
        ),
        (run_calls.send("r", "go", None, key=None), "POST /runs/r/events/go", {}, False),
        (run_calls.send("r", "go", [1], key="k"), "POST /runs/r/events/go", {"data": [1]}, True),
        (run_calls.steer("r", "pause"), "POST /runs/r/pause", None, False),
        (
            run_calls.put_graph({"b": 1, "a": "é"}),
            f"PUT /graphs/{checksum({'a': 'é', 'b': 1}).replace(':', '%3A')}",
            {"a": "é", "b": 1},
            True,
        ),
        (run_calls.graph("sha256:1"), "GET /graphs/sha256%3A1", None, True),
        (run_calls.graphs(limit=2), "GET /graphs?limit=2", None, True),
        (
            run_calls.emits(4, "box", 1, 7, [{"event": "progress", "data": 10}]),
            "POST /tasks/4/emits",
            {
                "supervisor": "box",
                "attempt": 1,
                "first": 7,
                "values": [{"event": "progress", "data": 10}],
            },
            True,
        ),
    ],
)
def test_a_request(request_: Request[Any], line: str, sent: Any, repeatable: bool) -> None:
    assert f"{request_.method} {request_.target}" == line
    assert (None if request_.body is None else json.loads(request_.body)) == sent
    assert request_.repeatable is repeatable


def test_the_secret_goes_in_its_header_and_nowhere_else() -> None:
    for request in (
        run_calls.submit("sha256:1", {}, **ALONE | {"starter": SECRET}),
        run_calls.run("r", starter=SECRET),
        run_calls.run_history("r", after=0, limit=None, starter=SECRET),
        run_calls.tickets("r", starter=SECRET, held=0),
    ):
        assert dict(request.headers)["Stateous-Starter"] == SECRET.encode()
        assert SECRET not in request.target
        assert SECRET.encode() not in (request.body or b"")


@pytest.mark.parametrize("secret", ["", "s" * 31, "s" * 257, "s" * 31 + " ", "s" * 31 + "é"])
def test_a_secret_that_is_none_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        run_calls.tickets("r", starter=secret, held=0)
    assert not secret or secret not in str(refused.value)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: run_calls.submit("", {}, **ALONE),
        lambda: run_calls.submit("g", float("nan"), **ALONE),
        lambda: run_calls.submit("g", {}, **ALONE | {"key": ""}),
        lambda: run_calls.submit("g", {}, **ALONE | {"id": ""}),
        lambda: run_calls.run(""),
        lambda: run_calls.run("r", held=True),
        lambda: run_calls.send("r", "", None, key=None),
        lambda: run_calls.reply("", None, run=None, key=None),
        lambda: run_calls.reply("tk", {1: 2}, run=None, key=None),
        lambda: run_calls.put_graph([]),  # type: ignore[arg-type]
        lambda: run_calls.put_graph({"a": {1}}),
    ],
)
def test_a_wrong_argument_is_refused_before_it_is_sent(ask: Callable[[], object]) -> None:
    with pytest.raises(InvalidArgument):
        ask()


@pytest.mark.parametrize(
    ("request_", "body", "value"),
    [
        (run_calls.run("r"), RUN, RUN),
        (run_calls.graph("g"), {"statechart": "r"}, {"statechart": "r"}),
        (
            run_calls.put_graph({}),
            {"graph": "sha256:1", "machine": "r"},
            {"graph": "sha256:1", "machine": "r"},
        ),
        (run_calls.send("r", "go", None, key=None), {"result": "kept"}, {"result": "kept"}),
        (
            run_calls.tickets("r", starter=SECRET, held=0),
            {"tickets": [{"ticket": "verdict", "value": "tk_x"}]},
            [{"ticket": "verdict", "value": "tk_x"}],
        ),
    ],
)
def test_an_answer_becomes_a_value(request_: Request[Any], body: Any, value: Any) -> None:
    answer = Answer(200, {}, json.dumps(body).encode())
    assert value_of(request_, answer, "http://h") == value


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (run_calls.run("r"), {"id": 1}),
        (run_calls.run("r"), []),
        (run_calls.runs(**NO_FILTERS), {"runs": [{"id": "r"}], "next": None}),
        (run_calls.runs(**NO_FILTERS), [RUN]),
        (run_calls.graphs(limit=None), {"graphs": None}),
        (run_calls.put_graph({}), {"graph": 1}),
        (run_calls.tickets("r", starter=SECRET, held=0), {"tickets": [{"ticket": "t"}]}),
        (run_calls.send("r", "go", None, key=None), {"taken": True}),
    ],
)
def test_what_no_control_plane_answers_is_a_bad_answer(request_: Request[Any], body: Any) -> None:
    with pytest.raises(BadAnswer):
        value_of(request_, Answer(200, {}, json.dumps(body).encode()), "http://h")


def served(answers: list[Any]) -> tuple[Client, list[str], list[float]]:
    """A client whose requests get ``answers`` in order; what it asked, and how long it slept."""
    asked: list[str] = []
    slept: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url.raw_path.decode()))
        return httpx.Response(200, json=answers[len(asked) - 1])

    clock = iter(range(0, 10_000, 10))
    client = Client.through(
        httpx.MockTransport(answer), "http://h", sleep=slept.append, now=lambda: float(next(clock))
    )
    return client, asked, slept


def test_waiting_looks_until_the_run_has_ended() -> None:
    client, asked, _ = served([RUN, RUN, RUN | {"status": "completed", "output": 1}])
    assert client.wait_run("r")["output"] == 1
    assert asked == ["/runs/r?wait=60"] * 3


def test_waiting_ends_after_its_time() -> None:
    client, asked, _ = served([RUN] * 9)
    with pytest.raises(TimeoutError, match="'r' has not ended within 25 seconds"):
        client.wait_run("r", timeout=25)
    # The second look, when the time is nearly over, does not wait.
    assert asked == ["/runs/r?wait=15", "/runs/r"]


def test_all_runs_come_page_by_page() -> None:
    first = {"runs": [RUN], "next": "c1"}
    second = {"runs": [RUN | {"id": "r-2"}], "next": None}
    client, asked, _ = served([first, second])
    assert [run["id"] for run in client.iter_runs(machine="review", page=1)] == [RUN["id"], "r-2"]
    assert asked == ["/runs?machine=review&limit=1", "/runs?machine=review&limit=1&cursor=c1"]
