"""Runs, tickets and documents over HTTP: shapes, masks, secrets, waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

from stateous.json import JsonText
from stateous.statechart.run_ids import submitted_id
from stateous.statechart.tickets import digest, ticket_id, ticket_value
from stateous_controlplane.answers import Answer
from stateous_controlplane.engine.commands import (
    AnswerTicket,
    Emit,
    Pause,
    ReportDone,
    ReportFailed,
    SendEvent,
    Subject,
    SubmitRun,
)
from stateous_controlplane.engine.rows import Entry, Failure
from stateous_controlplane.store.run_views import (
    JobView,
    KeptView,
    RunInFull,
    RunView,
    Step,
    TicketView,
    TimerView,
)
from stateous_controlplane.writer.requests import Emits, PutGraph
from tests.support.charts import document
from tests.support.stores import NOW

SECRET = "s" * 32
SHOWN = {"Stateous-Starter": SECRET}
KEY = bytes(range(32))
VALUE = ticket_value(KEY, "run-bwlqz2ftv4kxm7ha", "waiting", 1, "verdict")
CHART = document("initial: a\nstates: { a: { on: { bye: b } }, b: { end: done } }")


def full(status: str = "active", *, leaks: str = "") -> RunInFull:
    """A run with one of everything; ``leaks`` stands wherever a chart can put a value."""
    view = RunView(
        run="run-bwlqz2ftv4kxm7ha",
        machine="review",
        graph=CHART.checksum,
        key=leaks or None,
        parent=None,
        job=None,
        status=status,
        configuration=(Step("waiting", 1, NOW),),
        error=Failure("job", f"no {leaks}") if leaks else None,
        started_at=NOW,
        ended_at=None,
    )
    return RunInFull(
        view,
        input=JsonText.of({"a": leaks}).text,
        output=JsonText.of([leaks]).text,
        outputs=JsonText.of({"s": leaks}).text,
        starter=sha256(SECRET.encode()).hexdigest(),
        jobs=(JobView("look", "waiting", "script", "claimed", 1, task=7),),
        timers=(TimerView("late", "waiting", leaks or "48h", NOW),),
        tickets=(TicketView("verdict", "waiting", 1, digest(VALUE), NOW),),
        kept=(KeptView("order", "client", NOW),),
    )


@pytest.fixture
def shown(reads: Any) -> Callable[..., RunInFull]:
    def put(**how: Any) -> RunInFull:
        made = full(**how)
        reads.runs_in_full[made.view.run] = made
        return made

    return put


RUN = "/runs/run-bwlqz2ftv4kxm7ha"


# ── submits ─────────────────────────────────────────────────────────────


async def test_a_submit_by_checksum(client: Any, desk: Any, reads: Any) -> None:
    reads.documents[CHART.checksum] = JsonText.of(CHART.raw).text
    body = {"graph": CHART.checksum, "input": None, "key": "k", "id": "order-17"}
    answer = await client.post("/runs", json=body)
    assert answer.status_code == 201
    secret = answer.json()["starter"]
    assert len(secret) == 46
    (asked,) = desk.asked
    starter = sha256(secret.encode()).hexdigest()
    assert asked == SubmitRun("order-17", CHART.checksum, JsonText("null"), "k", starter)


async def test_a_document_is_put_on_record_first(client: Any, desk: Any) -> None:
    answer = await client.post(
        "/runs", json={"graph": CHART.raw}, headers={"Idempotency-Key": "order-17", **SHOWN}
    )
    assert "starter" not in answer.json()
    put, asked = desk.asked
    assert isinstance(put, PutGraph)
    assert (put.record.checksum, put.record.machines) == (CHART.checksum, {".": "main"})
    assert asked == SubmitRun(
        submitted_id("order-17"), CHART.checksum, None, None, sha256(SECRET.encode()).hexdigest()
    )


async def test_a_repeated_submit_shows_no_secret(client: Any, desk: Any, reads: Any) -> None:
    reads.documents[CHART.checksum] = JsonText.of(CHART.raw).text
    body = (await client.post("/runs", json={"graph": CHART.checksum, "id": "A"})).content
    desk.answer = Answer(200, body.partition(b',"starter"')[0] + b"}")
    answer = await client.post("/runs", json={"graph": CHART.checksum, "id": "A"})
    assert (answer.status_code, "starter" in answer.json()) == (200, False)


@pytest.mark.parametrize(
    ("body", "headers", "code"),
    [
        ({}, {}, "invalid_body"),
        ({"graph": 7}, {}, "invalid_body"),
        ([], {}, "invalid_body"),
        ({"graph": "sha256:1"}, {}, "graph_not_found"),
        ({"graph": "x", "key": ""}, {}, "invalid_argument"),
        ({"graph": "x", "key": "k" * 257}, {}, "invalid_argument"),
        ({"graph": "x", "id": "a b"}, {}, "invalid_run_id"),
        ({"graph": "x", "id": 7}, {}, "invalid_run_id"),
        ({"graph": "x"}, {"Idempotency-Key": ""}, "invalid_payload"),
        ({"graph": "x"}, {"Stateous-Starter": "short"}, "invalid_argument"),
        ({"graph": "x"}, {"Stateous-Starter": "s" * 257}, "invalid_argument"),
        ({"graph": "x"}, {"Stateous-Starter": "a b" * 20}, "invalid_argument"),
        ({"graph": {}}, {}, "invalid_definition"),
    ],
)
async def test_a_submit_that_is_refused(
    client: Any, desk: Any, body: Any, headers: dict[str, str], code: str
) -> None:
    answer = await client.post("/runs", json=body, headers=headers)
    assert answer.json()["code"] == code
    assert desk.asked == []


async def test_all_problems_of_a_definition_are_told(client: Any) -> None:
    raw = {**CHART.raw, "initial": "nosuch", "extra": 1}
    answer = await client.post("/runs", json={"graph": raw})
    codes = [problem["code"] for problem in answer.json()["problems"]]
    assert set(codes) >= {"unknown-initial", "unknown-field"}


# ── documents ───────────────────────────────────────────────────────────


async def test_a_document_goes_by_its_checksum(client: Any, desk: Any) -> None:
    assert (await client.put(f"/graphs/{CHART.checksum}", json=CHART.raw)).status_code == 201
    assert len(desk.asked) == 1
    answer = await client.put("/graphs/sha256:0", json=CHART.raw)
    assert answer.json()["code"] == "checksum_mismatch"
    assert len(desk.asked) == 1


async def test_a_document_may_be_four_mebibytes_long(client: Any) -> None:
    for size, status in ((2**20 + 9, 422), (2**22 - 99, 422), (2**22 + 9, 413)):
        body = b'{"x":"' + b"x" * size + b'"}'
        headers = {"Content-Type": "application/json"}
        answer = await client.put("/graphs/sha256:0", content=body, headers=headers)
        assert answer.status_code == status
    answer = await client.post("/runs", content=b" " * (2**20 + 1))
    assert answer.status_code == 413


# ── events, answers, jobs ───────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "body", "asked"),
    [
        ("/runs/A/events/e", {}, SendEvent("A", "e", JsonText("null"))),
        ("/runs/A/events/e", {"data": [1.0]}, SendEvent("A", "e", JsonText("[1.0]"))),
        ("/tickets/tk_x", {"ok": 1}, AnswerTicket(digest("tk_x"), None, JsonText('{"ok":1}'))),
        ("/tickets/tk_x?run=A", None, AnswerTicket(digest("tk_x"), "A", JsonText("null"))),
        ("/tickets/tk_x?run=A&run=B", 7, AnswerTicket(digest("tk_x"), "B", JsonText("7"))),
        ("/runs/A/pause", None, Pause("A", Subject.RUN)),
        (
            "/tasks/7/report",
            {"kind": "done", "output": None, "attempt": 1, "supervisor": "b"},
            ReportDone(7, JsonText("null"), 1, "b"),
        ),
        (
            "/tasks/7/report",
            {"kind": "failed", "error": "no", "status": "timeout", "output": 1},
            ReportFailed(7, "no", None, None, "timeout", JsonText("1")),
        ),
        (
            "/tasks/7/emits",
            {
                "supervisor": "b",
                "attempt": 2,
                "first": 4,
                "values": [{"event": "e", "data": 1}, {"event": "f"}],
            },
            Emits(
                7,
                (
                    Emit(7, 4, "e", JsonText("1"), 2, "b"),
                    Emit(7, 5, "f", JsonText("null"), 2, "b"),
                ),
            ),
        ),
    ],
)
async def test_what_is_asked_of_the_desk(
    client: Any, desk: Any, path: str, body: Any, asked: Any
) -> None:
    content = {} if body is None else {"json": body}
    assert (await client.post(path, **content)).status_code < 300
    assert desk.asked == [asked]


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/tickets/tk_x?run=", {}, "invalid_argument"),
        ("/tasks/7/report", {"kind": "done"}, "invalid_body"),
        ("/tasks/7/report", {"kind": "failed", "error": "x", "status": "lost"}, "invalid_body"),
        ("/tasks/7/emits", {"supervisor": "b"}, "invalid_argument"),
        (
            "/tasks/7/emits",
            {"supervisor": "b", "attempt": 1, "first": 0, "values": []},
            "invalid_argument",
        ),
        (
            "/tasks/7/emits",
            {"supervisor": "b", "attempt": 1, "first": 1, "values": [{"data": 1}]},
            "invalid_body",
        ),
        (
            "/tasks/0/emits",
            {"supervisor": "b", "attempt": 1, "first": 1, "values": []},
            "task_not_found",
        ),
    ],
)
async def test_what_is_refused_for_its_form(
    client: Any, desk: Any, path: str, body: Any, code: str
) -> None:
    assert (await client.post(path, json=body)).json()["code"] == code
    assert desk.asked == []


# ── reads ───────────────────────────────────────────────────────────────


async def test_a_run_in_full(client: Any, shown: Any) -> None:
    shown()
    run = (await client.get(RUN)).json()
    assert list(run)[-6:] == ["input", "output", "jobs", "timers", "tickets", "kept"]
    assert "outputs" in (await client.get(f"{RUN}?outputs=true")).json()
    assert "starter" not in run


@pytest.mark.parametrize("path", [RUN, f"{RUN}?outputs=true", "/runs", f"{RUN}/history"])
async def test_values_are_masked_but_for_the_starter(
    make_client: Any, shown: Any, reads: Any, path: str
) -> None:
    shown(leaks=f"x{VALUE}y")
    data = JsonText.of({"event": "e", "data": [VALUE], "from": "client"})
    reads.entries["T-1"] = [Entry("run", 1, NOW, "event_accepted", data)]
    async with make_client(ticket_key=KEY) as client:
        masked = await client.get(path)
        assert VALUE not in masked.text
        assert ticket_id(VALUE) in masked.text
        assert VALUE not in (await client.get(path, headers={"Stateous-Starter": "x" * 32})).text
        told = (await client.get(path, headers=SHOWN)).text
        assert (VALUE in told) is (path != "/runs")


async def test_tickets_are_shown_to_the_starter_alone(make_client: Any, shown: Any) -> None:
    shown()
    async with make_client(ticket_key=KEY) as client:
        for headers in ({}, {"Stateous-Starter": "x" * 32}):
            answer = await client.get(f"{RUN}/tickets", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "not_starter")
        (ticket,) = (await client.get(f"{RUN}/tickets", headers=SHOWN)).json()["tickets"]
        assert ticket["value"] == "tk_T3MU979gq4QZdxdck7oG-gbg066hZkkA-jlOST9zntw"
        assert ticket["id"] == "tid_5b01c9ca05cef9cd"


@pytest.mark.parametrize("path", ["", "/history", "/tickets"])
async def test_a_run_that_is_not_there(client: Any, path: str) -> None:
    answer = await client.get(f"/runs/nosuch{path}", headers=SHOWN)
    assert (answer.status_code, answer.json()["code"]) == (404, "run_not_found")


async def test_a_read_waits_for_the_end(client: Any, shown: Any, desk: Any, reads: Any) -> None:
    shown()
    waiting = asyncio.ensure_future(client.get(f"{RUN}?wait=20"))
    async with asyncio.timeout(5):
        while not desk.followers:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    desk.followers[0].news.set()
    await asyncio.sleep(0.02)
    assert not waiting.done()
    shown(status="completed")
    desk.followers[0].news.set()
    assert (await waiting).json()["status"] == "completed"


async def test_the_cursor_of_a_page_leads_on(client: Any, shown: Any, reads: Any) -> None:
    made = shown()
    reads.more = True
    cursor = (await client.get("/runs?limit=1")).json()["next"]
    await client.get("/runs", params={"cursor": cursor, "limit": 1})
    assert reads.asked[-1][1] == (made.view.started_at, made.view.run)
    answer = await client.get("/graphs", params={"cursor": cursor})
    assert answer.json()["code"] == "invalid_argument"
