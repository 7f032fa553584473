"""Jobs of runs end to end: a control plane, a supervisor with scripts and routines, real deaths."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stateous_client import Client
from tests.support.processes import control_plane, environment, eventually, run_stateous

pytestmark = [pytest.mark.e2e]

CHART = """
statechart: desk
initial: counting
states:
  counting:
    job: { script: ./count.js, input: { upto: "${input.upto}" } }
    on: { tick: {}, done: pricing, failed: broken }
  pricing:
    job: { routine: price, input: { cost: "${states.counting.output}" } }
    on: { progress: {}, done: sold, failed: broken }
  sold: { end: done, output: "${states.pricing.output}" }
  broken: { end: failed, output: "${event.data}" }
"""
COUNT = """
if (input.upto < 0) throw new Error("cannot count to " + input.upto);
if (input.upto > 100) { emit("tick", 0); for (;;); }
for (let n = 1; n <= input.upto; n++) emit("tick", n);
return input.upto;
"""
PRICE = """
from stateous import on_job

@on_job("desk/price")
async def price(ctx):
    for n in range(3):
        ctx.emit("progress", [ctx.attempt, n])
    return ctx.input["cost"] * 2
"""


class Supervise:
    """`stateous-supervise`, and the group of processes that it stands for."""

    def __init__(self, folder: Path | None, url: str, cwd: Path, **extra: str) -> None:
        words = [sys.executable, "-m", "stateous_supervisor.command", "--url", url, "--scripts"]
        self.log = cwd / "supervise.log"
        with self.log.open("ab") as stderr:
            self.process = subprocess.Popen(
                [*words, "--name", "box-a", *([str(folder)] if folder else [])],
                cwd=cwd,
                env=environment(**extra),
                stderr=stderr,
            )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)


@contextlib.contextmanager
def supervise(folder: Path | None, url: str, cwd: Path, **extra: str) -> Iterator[Supervise]:
    made = Supervise(folder, url, cwd, **extra)
    try:
        yield made
    finally:
        made.kill()


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "desk.yaml").write_text(CHART)
    (tmp_path / "count.js").write_text(COUNT)
    compiled = run_stateous("compile", "desk.yaml", cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stderr
    made: dict[str, Any] = json.loads((tmp_path / "build" / "desk.json").read_text())
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    desk = tmp_path / "routines"
    desk.mkdir()
    (desk / "work.py").write_text(PRICE)
    (desk / "stateous.yaml").write_text("url: http://127.0.0.1:1\n")
    return desk


def ended(client: Client, run: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        shown: dict[str, Any] = client.run(run, wait=2)
        return shown if shown["status"] != "active" else None

    return eventually(look)


def taken(client: Client, run: str, event: str) -> list[Any]:
    history = client.run_history(run)
    return [
        it["data"]["data"]
        for it in history
        if it["kind"] == "event_accepted" and it["data"]["event"] == event
    ]


def db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'stateous.db'}"


def test_scripts_and_routines_do_the_jobs_of_a_run(
    tmp_path: Path, document: dict[str, Any], folder: Path
) -> None:
    with (
        control_plane(None, db(tmp_path), cwd=tmp_path) as (process, client),
        supervise(folder, process.url, tmp_path),
    ):
        run = client.submit(document, {"upto": 5})["id"]
        assert ended(client, run)["output"] == 10
        assert taken(client, run, "tick") == [1, 2, 3, 4, 5]
        assert taken(client, run, "progress") == [[1, 0], [1, 1], [1, 2]]
        kinds = [it["kind"] for it in client.run_history(run)]
        assert kinds.index("task_done") > kinds.index("event_accepted")

        failed = ended(client, client.submit(document, {"upto": -1})["id"])
        assert failed["status"] == "failed"
        assert failed["output"] == {
            "status": "failed",
            "error": "count.js:2: cannot count to -1",
            "output": None,
        }


def test_a_script_ends_with_its_run(tmp_path: Path, document: dict[str, Any]) -> None:
    with (
        control_plane(None, db(tmp_path), "--lease", "4s", cwd=tmp_path) as (process, client),
        supervise(None, process.url, tmp_path) as supervisor,
    ):
        runs = [client.submit(document, {"upto": 1000})["id"] for _ in range(4)]
        for run in runs:
            eventually(lambda run=run: taken(client, run, "tick"))
        more = client.submit(document, {"upto": 2})["id"]
        for run in runs:
            client.cancel_run(run)
        # All places were taken: it has one when a heartbeat has told of the loss.
        eventually(lambda: taken(client, more, "tick") == [1, 2])
        assert "took it back" in supervisor.log.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_nothing_is_left_of_a_killed_supervisor_and_another_one_goes_on(
    tmp_path: Path, document: dict[str, Any], folder: Path
) -> None:
    with control_plane(None, db(tmp_path), "--lease", "4s", cwd=tmp_path) as (process, client):
        with supervise(None, process.url, tmp_path) as supervisor:
            run = client.submit(document, {"upto": 1000})["id"]
            eventually(lambda: taken(client, run, "tick"))
            below = descendants(supervisor.process.pid)
            assert len(below) >= 3
        eventually(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in below))
        other = client.submit(document, {"upto": 3})["id"]
        with supervise(folder, process.url, tmp_path):
            assert ended(client, other)["output"] == 6
            # Its lease ends, and it is run again from its beginning.
            eventually(lambda: len(taken(client, run, "tick")) == 2)


@pytest.mark.parametrize(
    "point",
    [
        f"{when}-{step}-emit"
        for step in ("write", "send", "removal")
        for when in ("before", "after")
    ],
)
def test_a_value_is_taken_once_wherever_the_supervisor_dies(
    tmp_path: Path, document: dict[str, Any], folder: Path, point: str
) -> None:
    with control_plane(None, db(tmp_path), "--lease", "4s", cwd=tmp_path) as (process, client):
        with supervise(None, process.url, tmp_path):
            run = client.submit(document, {"upto": 0})["id"]
            eventually(lambda: client.run(run)["configuration"][0]["state"] == "pricing")
        with supervise(folder, process.url, tmp_path, STATEOUS_CRASH_AT=point) as dying:
            assert dying.process.wait(30) == -signal.SIGKILL
        with supervise(folder, process.url, tmp_path):
            assert ended(client, run)["output"] == 0
        values = taken(client, run, "progress")
        last = values[-1][0]
        assert [value for value in values if value[0] == last] == [[last, n] for n in range(3)]
        first = [value[1] for value in values if value[0] == 1]
        assert first == list(range(len(first)))


def descendants(pid: int) -> list[int]:
    """The processes below one, however deep."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - plain names
            children = Path(f"/proc/{pid}/task/{task}/children").read_text().split()
            for child in map(int, children):
                found += [child, *descendants(child)]
    return found
