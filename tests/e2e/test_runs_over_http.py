"""Runs over HTTP against a real control plane: no ticket's value where it must not be, deaths, files."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from stateous_controlplane.store.migrations.upgrading import engine_for, upgrade
from tests.support.charts import document
from tests.support.databases import ServedDatabase, SqliteFile
from tests.support.processes import control_plane, eventually
from tests.support.served import refused_start, ticket_graph

pytestmark = pytest.mark.e2e

STARTER = "the-starter-of-all-runs-in-this-test"
SHOWN = {"Stateous-Starter": STARTER}

DESK = document(
    """
    initial: open
    states:
      open:
        ticket: verdict
        on:
          verdict: [{ go: closed, when: "${event.data.ok}" }]
          again: open
      closed: { end: done, output: "${event.data}" }
    """
)
#: Hands its ticket on: to a run with a key, into a job's input and into its own output.
LEAKING = document(
    """
    initial: asking
    states:
      asking:
        ticket: verdict
        entry:
          send: { to: { machine: boss.yaml, key: boss }, event: asked, data: { t: "${tickets.verdict}" } }
        on: { verdict: telling }
      telling: { end: done, output: "it was ${event.data.was}" }
    """,
    boss="""
    initial: idle
    states:
      idle: { job: { script: look.js, input: "${input}" }, on: { done: seen } }
      seen: { end: done, output: "${input.t}" }
    """,
)


@contextmanager
def plane(database: ServedDatabase, cwd: Path, *options: str) -> Iterator[Any]:
    with (
        control_plane(None, database.url, "--access-log", *options, cwd=cwd) as (process, _),
        httpx.Client(base_url=process.url, timeout=30) as client,
    ):
        yield process, client


def submit(client: httpx.Client, chart: Any, run: str, **more: Any) -> Any:
    body = {"graph": chart.raw, "id": run, **more}
    answer = client.post("/runs", json=body, headers=SHOWN)
    assert answer.status_code == 201, answer.text
    return answer.json()


def ticket_of(client: httpx.Client, run: str) -> str:
    answer = client.get(f"/runs/{run}/tickets?wait=20", headers=SHOWN)
    (ticket,) = answer.json()["tickets"]
    value: str = ticket["value"]
    return value


def stored(database: ServedDatabase) -> bytes:
    """All that the database has: the bytes of its files, or a dump of its rows."""
    if isinstance(database, SqliteFile):
        files = database.file.parent.glob(f"{database.file.name}*")
        return b"".join(file.read_bytes() for file in files if file.suffix != ".key")
    rows = [database.query(f"SELECT * FROM {table}") for table in sorted(database.tables())]
    return repr(rows).encode()


def test_a_tickets_value_is_nowhere_but_with_the_starter(
    database: ServedDatabase, tmp_path: Path
) -> None:
    with plane(database, tmp_path) as (process, client):
        submit(client, DESK, "A")
        value = ticket_of(client, "A")
        wrong = "tk_" + "w" * 43
        answers = [
            client.get("/runs/A"),
            client.get("/runs/A/history"),
            client.get("/runs"),
            client.get("/graphs"),
            client.get("/runs/A/tickets"),
            client.post(f"/tickets/{value}", json={"no": 1}),
            client.post(f"/tickets/{value}?run=B", json={"ok": True}),
            client.post(f"/tickets/{wrong}", json={"ok": True}),
            client.post(f"/tickets/{value}", content=b"{"),
            client.put(f"/tickets/{value}", json={}),
            client.post(f"/tickets/{value}/x", json={}),
            client.post(f"/tickets/{value}", json={"ok": True}),
            client.get("/runs/A"),
            client.get("/runs/A/history"),
        ]
        told = [answer.status_code for answer in answers]
        assert told == [200, 200, 200, 200, 403, 409, 409, 409, 400, 405, 404, 200, 200, 200]
        for number, answer in enumerate(answers):
            # Two refusals repeat the path to who has sent it.
            assert value not in answer.text or number in (9, 10), answer.text
        assert answers[6].json() == answers[7].json()
        again = client.post(f"/tickets/{value}", json={"ok": True})
        assert again.json() == answers[7].json()
        assert process.stop() == 0
    assert value not in process.said
    assert "POST /tickets/*** 200" in process.said
    assert value.encode() not in stored(database)
    assert STARTER.encode() not in stored(database)
    assert STARTER not in process.said


def test_a_value_that_a_chart_hands_on_is_masked_in_reads(
    database: ServedDatabase, tmp_path: Path
) -> None:
    with plane(database, tmp_path) as (process, client):
        submit(client, LEAKING, "A")
        value = ticket_of(client, "A")
        client.post("/runs", json={"graph": DESK.raw, "id": "other"})

        def boss() -> Any:
            found: list[Any] = client.get("/runs", params={"key": "boss"}).json()["runs"]
            return found[0]["id"] if found else None

        run = eventually(boss)
        assert value not in client.get(f"/runs/{run}").text
        assert "tid_" in client.get(f"/runs/{run}").text
        assert client.get(f"/runs/{run}/tickets", headers=SHOWN).status_code == 403
        grant = client.post("/tasks/claim", json={"supervisor": "box", "jobs": ["scripts"]}).json()
        assert grant["input"] == {"t": value}
        report = {"kind": "done", "output": value, "supervisor": "box", "attempt": 1}
        answer = client.post(f"/tasks/{grant['task']}/report", json=report)
        assert answer.json()["status"] == "completed"
        assert value not in answer.text
        assert value not in client.get(f"/runs/{run}/history").text
        client.post(f"/tickets/{value}", json={"was": value})
        for path in ("/runs/A", "/runs/A/history", "/runs/A?outputs=true"):
            assert value not in client.get(path).text
            assert value not in client.get(path, headers={"Stateous-Starter": "x" * 36}).text
            assert value in client.get(path, headers=SHOWN).text
        assert process.stop() == 0
    assert value not in process.said


def test_runs_go_on_after_a_death_with_the_same_values(
    database: ServedDatabase, tmp_path: Path
) -> None:
    key_file = tmp_path / "ticket.key"
    with plane(database, tmp_path, "--key-file", str(key_file)) as (process, client):
        submit(client, DESK, "A")
        value = ticket_of(client, "A")
        process.kill()
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    other = tmp_path / "other.key"
    refused = refused_start(
        "--db", database.url, "--listen", "127.0.0.1:0", "--key-file", str(other), cwd=tmp_path
    )
    assert "1 open ticket(s)" in refused
    assert not other.exists()
    with plane(database, tmp_path, "--key-file", str(key_file)) as (process, client):
        assert ticket_of(client, "A") == value
        assert client.post(f"/tickets/{value}", json={"ok": True}).json() == {"result": "taken"}
        assert client.get("/runs/A").json()["output"] == {"ok": True}


def test_a_start_with_a_charts_document_puts_it_on_record(
    database: ServedDatabase, tmp_path: Path
) -> None:
    file = tmp_path / "chart.json"
    file.write_text(json.dumps(DESK.raw, indent=2))
    with (
        control_plane(file, database.url, cwd=tmp_path) as (process, _),
        httpx.Client(base_url=process.url) as client,
    ):
        assert client.get("/health").json() == {
            "workflow": None,
            "checksum": None,
            "contract": None,
        }
        assert client.get("/workflow").status_code == 404
        (shown,) = client.get("/graphs").json()["graphs"]
        assert (shown["graph"], shown["kind"]) == (DESK.checksum, "statechart")
        answer = client.post("/runs", json={"graph": DESK.checksum})
        assert answer.status_code == 201
        assert answer.json()["starter"].startswith("st_")
    with control_plane(ticket_graph(tmp_path), database.url, cwd=tmp_path) as (process, client):
        # A live run is no token of the workflow, whose structure is another one.
        assert client.start("T-1", {"repo": "acme/api"})["status"] == "active"
        kinds = {
            each["kind"]: each["live"]
            for each in httpx.get(f"{process.url}/graphs").json()["graphs"]
        }
        assert kinds == {"statechart": 1, "workflow": 1}


def test_a_database_of_the_first_version_takes_runs(
    new_database: ServedDatabase, tmp_path: Path
) -> None:
    with engine_for(new_database.url).begin() as connection:
        upgrade(connection, "0001")
    with plane(new_database, tmp_path) as (_, client):
        submit(client, DESK, "A")
        assert client.post(f"/tickets/{ticket_of(client, 'A')}", json={"ok": 1}).status_code == 409
        assert [run["id"] for run in client.get("/runs?machine=main").json()["runs"]] == ["A"]
