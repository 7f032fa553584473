"""SIGKILL of a supervisor at each of its named points, and what the ledger shows after a restart.

Each case has a token, a state and a supervisor's folder of its own; all share one control plane. The
law for what the attempt that was killed has said:

* each note, memory write and report of an attempt is in the ledger **at most once**;
* what was on disk, or in the ledger, when the supervisor died is there **exactly once** when it is
  started again within the lease;
* after the lease nothing of that attempt is added any more.

In all cases the token ends, by one report.
"""

from __future__ import annotations

import json
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from stateous_client import Client
from stateous_supervisor.crashpoints import POINTS
from tests.support.databases import ServedDatabase
from tests.support.graphs import graph
from tests.support.nursery import Nursery, nursery
from tests.support.outboxes import kinds_on_disk
from tests.support.processes import control_plane, eventually, run_stateous
from tests.support.soak import on_each_database

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(170)]

LEASE = 6
ROUTINE = """
from contract import events, states
from stateous import on_state


@on_state(states.{state})
{head} work(ctx):
    ctx.note(f"note {{ctx.attempt}}")
    ctx.memory[f"key{{ctx.attempt}}"] = "kept"
    return events.done({{"attempt": ctx.attempt}})
"""


@dataclass(frozen=True)
class Case:
    state: str
    point: str
    within_lease: bool

    def __str__(self) -> str:
        return f"{self.point}, restarted {'within' if self.within_lease else 'after'} the lease"


CASES = [
    Case(f"s{number}", point, within)
    for number, (within, point) in enumerate(
        (within, point) for within in (False, True) for point in POINTS if "emit" not in point
    )
]


@pytest.mark.parametrize(
    ("database", "head"),
    on_each_database(["def", "async def"], postgres_in_brief=["async def"]),
    indirect=["database"],
)
def test_a_supervisor_killed_at_any_point_says_everything_once(
    database: ServedDatabase, tmp_path: Path, head: str
) -> None:
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(points_graph()))
    options = ("--lease", f"{LEASE}s")
    with (
        control_plane(file, database.url, *options, cwd=tmp_path) as served,
        nursery(tmp_path) as home,
        # Most of a case is waiting for a lease to end.
        ThreadPoolExecutor(24) as threads,
    ):
        plane, client = served
        template = template_folder(file, tmp_path / "template", plane.url)
        desk = Desk(client, home, template, head)
        failures = [it for it in threads.map(desk.failure_of, CASES) if it is not None]
    assert not failures, "\n\n".join(failures)


def points_graph() -> dict:
    lines = []
    for case in CASES:
        lines.append(f"START -> {case.state} if ctx['case'] == '{case.state}'")
        lines.append(f"{case.state} -> END on done")
    return graph(
        "\n".join(lines),
        workflow="points",
        context="Case",
        states={case.state: {"retries": 3} for case in CASES},
        events={"done": {"payload": "Done"}},
        schemas={
            "Case": {"type": "object", "properties": {"case": {"type": "string"}}},
            "Done": {
                "type": "object",
                "properties": {"attempt": {"type": "integer"}},
                "required": ["attempt"],
            },
        },
    )


def template_folder(graph_file: Path, folder: Path, url: str) -> Path:
    done = run_stateous("init", "supervisor", str(graph_file), str(folder))
    assert done.returncode == 0, done.stderr
    for file in folder.glob("*.py"):
        if file.name != "contract.py":
            file.unlink()
    (folder / "stateous.yaml").write_text(f'url: "{url}"\ntasks: 1\n')
    return folder


@dataclass(frozen=True)
class Said:
    """What of one attempt is in the ledger, or on a disk."""

    notes: int
    memory: int
    reports: int


class Desk:
    def __init__(self, client: Client, home: Nursery, template: Path, head: str) -> None:
        self.client = client
        self.home = home
        self.template = template
        self.head = head
        # So that a restart within the lease comes within the lease on a slow machine too.
        self.at_once = threading.Semaphore(4)

    def failure_of(self, case: Case) -> str | None:
        try:
            self.check(case)
        except Exception as error:  # an assertion, or a process that did not end
            history = "\n".join(map(str, self.client.history(case.state)))
            return f"{case}: {type(error).__name__}: {error}\n{history}"
        return None

    def check(self, case: Case) -> None:
        token = case.state
        folder = shutil.copytree(self.template, self.template.parent / case.state)
        (folder / "work.py").write_text(ROUTINE.format(state=case.state, head=self.head))
        with (folder / "stateous.yaml").open("a") as settings:
            settings.write(f"name: {case.state}\n")
        with self.at_once:
            self.client.start(token, {"case": case.state})
            doomed = self.home.start(folder, crash_at=case.point)
            assert doomed.ended() == -signal.SIGKILL, doomed.said
            on_disk = said_on_disk(folder, 1)
            if case.within_lease:
                told = self.said(token, 1)
                again = self.home.start(folder)
                eventually(lambda: self.has_settled(folder))
        if not case.within_lease:
            eventually(lambda: self.is_over(token))
            told = self.said(token, 1)
            again = self.home.start(folder)
        ended = self.client.wait(token, timeout=60)
        assert ended["status"] == "completed"
        again.says(f"{token} serves {token}")
        assert again.stop() == 0, again.said
        assert said_on_disk(folder, 1) == said_on_disk(folder, 2) == Said(0, 0, 0)

        first, second = self.said(token, 1), self.said(token, 2)
        assert max(first.notes, first.memory, first.reports) <= 1
        assert max(second.notes, second.memory, second.reports) <= 1
        assert first.reports + second.reports == 1
        if case.within_lease:
            assert first == Said(
                max(told.notes, on_disk.notes),
                max(told.memory, on_disk.memory),
                max(told.reports, on_disk.reports),
            ), f"{on_disk} on disk, {told} told: {first}"
        else:
            assert first == told
        if not first.reports:
            assert second == Said(1, 1, 1)

    def said(self, token: str, attempt: int) -> Said:
        entries = [(it["kind"], it["data"]) for it in self.client.history(token)]
        return Said(
            sum(kind == "note" and data["text"] == f"note {attempt}" for kind, data in entries),
            sum(
                kind == "memory_set" and data["memory_key"] == f"key{attempt}"
                for kind, data in entries
            ),
            sum(
                kind == "event_accepted" and data["payload"] == {"attempt": attempt}
                for kind, data in entries
                if kind == "event_accepted" and data.get("payload")
            ),
        )

    def is_over(self, token: str) -> bool:
        """The first attempt has ended, by its lease or before its supervisor died."""
        kinds = {it["kind"] for it in self.client.history(token)}
        return bool(kinds & {"task_failed", "completed"})

    def has_settled(self, folder: Path) -> bool:
        return said_on_disk(folder, 1) == Said(0, 0, 0)


def said_on_disk(folder: Path, attempt: int) -> Said:
    """What waits in the outbox."""
    kinds = kinds_on_disk(folder, attempt)
    return Said(kinds.count("note"), kinds.count("memory"), kinds.count("report"))
