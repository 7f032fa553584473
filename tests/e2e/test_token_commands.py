"""`stateous token` against a real control plane: the transcripts of the specification, and more."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.databases import ServedDatabase
from tests.support.processes import STATEOUS, control_plane, run_stateous

pytestmark = pytest.mark.e2e

GRAPH = {
    "stateous": 1,
    "workflow": "ticket",
    "context": "Ticket",
    "states": {
        "coding": {"timeout": "1h", "emits": ["done"]},
        "testing": {"emits": ["passed"]},
    },
    "events": {"done": {}, "passed": {"payload": "Report"}},
    "transitions": [
        {"from": "__start__", "to": "coding"},
        {"from": "coding", "to": "testing", "on": "done"},
        {"from": "testing", "to": "__end__", "on": "passed"},
    ],
    "schemas": {
        "Report": {
            "type": "object",
            "properties": {"tests": {"type": "integer"}},
            "required": ["tests"],
        },
        "Ticket": {
            "type": "object",
            "properties": {"repo": {"type": "string"}},
            "required": ["repo"],
        },
    },
}
REPO = '{"repo": "acme/api"}'


@pytest.fixture(scope="module")
def url(module_database: ServedDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("plane")
    graph = folder / "ticket.json"
    graph.write_text(json.dumps(GRAPH), "utf-8")
    with control_plane(graph, module_database.url, cwd=folder) as (process, _):
        yield process.url
        assert process.stop() == 0
        assert process.said.endswith("stopped\n")


def token(*arguments: str, url: str) -> subprocess.CompletedProcess[str]:
    # What is typed last counts, so that a case can name another address.
    command, *rest = arguments
    return run_stateous("token", command, "--url", url, *rest)


def test_the_transcript_of_one_token(url: str) -> None:
    def says(*arguments: str) -> tuple[int, str, str]:
        ran = token(*arguments, url=url)
        return ran.returncode, ran.stdout, ran.stderr

    assert says("start", "TICKET-1", REPO) == (0, "TICKET-1: coding, active\n", "")
    assert says("start", "TICKET-1", '{"repo": "other"}') == (0, "TICKET-1: coding, active\n", "")
    assert says("fire", "TICKET-1", "done", "--key", "k1") == (0, "TICKET-1: testing, active\n", "")
    assert says("fire", "TICKET-1", "done", "--key", "k1") == (
        0,
        "duplicate: TICKET-1: testing, active\n",
        "",
    )
    assert says("fire", "TICKET-1", "stuck", "--key", "k1") == (
        0,
        "duplicate: TICKET-1: testing, active\n",
        "warning: the key 'k1' was used before, for another event or payload; nothing was done\n",
    )
    code, out, err = says("fire", "TICKET-1", "nosuch")
    assert (code, out) == (1, "")
    assert err == (
        f"error: the control plane at {url} refused (409): "
        "the workflow 'ticket' has no event 'nosuch'\n"
    )
    assert (
        says("fire", "TICKET-1", "passed", '{"tests": 12}')[1] == "TICKET-1: testing, completed\n"
    )

    lines = says("show", "TICKET-1")[1].splitlines()
    assert lines[0] == "TICKET-1: testing, completed"
    texts = [re.sub(r"^\d\d:\d\d:\d\d  #\d+  ", "", line) for line in lines[1:]]
    texts[4] = re.sub(r"at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", "at <moment>", texts[4])
    assert texts == [
        "started",
        "__started__ in START",
        "entered coding",
        "task 1 queued for coding",
        "timer set: timeout at <moment>",
        "done in coding",
        "task 1 cancelled",
        "entered testing",
        "task 2 queued for testing",
        "nosuch refused: the workflow 'ticket' has no event 'nosuch'",
        'passed in testing: {"tests":12}',
        "task 2 cancelled",
        "completed",
    ]
    assert len(says("show", "TICKET-1", "--after", "11")[1].splitlines()) == 3


def test_json_is_the_answer_of_the_api(url: str) -> None:
    def document(*arguments: str) -> object:
        return json.loads(token(*arguments, "--json", url=url).stdout)

    started = document("start", "J-1", REPO)
    assert isinstance(started, dict)
    assert started["context"] == {"repo": "acme/api"}
    shown = document("show", "J-1")
    assert isinstance(shown, dict)
    assert list(shown) == ["token", "children", "history"]
    assert shown["token"] == started
    assert [entry["seq"] for entry in shown["history"]] == [1, 2, 3, 4, 5]
    assert document("show", "--prefix", "J-") == [started]
    assert document("show", "--prefix", "none") == []
    refused = document("show", "nobody")
    assert isinstance(refused, dict)
    assert refused["error"]["code"] == "token_not_found"
    assert refused["error"]["message"].startswith(f"the control plane at {url} refused (404): ")
    assert document("start", "J-2", "{")["error"]["code"] == "failed"  # type: ignore[index]


@pytest.mark.parametrize("command", ["show", "list"])
def test_the_list_tells_when_there_is_more(url: str, command: str) -> None:
    for number in range(3):
        token("start", f"L-{number}", REPO, url=url)
    some = token(command, "--prefix", "L-", "--limit", "2", url=url)
    assert some.stdout == "L-2: coding, active\nL-1: coding, active\n"
    assert some.stderr == "the list goes on: --all shows it whole\n"
    exactly = token(command, "--prefix", "L-", "--limit", "3", url=url)
    everything = token(command, "--prefix", "L-", "--all", url=url)
    assert everything.stdout == exactly.stdout
    assert len(everything.stdout.splitlines()) == 3
    assert everything.stderr == exactly.stderr == ""
    as_json = token(command, "--prefix", "L-", "--limit", "2", "--json", url=url)
    assert [one["token"] for one in json.loads(as_json.stdout)] == ["L-2", "L-1"]
    assert as_json.stderr == some.stderr
    assert token(command, "--status", "failed", url=url).stdout == "no tokens\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("start", "X-1", "{bad"), "CONTEXT_JSON is not valid JSON: Expecting property name "),
        (("start", "X-1", "[]"), "CONTEXT_JSON must be a JSON object "),
        (("fire", "X-1", "done", '{"a": NaN}'), "PAYLOAD_JSON is not valid JSON: NaN "),
        (("start", "X 1", REPO), "the control plane at {url} refused (422): "),
        (("start", "X-1", '{"repo": 5}'), "the control plane at {url} refused (422): ticket: "),
        (("show", "--limit", "5000"), ""),
        (("show", "--moved-after", "yesterday"), ""),
        (("show", "--url", "http://127.0.0.1:1"), "cannot reach the control plane at "),
        (("show", "--url", "ftp://x"), ""),
    ],
)
def test_a_failure_is_one_line(url: str, arguments: tuple[str, ...], sentence: str) -> None:
    ran = token(*arguments, url=url)
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.startswith("error: " + sentence.format(url=url))
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "X-1", "--status", "active"),
        ("show", "X-1", "--all"),
        ("show", "--after", "3"),
        ("show", "--all", "--limit", "3"),
        ("start",),
        ("fire", "X-1"),
        ("pause",),
        ("watch",),
        ("list", "X-1"),
        ("list", "--all", "--limit", "3"),
        ("list", "--graph"),
        ("tasks", "--all", "--limit", "3"),
        ("show", "X-1", "--graph"),
        ("show", "--graph", "--status", "active"),
        ("show", "--graph", "--all"),
        ("show", "--graph", "--after", "3"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    ran = run_stateous("token", *arguments)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "Usage: " in ran.stderr


def test_nobody_reads_any_more(url: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(
            [*STATEOUS, "token", "show", "--url", url],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert ran.returncode == 1
    assert ran.stderr == b""
