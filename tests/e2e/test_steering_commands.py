"""`stateous token` on a family: children, pause, resume, cancel, tasks, watch and the diagram."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stateous.graph.diagram import diagram_text
from stateous.graph.reading import check_graph
from stateous_client import Client
from tests.support.databases import ServedDatabase
from tests.support.graphs import flow, graph
from tests.support.processes import STATEOUS, control_plane, environment, eventually, run_stateous

pytestmark = pytest.mark.e2e

CHILD = """
    START -> {state}
    {state} -> END on {event}
"""
INVOICES = graph(
    """
    START -> checks
    checks -> pay on joined if branches.all(status == 'completed')
    checks -> END on joined otherwise
    checks -> END on hurry
    pay -> END on paid
    """,
    workflow="invoices",
    states={
        "checks": {"parallel": ["tax-check", "fraud-check"], "join": "all", "emits": []},
    },
    workflows={
        "tax-check": flow(CHILD.format(state="ask", event="quoted")),
        "fraud-check": flow(CHILD.format(state="look", event="clear")),
    },
)


@pytest.fixture(scope="module")
def url(module_database: ServedDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("plane")
    file = folder / "invoices.json"
    file.write_text(json.dumps(INVOICES), "utf-8")
    with control_plane(file, module_database.url, cwd=folder) as (process, _):
        yield process.url
        assert process.stop() == 0


def says(url: str, command: str, *arguments: str) -> tuple[int, str, str]:
    ran = run_stateous("token", command, *arguments, "--url", url)
    return ran.returncode, ran.stdout, ran.stderr


def texts(shown: str) -> list[str]:
    return [re.sub(r"^\d\d:\d\d:\d\d  #\d+  ", "", line) for line in shown.splitlines()]


def test_a_family_is_shown_steered_and_ends(url: str) -> None:
    assert says(url, "start", "INV-7") == (0, "INV-7: checks, active\n", "")
    fraud, tax = "INV-7.checks.1.fraud-check", "INV-7.checks.1.tax-check"
    assert texts(says(url, "show", "INV-7")[1]) == [
        "INV-7: checks, active",
        f"  child {fraud}: look, active",
        f"  child {tax}: ask, active",
        "started",
        "__started__ in START",
        "entered checks",
        f"started the child {tax}",
        f"started the child {fraud}",
    ]
    assert says(url, "pause", "INV-7") == (0, "INV-7: checks, paused\n", "")
    assert says(url, "list", "--status", "paused")[1].splitlines() == [
        "INV-7: checks, paused",
        f"{fraud}: look, paused",
        f"{tax}: ask, paused",
    ]
    assert says(url, "fire", tax, "quoted", "--key", "k1") == (0, f"{tax}: ask, paused\n", "")
    assert says(url, "resume", "INV-7") == (0, "INV-7: checks, active\n", "")
    assert texts(says(url, "show", tax)[1]) == [
        f"{tax}: ask, completed",
        "started by INV-7",
        "__started__ in START",
        "entered ask",
        "task 1 queued for ask",
        "paused",
        "quoted held while paused",
        "resumed",
        "quoted applied on resume",
        "quoted in ask",
        "task 1 cancelled",
        "completed",
    ]
    assert says(url, "fire", tax, "quoted", "--key", "k1") == (
        0,
        f"duplicate: {tax}: ask, completed\n",
        "",
    )
    assert says(url, "fire", fraud, "clear") == (0, f"{fraud}: look, completed\n", "")
    assert says(url, "show", "INV-7")[1].splitlines()[0] == "INV-7: pay, active"
    assert says(url, "cancel", "INV-7") == (0, "INV-7: pay, cancelled\n", "")


@pytest.mark.parametrize("command", ["pause", "resume", "cancel"])
def test_what_cannot_be_steered_is_refused(url: str, command: str) -> None:
    says(url, "start", "REF-1")
    child = "REF-1.checks.1.tax-check"
    code, out, err = says(url, command, child)
    assert (code, out) == (1, "")
    assert err.startswith(f"error: the control plane at {url} refused (409): ")
    ran = run_stateous("token", command, child, "--url", url, "--json")
    assert json.loads(ran.stdout)["error"]["code"] == "child_token"
    assert says(url, command, "nobody")[0] == 1


def test_steering_prints_the_answer_of_the_api(url: str) -> None:
    says(url, "start", "J-1")
    for command, status in (("pause", "paused"), ("resume", "active"), ("cancel", "cancelled")):
        ran = run_stateous("token", command, "J-1", "--url", url, "--json")
        answer = json.loads(ran.stdout)
        assert (answer["token"], answer["state"], answer["status"]) == ("J-1", "checks", status)


def test_tasks_are_listed(url: str) -> None:
    says(url, "start", "TASK-1")
    tax = "TASK-1.checks.1.tax-check"
    line = re.fullmatch(
        rf"task (\d+): tax-check/ask of {tax}, queued\n", says(url, "tasks", "--token", tax)[1]
    )
    assert line
    assert says(url, "fire", "TASK-1", "hurry")[0] == 0
    assert says(url, "tasks", "--token", tax)[1] == (
        f"task {line[1]}: tax-check/ask of {tax}, cancelled\n"
    )
    says(url, "start", "TASK-2")
    with Client(url) as client:
        grant = client.claim("box-1", ["fraud-check/look"])
        assert grant is not None
        assert says(url, "tasks", "--status", "claimed")[1] == (
            f"task {grant['task']}: fraud-check/look of {grant['token']}, claimed, attempt 1, box-1\n"
        )
    some = says(url, "tasks", "--state", "tax-check/ask", "--limit", "1")
    assert some[2] == "the list goes on: --all shows it whole\n"
    everything = run_stateous("token", "tasks", "--all", "--url", url, "--json")
    numbers = [task["task"] for task in json.loads(everything.stdout)]
    assert numbers == sorted(numbers)
    assert len(numbers) > 3
    assert says(url, "tasks", "--token", "nobody")[1] == "no tasks\n"


def watching(url: str, token: str, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*STATEOUS, "token", "watch", token, "--url", url, *options],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_watch_shows_the_history_as_it_grows_and_ends_with_the_token(url: str) -> None:
    says(url, "start", "W-1")
    with watching(url, "W-1") as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline().endswith("  #1  started\n")
        with Client(url) as client:
            client.fire("W-1", "hurry")
        out = watch.stdout.read()
        assert watch.wait(30) == 0
        assert watch.stderr is not None
        assert watch.stderr.read() == ""
    shown = texts(says(url, "show", "W-1")[1])
    assert texts(out) == shown[shown.index("started") + 1 :]
    assert texts(out)[-2:] == ["hurry in checks", "completed"]


def test_a_watch_of_a_token_that_did_not_complete_ends_with_1(url: str) -> None:
    says(url, "start", "W-2")
    says(url, "cancel", "W-2")
    ran = run_stateous("token", "watch", "W-2", "--url", url, "--json")
    assert ran.returncode == 1
    entries = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[-1]["kind"] == "cancelled"
    assert ran.stderr == ""


def test_a_watch_of_nobody_is_a_failure(url: str) -> None:
    ran = run_stateous("token", "watch", "nobody", "--url", url, "--json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["error"]["code"] == "token_not_found"
    assert ran.stderr.startswith("error: ")


@pytest.fixture
def _ctrl_c_arrives() -> Iterator[None]:
    # A shell that runs the tests in the background lets them, and what they start, ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ctrl_c_arrives")
def test_ctrl_c_ends_a_watch_with_130(url: str) -> None:
    says(url, "start", "W-3")
    with watching(url, "W-3") as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline()
        watch.send_signal(signal.SIGINT)
        _, err = watch.communicate(timeout=30)
    assert watch.returncode == 130
    assert err == ""


def test_the_served_workflow_is_drawn(url: str) -> None:
    text = diagram_text(check_graph(INVOICES))
    assert says(url, "show", "--graph") == (0, text, "")
    ran = run_stateous("token", "show", "--graph", "--url", url, "--json")
    assert json.loads(ran.stdout) == {"mermaid": text}


def test_without_a_workflow_there_is_nothing_to_draw(
    database: ServedDatabase, tmp_path: Path
) -> None:
    with control_plane(None, database.url, cwd=tmp_path) as (process, _):
        code, out, err = says(process.url, "show", "--graph")
        assert (code, out) == (1, "")
        assert err.startswith(f"error: the control plane at {process.url} refused (404): ")
        assert says(process.url, "list") == (0, "no tokens\n", "")
        eventually(lambda: process.stop() == 0)
