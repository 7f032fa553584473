"""`stateous run` against a real control plane (`docs/spec/statechart.md` 17)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stateous_client import Client
from tests.support.databases import ServedDatabase
from tests.support.processes import ControlPlane, control_plane, eventually, run_stateous, running
from tests.support.served import free_port

pytestmark = pytest.mark.e2e

REVIEW = Path(__file__).parents[2] / "examples" / "review"

#: A chart with some of everything that `run show` tells; nobody runs its routine.
SHOP = """
statechart: shop
initial: open
states:
  open:
    initial: serving
    ticket: licence
    timers: { closing: 8h }
    defer: [letter]
    on: { close: closed, fail: burnt, hop: serving, licence: closed }
    states:
      serving:
        jobs:
          price: { routine: quote, input: 1 }
          chat:
            machine:
              statechart: chat
              states: { talking: { ticket: word, defer: [letter] } }
        on:
          ask: { send: [ { to: parent, event: asked, data: "${event.data}" }, { to: { key: nobody }, event: hello } ] }
          odd: { go: burnt, when: "${event.data.missing}" }
  closed: { end: done, output: { said: "${event.data}", "ü": "a – b" } }
  burnt: { end: failed, output: "${event.data}" }
"""


@dataclass(frozen=True)
class Desk:
    """A person at a computer, who types `stateous run` there."""

    url: str
    folder: Path
    home: Path

    def run(self, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        # What is typed last counts, so that a case can name another address.
        command, *rest = words
        variables = {"XDG_STATE_HOME": str(self.home), **extra}
        return run_stateous(
            "run", command, "--url", self.url, *rest, cwd=self.folder, extra=variables
        )

    def says(self, *words: str, **extra: str) -> str:
        """What a command prints that succeeds."""
        ran = self.run(*words, **extra)
        assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
        return ran.stdout

    def fails(self, *words: str, **extra: str) -> str:
        """The sentence of a command that is refused, without what each begins with."""
        ran = self.run(*words, **extra)
        assert ran.returncode == 1, ran.stdout
        assert ran.stderr.count("\n") == 1, ran.stderr
        assert "Traceback" not in ran.stderr
        begins = f"error: the control plane at {self.url} refused "
        return ran.stderr.removeprefix(begins).removesuffix("\n")

    def reads(self, *words: str) -> Any:
        """The document that a command prints with `--json`."""
        return json.loads(self.run(*words, "--json").stdout)

    def submits(self, *words: str) -> str:
        """The id of a new run."""
        return self.says("submit", *words).removesuffix("\n")

    def ticket(self, run: str) -> str:
        """The value of the run's one open ticket."""
        return self.says("show", run, "--tickets").split()[1]

    @property
    def secrets(self) -> set[str]:
        """The runs whose starter this computer knows as."""
        folder = self.home / "stateous" / "starters"
        return {file.name for file in folder.iterdir()} if folder.exists() else set()


@pytest.fixture(scope="module")
def desk(
    module_database: ServedDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("review.yaml", "draft.js"):
        shutil.copy2(REVIEW / name, folder / name)
    (folder / "shop.yaml").write_text(SHOP, "utf-8")
    with control_plane(None, module_database.url, "--scripts", cwd=folder) as (process, _):
        yield Desk(process.url, folder, folder / "state")
        assert process.stop() == 0
        assert "Traceback" not in process.said


def test_a_run_from_its_submit_to_its_end(desk: Desk) -> None:
    run = desk.submits("review.yaml", "--input", '{"document": "the plan – ü"}')
    assert re.fullmatch(r"run-[a-z2-7]{16}", run)
    assert run in desk.secrets
    value = desk.ticket(run)
    assert re.fullmatch(r"tk_[\w-]{43}", value)
    shown = desk.says("show", run)
    assert re.fullmatch(
        rf"{run}: review: waiting, active\n"
        r'input: \{"document": "the plan – ü"\}\n'
        r"timer: too_long in waiting, due \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n"
        r"ticket: verdict in waiting, open\n",
        shown,
    )
    assert desk.fails("reply", run, "tk_" + "x" * 43, "{}") == "(409): the ticket is not open"
    assert desk.says("reply", run, value, '{"ok": false}') == "taken\n"
    again = desk.ticket(run)
    assert again != value
    assert desk.says("show", run).startswith(f"{run}: review: waiting (visit 2), active\n")
    assert desk.says("reply", run, again, '{"ok": true}') == "taken\n"
    assert desk.says("show", run, "--wait") == 'output: "A draft of the plan – ü"\n'
    assert desk.says("show", run) == (
        f"{run}: review: approved, completed\n"
        'input: {"document": "the plan – ü"}\noutput: "A draft of the plan – ü"\n'
    )
    assert run not in desk.secrets
    for ticket in (value, again):
        refused = desk.fails("reply", run, ticket, '{"ok": true}')
        assert refused == "(409): the ticket is not open"


def test_what_goes_on_in_a_run(desk: Desk) -> None:
    run = desk.submits("shop.yaml", "--key", "shop-1")
    child = desk.reads("show", run)["jobs"][1]["run"]
    assert desk.says("send", run, "letter", '{"n": [1, null]}') == "kept\n"
    assert desk.says("send", run, "unknown") == "dropped\n"
    assert desk.says("send", run, "ask", '"how much"') == "taken\n"
    assert desk.says("send", run, "odd", "{}") == "dropped\n"
    lines = desk.says("show", run).splitlines()
    assert re.fullmatch(r"timer: closing in open, due \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", lines.pop(4))
    assert lines == [
        f"{run}: shop: open/serving, active",
        "input: {}",
        "job: price: routine quote, queued",
        f"job: chat: machine #chat, running: {child}",
        "ticket: licence in open, open",
        "kept: letter",
    ]
    assert desk.says("show", child).splitlines() == [
        f"{child}: chat: talking, active",
        "input: null",
        "ticket: word in talking, open",
    ]
    assert desk.says("send", run, "hop") == "taken\n"
    assert desk.says("show", run).startswith(f"{run}: shop: open/serving (visit 2), active\n")
    second = desk.reads("show", run)["jobs"][1]["run"]
    assert desk.says("reply", run, desk.ticket(run), '"bye"') == "taken\n"
    ended = desk.says("show", run, "--wait")
    assert ended == 'output: {"said": "bye", "ü": "a – b"}\n'
    entries = desk.says("show", run, "--history").splitlines()
    numbers = [int(re.fullmatch(r"\d\d:\d\d:\d\d  #(\d+)  .*", line)[1]) for line in entries]  # type: ignore[index]
    assert numbers == list(range(1, len(entries) + 1))
    texts = [re.sub(r"^\S+  #\d+  ", "", line) for line in entries]
    for expected in (
        "entered serving",
        f"started the child {child}",
        "letter kept",
        "unknown dropped: no_rule",
        'ask in serving: "how much"',
        "sent asked to parent",
        'sent hello to {"key":"nobody"}',
        'hello to {"key":"nobody"} undelivered: no_run',
        "odd dropped: no_rule",
        "left serving",
        f"started the child {second}",
        "ticket licence issued",
        "ticket licence answered",
        'licence in open: "bye"',
        "left open",
        "entered closed",
        "letter dropped: ended",
        "completed",
    ):
        assert expected in texts, (expected, texts)
    assert any(text.startswith("a condition of odd in serving counts as false: ") for text in texts)
    assert desk.says("show", child, "--history").splitlines()[0].endswith(f"started by {run}")


def test_how_a_run_fails(desk: Desk) -> None:
    run = desk.submits("shop.yaml")
    assert desk.says("send", run, "fail", '{"why": "fire"}') == "taken\n"
    ran = desk.run("show", run, "--wait")
    assert (ran.returncode, ran.stdout) == (1, 'output: {"why": "fire"}\n')
    assert ran.stderr == f"error: {run} failed: ended: ended in burnt\n"
    shown = desk.says("show", run)
    assert shown == f"{run}: shop: burnt, failed\ninput: {{}}\nerror: ended: ended in burnt\n"
    assert run not in desk.secrets
    no_input = desk.run("submit", "review.yaml")
    assert no_input.returncode == 1
    assert no_input.stderr.startswith(f"error: the control plane at {desk.url} refused (422): ")
    waiting = desk.submits("shop.yaml")
    assert desk.says("cancel", waiting) == f"{waiting}: shop: open/serving, cancelled\n"
    ran = desk.run("show", waiting, "--wait")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == f"error: {waiting} was cancelled\n"
    assert waiting not in desk.secrets
    assert desk.fails("show", waiting, "--tickets") != ""


def test_a_run_is_paused_and_goes_on(desk: Desk) -> None:
    run = desk.submits("shop.yaml")
    child = desk.reads("show", run)["jobs"][1]["run"]
    ticket = desk.ticket(run)
    assert desk.says("pause", run) == f"{run}: shop: open/serving, paused\n"
    assert desk.says("send", run, "hop") == "held\n"
    assert desk.fails("reply", run, ticket, "1").startswith("(409): ")
    assert desk.says("show", child).startswith(f"{child}: chat: talking, paused\n")
    assert desk.says("resume", run) == f"{run}: shop: open/serving (visit 2), active\n"
    assert desk.fails("pause", child).startswith("(409): ")
    assert desk.says("reply", run, ticket, "1") == "taken\n"
    assert desk.fails("pause", run).startswith("(409): ")


def test_submit_waits_and_takes_a_compiled_document(desk: Desk) -> None:
    assert run_stateous("compile", "shop.yaml", cwd=desk.folder).returncode == 0
    run = desk.submits("build/shop.json", "--id", "shop-by-hand", "--input", "null")
    assert run == "shop-by-hand"
    # The same once more is the run that there is; another one is refused.
    assert desk.submits("build/shop.json", "--id", "shop-by-hand", "--input", "null") == run
    other = desk.fails("submit", "shop.yaml", "--id", "shop-by-hand", "--input", "1")
    assert other.startswith("(409): ")
    assert run in desk.secrets, "the refusal has not cost the secret"
    said: list[subprocess.CompletedProcess[str]] = []
    waiting = threading.Thread(
        target=lambda: said.append(
            desk.run("submit", "shop.yaml", "--key", "waits", "--wait", "--input", "[]")
        )
    )
    waiting.start()
    (found,) = eventually(lambda: desk.reads("list", "--key", "waits"))
    desk.says("send", found["id"], "close", "1")
    waiting.join(60)
    assert said[0].stdout == f'{found["id"]}\noutput: {{"said": 1, "ü": "a – b"}}\n'
    assert said[0].returncode == 0
    assert desk.fails("submit", "shop.yaml", "--key", "k" * 257).startswith("(422): ")


def test_runs_are_listed(desk: Desk) -> None:
    one = desk.submits("shop.yaml", "--key", "listed")
    taken = desk.fails("submit", "shop.yaml", "--key", "listed")
    assert taken.startswith("(409): ")
    assert desk.says("list", "--key", "listed") == f"{one}: shop: open/serving, active\n"
    chats = desk.says("list", "--machine", "chat", "--status", "active").splitlines()
    assert chats
    assert all(": chat: talking, active" in line for line in chats)
    desk.says("cancel", one)
    assert desk.says("list", "--key", "listed", "--status", "active") == "no runs\n"
    two = desk.submits("shop.yaml", "--key", "listed")
    assert [each["id"] for each in desk.reads("list", "--key", "listed")] == [two, one]
    limited = desk.run("list", "--key", "listed", "--limit", "1")
    assert limited.stdout == f"{two}: shop: open/serving, active\n"
    assert limited.stderr == "the list goes on: a larger --limit (up to 1000) shows more\n"


def test_json_is_the_answer_of_the_api(desk: Desk) -> None:
    submitted = desk.reads("submit", "shop.yaml", "--key", "json")
    run = submitted["id"]
    assert (submitted["machine"], submitted["key"], submitted["status"]) == (
        "shop",
        "json",
        "active",
    )
    shown = desk.reads("show", run)
    assert shown["input"] == {}
    assert [each["job"] for each in shown["jobs"]] == ["price", "chat"]
    (ticket,) = desk.reads("show", run, "--tickets")["tickets"]
    assert set(ticket) == {"ticket", "state", "visit", "id", "issued_at", "value"}
    assert desk.reads("send", run, "letter") == {"result": "kept"}
    assert desk.reads("show", run, "--history")[0]["kind"] == "started"
    assert desk.reads("reply", run, ticket["value"], "1") == {"result": "taken"}
    assert desk.reads("show", run, "--wait")["output"] == {"said": 1, "ü": "a – b"}
    refused = desk.reads("reply", run, ticket["value"], "1")["error"]
    assert refused["code"] == "ticket_refused"
    assert (
        refused["message"]
        == f"the control plane at {desk.url} refused (409): the ticket is not open"
    )
    assert desk.reads("show", "nobody")["error"]["code"] == "run_not_found"
    assert desk.reads("list", "--key", "json")[0]["id"] == run
    assert desk.reads("submit", "nowhere.yaml")["error"]["code"] == "failed"


def test_only_who_started_a_run_sees_its_tickets(desk: Desk) -> None:
    run = desk.submits("shop.yaml")
    value = desk.ticket(run)
    other = Desk(desk.url, desk.folder, desk.folder / "another-computer")
    refused = other.run("show", run, "--tickets")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"error: not_starter: the tickets of '{run}' are ")
    assert refused.stderr.count("\n") == 1
    assert other.reads("show", run, "--tickets")["error"]["code"] == "not_starter"
    wrong = other.run("show", run, "--tickets", STATEOUS_STARTER="s" * 43)
    assert wrong.returncode == 1
    assert "refused (403): " in wrong.stderr
    kept = json.loads((desk.home / "stateous" / "starters" / run).read_bytes())
    shown = other.says("show", run, "--tickets", STATEOUS_STARTER=kept["starter"])
    assert shown == f"licence: {value}\n"
    # Whoever has the value answers, wherever they are.
    assert other.says("reply", run, value, "1") == "taken\n"
    assert other.fails("show", "nobody", "--tickets").startswith("(404): ")
    mode = (desk.home / "stateous" / "starters").stat().st_mode & 0o777
    assert mode == 0o700


@pytest.mark.parametrize("seen", [False, True])
def test_a_run_that_has_ended_has_no_open_ticket(desk: Desk, seen: bool) -> None:
    """Whether the secret is still kept here, or was removed when the end was seen."""
    run = desk.submits("shop.yaml")
    began = time.monotonic()
    assert desk.says("reply", run, desk.ticket(run), "1") == "taken\n"
    if seen:
        desk.says("show", run)
    ended = desk.run("show", run, "--tickets", "--wait")
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "error: no open ticket\n")
    # There is nothing to wait for.
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("submit", "nowhere.yaml"), "error: nowhere.yaml cannot be read: "),
        (("submit", "shop.yaml", "--input", "{bad"), "error: --input is not valid JSON: "),
        (("submit", "shop.yaml", "--id", "a b"), "(422): "),
        (("show", "nobody"), "(404): "),
        (("show", "nobody", "--wait"), "(404): "),
        (("show", "nobody", "--history"), "(404): "),
        (("reply", "nobody", "tk_x", "1"), "(409): the ticket is not open"),
        (("reply", "nobody", "tk_x", "{"), "error: JSON is not valid JSON: "),
        (("send", "nobody", "go"), "(404): "),
        (("send", "nobody", "go", "{"), "error: DATA is not valid JSON: "),
        (("cancel", "nobody"), "(404): "),
        (("pause", "nobody"), "(404): "),
        (("resume", "nobody"), "(404): "),
        (("list", "--status", "lost"), "(422): "),
        (("show", "x", "--url", "ftp://x"), "error: "),
    ],
)
def test_a_failure_is_one_line(desk: Desk, words: tuple[str, ...], sentence: str) -> None:
    assert desk.fails(*words).startswith(sentence)


def test_what_is_no_chart_is_not_submitted(desk: Desk) -> None:
    wrong = desk.folder / "wrong.yaml"
    wrong.write_text("statechart: wrong\nstates:\n  a: { on: { go: b } }\n", "utf-8")
    ran = desk.run("submit", "wrong.yaml")
    assert ran.returncode == 1
    assert ran.stderr == (
        "error: statechart 'wrong' is not valid:\n  - wrong.yaml:3: 'b' is no state\n"
    )
    (desk.folder / "list.json").write_text("[1]", "utf-8")
    assert desk.fails("submit", "list.json").startswith("error: list.json is no compiled ")
    # A script that does not parse is found here, not by the service.
    (desk.folder / "broken").mkdir(exist_ok=True)
    shutil.copy2(desk.folder / "review.yaml", desk.folder / "broken" / "review.yaml")
    (desk.folder / "broken" / "draft.js").write_text("return )", "utf-8")
    assert "draft.js:1" in desk.run("submit", "broken/review.yaml").stderr


@pytest.mark.parametrize(
    "words",
    [
        ("submit",),
        ("show",),
        ("show", "x", "--history", "--wait"),
        ("show", "x", "--history", "--tickets"),
        ("reply", "x", "tk"),
        ("send", "x"),
        ("list", "x"),
        ("cancel",),
        ("wait", "x"),
    ],
)
def test_wrong_usage_is_exit_code_2(words: tuple[str, ...]) -> None:
    ran = run_stateous("run", *words)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "Usage: " in ran.stderr


def test_a_submit_may_follow_the_start_of_the_service_at_once(
    desk: Desk, database: ServedDatabase, tmp_path: Path
) -> None:
    port = free_port()
    nobody = Desk(f"http://127.0.0.1:{port}", desk.folder, tmp_path / "state")
    began = time.monotonic()
    assert nobody.run("list").stderr.startswith("error: cannot reach the control plane at ")
    assert time.monotonic() - began >= 5
    said: list[str] = []
    typing = threading.Thread(target=lambda: said.append(nobody.says("submit", "shop.yaml")))
    typing.start()
    plane = ControlPlane(None, database.url, cwd=tmp_path, port=port)
    with running(plane), Client(plane.url) as client:
        typing.join(60)
        assert client.run(said[0].strip())["status"] == "active"
