"""`stateous token` against a real control plane: the transcripts of the specification, and more."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

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
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("plane")
    (folder / "ticket.json").write_text(json.dumps(GRAPH), "utf-8")
    server = subprocess.Popen(
        [sys.executable, "-m", "stateous_cli", "serve", "ticket.json", "--listen", "127.0.0.1:0"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        line = server.stderr.readline()
        found = re.fullmatch(r"serving on (\S+) \(Ctrl-C stops\)\n", line)
        assert found, line + server.stderr.read()
        yield found[1]
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
        assert server.stderr.read().endswith("stopped\n")
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


def stateous(*arguments: str, url: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: v for name, v in os.environ.items() if not name.startswith("STATEOUS_")}
    return subprocess.run(
        [sys.executable, "-m", "stateous_cli", *arguments],
        env=environment | ({"STATEOUS_URL": url} if url else {}) | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_transcript_of_one_token(url: str) -> None:
    def says(*arguments: str) -> tuple[int, str, str]:
        ran = stateous("token", *arguments, url=url)
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
        return json.loads(stateous("token", *arguments, "--json", url=url).stdout)

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


def test_the_list_tells_when_there_is_more(url: str) -> None:
    for number in range(3):
        stateous("token", "start", f"L-{number}", REPO, url=url)
    some = stateous("token", "show", "--prefix", "L-", "--limit", "2", url=url)
    assert some.stdout == "L-2: coding, active\nL-1: coding, active\n"
    assert some.stderr == "there are more than these 2: --all shows them all\n"
    everything = stateous("token", "show", "--prefix", "L-", "--all", url=url)
    assert len(everything.stdout.splitlines()) == 3
    assert everything.stderr == ""
    assert stateous("token", "show", "--status", "paused", url=url).stdout == "no tokens\n"


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
    ran = stateous("token", *arguments, url=url)
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
        ("pause", "X-1"),
        ("show", "--graph"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    ran = stateous("token", *arguments)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "Usage: " in ran.stderr


def test_nobody_reads_any_more(url: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "stateous_cli", "token", "show", "--url", url],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert ran.returncode == 1
    assert ran.stderr == b""
