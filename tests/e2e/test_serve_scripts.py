"""`stateous serve --scripts` and `stateous supervise --scripts` (`docs/spec/statechart.md` 17)."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stateous_client import Client
from tests.support.databases import ServedDatabase
from tests.support.processes import Process, control_plane, eventually, run_stateous, running

pytestmark = pytest.mark.e2e

MANY = """
statechart: many
initial: working
states:
  working:
    jobs: { a: &job { script: ./spin.js, timeout: 1h }, b: *job, c: *job, d: *job, e: *job, f: *job }
"""
DESK = """
statechart: desk
initial: counting
states:
  counting: { job: { script: ./count.js, input: 20 }, on: { done: pricing } }
  pricing: { job: { routine: price, input: "${states.counting.output}" }, on: { done: sold } }
  sold: { end: done, output: "${event.data}" }
"""
PRICE = """
from stateous import on_job

@on_job("desk/price")
def price(ctx):
    return ctx.input * 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "many.yaml": MANY,
        "spin.js": "for (;;);",
        "desk.yaml": DESK,
        "count.js": "return input + 1;",
        "desk/price.py": PRICE,
        "desk/stateous.yaml": "url: http://127.0.0.1:1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def document(folder: Path, chart: str) -> dict[str, Any]:
    """The document of a chart, which then stands in `build`."""
    made = run_stateous("compile", f"{chart}.yaml", cwd=folder)
    assert made.returncode == 0, made.stderr
    value: dict[str, Any] = json.loads((folder / "build" / f"{chart}.json").read_bytes())
    return value


def statuses(client: Client, run: str) -> Counter[str]:
    return Counter(job["status"] for job in client.run(run)["jobs"])


def test_a_service_runs_four_scripts_at_a_time(database: ServedDatabase, folder: Path) -> None:
    graph = document(folder, "many")
    # With a short lease the runner soon learns that its tasks were cancelled.
    short = ("--scripts", "--lease", "4s")
    with control_plane(None, database.url, *short, cwd=folder) as (process, client):
        run = client.submit(graph)["id"]
        eventually(lambda: statuses(client, run)["claimed"] == 4)
        time.sleep(0.5)
        assert statuses(client, run) == {"claimed": 4, "queued": 2}
        # Cancelling kills the scripts: the places are free for the next run.
        client.cancel_run(run)
        other = client.submit(graph)["id"]
        eventually(lambda: statuses(client, other)["claimed"] == 4)
        client.cancel_run(other)
        assert process.stop() == 0
        assert process.said.endswith("stopped\n")


@pytest.mark.parametrize("given", [("--scripts", "--supervise", "desk"), ("--supervise", "desk")])
def test_a_folder_and_scripts_beside_one_service(
    database: ServedDatabase, folder: Path, given: tuple[str, ...]
) -> None:
    chart = document(folder, "desk")
    with control_plane(Path("build/desk.json"), database.url, *given, cwd=folder) as (
        process,
        client,
    ):
        # The chart's graph file is on record, and nothing more has come of it.
        (known,) = client.graphs()
        assert (known["name"], known["kind"], known["live"]) == ("desk", "statechart", 0)
        assert client.health()["workflow"] is None
        run = client.submit(known["graph"])["id"]
        runner = None
        if "--scripts" not in given:
            words = ["supervise", "--scripts", "--url", process.url, "--tasks", "1", "--name", "s1"]
            runner = Process(words, cwd=folder, name="scripts")
        ended = client.wait_run(run, timeout=60)
        assert (ended["status"], ended["output"]) == ("completed", 42)
        assert client.graph(known["graph"]) == chart
        claims = [e["data"] for e in client.run_history(run) if e["kind"] == "task_claimed"]
        if runner is not None:
            with running(runner):
                assert claims[0]["supervisor"] == "s1"
                assert runner.stop() == 0
        assert process.stop() == 0


def test_there_must_be_something_to_supervise(tmp_path: Path) -> None:
    ran = run_stateous("supervise", cwd=tmp_path)
    assert ran.returncode == 2
    assert "FOLDER" in ran.stderr
    assert ran.stdout == ""


def test_another_key_is_refused_while_a_ticket_is_open(
    database: ServedDatabase, folder: Path
) -> None:
    (folder / "ask.yaml").write_text(
        "statechart: ask\nstates:\n  open: { ticket: t, on: { t: {} } }\n", "utf-8"
    )
    graph = document(folder, "ask")
    starter = "s" * 43
    with control_plane(None, database.url, "--key-file", "one.key", cwd=folder) as (_, client):
        run = client.submit(graph, starter=starter)["id"]
        (ticket,) = client.tickets(run, starter=starter)
    key = (folder / "one.key").read_text().strip()
    assert len(bytes.fromhex(key)) == 32
    assert (folder / "one.key").stat().st_mode & 0o777 == 0o600
    other = ("serve", "--db", database.url, "--listen", "127.0.0.1:0", "--key-file", "two.key")
    refused = run_stateous(*other, cwd=folder)
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: ")
    assert refused.stderr.count("\n") == 1
    with control_plane(None, database.url, "--key-file", "one.key", cwd=folder) as (_, client):
        (same,) = client.tickets(run, starter=starter)
        assert same["value"] == ticket["value"]
        assert client.reply(ticket["value"], 1) == {"result": "taken"}
