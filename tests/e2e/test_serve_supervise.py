"""`stateous serve --supervise`: one process, two parts, and signals that stop them in order."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from stateous_client import Client
from tests.support.databases import ServedDatabase
from tests.support.processes import ControlPlane, Process, control_plane, run_stateous, running

pytestmark = pytest.mark.e2e

# Goes on once the file `go` is there.
ROUTINE = """
import time
from pathlib import Path

from contract import events, states
from stateous import on_state


@on_state(states.draft)
def draft(ctx):
    ctx.note("begun")
    while not Path(__file__).with_name("go").exists():
        time.sleep(0.01)
    return events.submitted()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the starter workflow, and a supervisor whose draft waits to be let go."""
    assert run_stateous("init", "workflow", "invoices", cwd=tmp_path).returncode == 0
    made = run_stateous("init", "supervisor", "invoices/flow.py", "desk", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    (tmp_path / "desk" / "draft.py").write_text(ROUTINE, "utf-8")
    (tmp_path / "desk" / "review.py").unlink()
    return tmp_path


GRAPH = Path("invoices/build/invoices.json")


def begin(process: ControlPlane, client: Client) -> None:
    client.start("INV-1", {"title": "May"})
    process.says("task 1: draft of INV-1, attempt 1")


def test_the_first_signal_lets_the_routine_finish_and_report(
    database: ServedDatabase, place: Path
) -> None:
    with control_plane(GRAPH, database.url, "--supervise", "desk", cwd=place) as (process, client):
        assert re.search(
            r"stateous\.supervisor: \S+ serves draft; the control plane is",
            process.says(" serves "),
        )
        begin(process, client)
        process.signal(signal.SIGINT)
        process.says("stopping: no new tasks; waiting for 1 routine(s) (signal again to stop now)")
        # The control plane answers until its supervisor is done.
        assert client.get("INV-1")["state"] == "draft"
        (place / "desk" / "go").touch()
        assert process.ended() == 0
        assert "task 1 of INV-1: reported submitted\n" in process.said
        assert process.said.endswith("stopped\n")
    with control_plane(GRAPH, database.url, cwd=place) as (process, client):
        assert client.get("INV-1")["state"] == "review"
        assert process.stop() == 0


def test_the_second_signal_stops_at_once(database: ServedDatabase, place: Path) -> None:
    with control_plane(GRAPH, database.url, "--supervise", "desk", cwd=place) as (process, client):
        begin(process, client)
        process.signal(signal.SIGTERM)
        process.says("stopping: no new tasks")
        process.signal(signal.SIGTERM)
        process.says("stopping now: cancelling 1 routine(s)")
        assert process.ended() == 1


def test_a_contract_of_another_workflow_ends_both(database: ServedDatabase, place: Path) -> None:
    contract = place / "desk" / "contract.py"
    text = contract.read_text("utf-8")
    contract.write_text(re.sub(r"sha256:[0-9a-f]{64}", "sha256:" + "0" * 64, text), "utf-8")
    process = ControlPlane(GRAPH, database.url, "--supervise", "desk", cwd=place)
    with running(process):
        assert process.ended() == 1
        assert re.search(
            r"^error: desk/contract\.py is for another version of the workflow 'invoices': "
            r"run stateous init supervisor http://127\.0\.0\.1:\d+ desk again$",
            process.said,
            re.M,
        )
        assert process.said.endswith("stopped\n")
        assert "Traceback" not in process.said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("serve", str(GRAPH), "--supervise", "nowhere"), "cannot read nowhere/stateous.yaml: "),
        (("serve", "nofile.json"), "cannot read the graph file nofile.json: "),
        (("serve", str(GRAPH), "--listen", "nonsense"), "--listen 'nonsense' is not HOST:PORT "),
        (("supervise", "nowhere"), "cannot read nowhere/stateous.yaml: "),
    ],
)
def test_a_refused_start_is_one_line(
    place: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    ran = run_stateous(*arguments, cwd=place)
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"error: {sentence}")
    assert ran.stderr.count("\n") == 1


def test_a_supervisor_of_its_own(database: ServedDatabase, place: Path) -> None:
    (place / "desk" / "go").touch()
    with control_plane(GRAPH, database.url, cwd=place) as (_, client):
        supervisor = Process(
            ["supervise", "desk", "--url", client.url, "--name", "box-1"], cwd=place, name="desk"
        )
        with running(supervisor):
            supervisor.says("box-1 serves draft; the control plane is")
            client.start("INV-1", {"title": "May"})
            supervisor.says("task 1 of INV-1: reported submitted")
            assert client.get("INV-1")["state"] == "review"
            assert supervisor.stop(signal.SIGINT) == 0
