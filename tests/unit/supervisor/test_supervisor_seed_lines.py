"""Every log line and every refusal that seed 000 quotes of a supervisor, word for word.

The table is checked against the seed's own text: a line that the seed has and the table has not
fails, and so does one that no supervisor writes.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from pathlib import Path

import pytest

from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.messages import Attempt, Draft
from stateous_supervisor.outbox import Outbox
from stateous_supervisor.pace import Pace
from stateous_supervisor.supervise import Supervisor

SEED = Path(__file__).parents[3] / "docs/seeds/000_6f2a90408c265e21.txt"
SECTIONS = ("Claim a task", "Heartbeat", "Report an outcome", "Supervisor start")

CLAIM = "the control plane refused a claim: ..."
BEAT = "the control plane refused a heartbeat: ..."
FAILED = "a heartbeat failed"
GRANTED = "task 2: testing of TICKET-1, attempt 1"
LOST = "task 2 of TICKET-1: the control plane took it back; cancelling its routine"
MOVED = "task 2 of TICKET-1: reported passed"
REFUSED = "task 2 of TICKET-1: the control plane refused the report: ..."
STAYS = (
    "task 2 of TICKET-1: the control plane cannot be reached; the report stays in the outbox for "
    "the next start"
)
SERVES = "build-box-1 serves draft, review; the control plane is http://127.0.0.1:8080"
AWAY = "cannot reach the control plane at <url> (...); trying again in 1s"
AGAIN = "... trying again in 1s"
LATER = "...; trying again in 1s"
LEFT = "sending 2 message(s) left in the outbox"
FIRST = "stopping: no new tasks; waiting for 1 routine(s) (signal again to stop now)"
SECOND = "stopping now: cancelling 1 routine(s)"
NONE = "error: <url> did not answer as a Stateous control plane: ..."
OTHER = (
    "error: ... is for another version of the workflow ...: run stateous init supervisor ... again"
)
TWICE = "error: another supervisor runs on <folder> now: stop it, or use another folder"
BROKEN = "error: <sentence>"

LINES = {
    CLAIM, BEAT, FAILED, GRANTED, LOST, MOVED, REFUSED, STAYS, SERVES, AWAY, AGAIN, LATER, LEFT,
    FIRST, SECOND, NONE, OTHER, TWICE, BROKEN,
}  # fmt: skip

CONTRACT = """
from stateous import Occurrence, StateRef

__workflow__ = "ticket"
__checksum__ = "sha256:aa"
__contract__ = "sha256:cc"


class events:
    class passed(Occurrence[None]):
        name = "passed"


class states:
    testing = StateRef("testing", emits=(events.passed,))
    draft = StateRef("draft", emits=(events.passed,))
    review = StateRef("review", emits=(events.passed,))
"""
HEAD = "import asyncio\nfrom stateous import on_state\nfrom contract import events, states\n"
TESTING = HEAD + "@on_state(states.testing)\ndef work(ctx):\n    return events.passed()\n"
SLEEPS = HEAD + "@on_state(states.testing)\nasync def work(ctx):\n    await asyncio.sleep(30)\n"
TWO = HEAD + "".join(
    f"@on_state(states.{state})\ndef {state}(ctx): ...\n" for state in ("draft", "review")
)
#: The seconds of the seeds where they are quoted; all else is quick.
PACE = Pace(claim_pause=0.02, claim_grace=0.05, heartbeat=0.05, cancel_grace=1, send_grace=0.2)


def quoted() -> set[str]:
    """What the seed quotes: in its tables after `Log:` and `stderr:`, to the end of the quote."""
    found = set()
    for section in SECTIONS:
        text = SEED.read_text("utf-8").partition(f"\n{section}\n\nTrigger")[2]
        for row in text.partition("\nData\n")[0].splitlines():
            told = re.search(r"(?:Log|stderr): (.*)", row)
            if told is not None:
                found.add(_quote(told[1]))
    return found


def _quote(text: str) -> str:
    # What follows in the row is told about the line, and is not of it.
    text = re.sub(r", then .*| Exit code .*|, for example .*|, with the error.*", "", text)
    text = re.sub(r" (?:Until|The|After) .*", "", text)
    return text.removesuffix(".") if not text.endswith("...") or text.endswith("....") else text


def test_the_table_has_the_lines_that_the_seed_quotes() -> None:
    assert quoted() == LINES


@pytest.fixture
def box(plane, write_folder, caplog):
    """Runs a supervisor while ``during`` happens, and gives what it said."""
    caplog.set_level(logging.INFO, logger="stateous.supervisor")
    running = []

    def run(work, during=lambda _: None, *, pace=PACE, left=0, url=None, stops=1):
        folder = write_folder(url or plane.url, contract=CONTRACT, work=work)
        (folder / "stateous.yaml").write_text(f'url: "{url or plane.url}"\nname: build-box-1\n')
        if left:
            outbox = Outbox.open(folder, written=lambda _: None)
            for number in range(left):
                outbox.put(Draft(Attempt(9, 1), "TICKET-9", "note", {"text": f"{number}"}))
            outbox.close()
        supervisor = Supervisor(folder, pace=pace)
        ended = []
        thread = threading.Thread(target=lambda: ended.append(_outcome(supervisor)))
        running.append((supervisor, thread))
        thread.start()
        during(folder)
        for _ in range(stops):
            supervisor.stop()
        thread.join(15)
        assert not thread.is_alive()
        said = [record.getMessage() for record in caplog.records]
        return [*said, *(it for it in ended if isinstance(it, str))]

    yield run
    for supervisor, thread in running:
        while thread.is_alive():
            supervisor.stop()
            thread.join(0.2)


def _outcome(supervisor: Supervisor) -> str | int:
    try:
        return supervisor.run()
    except SupervisorError as error:
        return f"error: {error}"


def refused(status, code, error="why"):
    return lambda _body: (status, {"code": code, "error": error})


def away(_body):
    raise ConnectionAbortedError


def works(plane, line, caplog):
    """What goes on while a supervisor works on TICKET-1, until ``line`` is said."""
    plane.grant(2, state="testing", token="TICKET-1")

    def during(_folder):
        for _ in range(2000):
            if line in caplog.text:
                return
            time.sleep(0.005)

    return during


def says(line, **stands_for):
    """A pattern of the line: its `...` and its `<names>` stand for what a run puts there."""
    pattern = re.escape(line).replace(re.escape("..."), ".+")
    for name, text in stands_for.items():
        pattern = pattern.replace(re.escape(f"<{name}>"), re.escape(text))
    return re.compile(re.sub(r"<\w+>", ".+", pattern))


@pytest.mark.parametrize("line", [GRANTED, MOVED])
def test_a_task_that_is_worked_on(plane, box, caplog, line) -> None:
    assert line in box(TESTING, works(plane, MOVED, caplog))


@pytest.mark.parametrize(
    ("line", "end", "answer"),
    [
        (CLAIM, "/claim", refused(422, "invalid_argument")),
        (BEAT, "/heartbeat", refused(422, "invalid_body")),
        (REFUSED, "/report", refused(409, "attempt_over")),
        (AWAY, "/health", away),
        (AGAIN, "/claim", away),
        (LATER, "/heartbeat", away),
    ],
)
def test_an_answer_that_is_none_or_a_refusal(plane, box, caplog, line, end, answer) -> None:
    plane.answers[end] = answer
    work = TESTING if end != "/heartbeat" else SLEEPS
    beginning = line.partition("...")[0] or "trying again in 1s"
    said = box(work, works(plane, beginning.partition("<")[0], caplog), stops=2)
    assert any(says(line, url=plane.url).fullmatch(it) for it in said), said


def test_a_task_that_is_taken_back(plane, box, caplog) -> None:
    plane.lost.add(2)
    assert LOST in box(SLEEPS, works(plane, LOST, caplog))


def test_a_heartbeat_that_fails_otherwise(plane, box, caplog, monkeypatch) -> None:
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("stateous_client.Client.heartbeat", broken)
    assert FAILED in box(SLEEPS, works(plane, FAILED, caplog), stops=2)
    assert "ZeroDivisionError" in caplog.text


def test_a_report_that_cannot_go_when_the_supervisor_stops(plane, box, caplog) -> None:
    plane.answers["/report"] = away
    assert STAYS in box(TESTING, works(plane, "trying again in 1s", caplog))


def test_a_start(plane, box) -> None:
    said = box(TWO, lambda _: plane.wait_for("/claim"), left=2)
    assert SERVES.replace("http://127.0.0.1:8080", plane.url) in said
    assert LEFT in said


def test_the_stops(plane, box) -> None:
    plane.grant(2, state="testing", token="TICKET-1")
    said = box(SLEEPS, lambda _: plane.wait_for("/claim", count=2), stops=2)
    assert said[-2:] == [FIRST, SECOND]


def test_refused_starts(plane, box, write_folder, caplog) -> None:
    said = box("raise ValueError('x')", stops=0)
    assert says(BROKEN).fullmatch(said[-1]), said

    def second(folder):
        plane.wait_for("/claim")
        outcome = _outcome(Supervisor(folder, pace=PACE))
        assert outcome == TWICE.replace("<folder>", str(folder))

    box(TESTING, second)
    plane.health = {"workflow": "ticket", "checksum": "sha256:bb", "contract": "sha256:dd"}
    assert says(OTHER).fullmatch(box(TESTING, stops=0)[-1])
    plane.answers["/health"] = refused(404, "not_found")
    assert says(NONE, url=plane.url).fullmatch(box(TESTING, stops=0)[-1])
