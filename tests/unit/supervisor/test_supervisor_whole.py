"""A supervisor against a control plane of the test, over real HTTP."""

import json
import logging
import sqlite3
import sys
import threading
import time

import pytest

from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.messages import Attempt, Draft
from stateous_supervisor.outbox import Outbox
from stateous_supervisor.pace import Pace
from stateous_supervisor.supervise import Supervisor

QUICK = Pace(
    claim_wait=20,
    claim_pause=0.02,
    claim_grace=0.05,
    backoff=(0.01, 0.02, 0.04),
    heartbeat=0.05,
    cancel_grace=2,
    send_grace=0.5,
)
HEAD = "import asyncio, threading\nfrom stateous import on_state\nfrom contract import events, states\n"
GATE = "gate, begun = threading.Event(), threading.Event()\n"
NO = {"code": "event_not_allowed", "error": "no transition for 'submitted' from 'draft'"}


def routine(body, *, state="draft", head="def"):
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{HEAD}{GATE}@on_state(states.{state})\n{head} work(ctx):\n{lines}"


SUBMIT = routine("return events.submitted()")
HOLD = routine("begun.set()\ngate.wait(30)\nreturn events.submitted()")
SLEEP = routine("begun.set()\nawait asyncio.sleep(30)", head="async def")


def until(reached):
    """Wait for what no request shows."""
    for _ in range(2000):
        if reached():
            return
        time.sleep(0.005)
    raise AssertionError("it did not happen")


class Run:
    """A supervisor on a thread of its own."""

    def __init__(self, folder, **options):
        self.folder = folder
        made = {key: options.pop(key) for key in ("clock",) if key in options}
        self.supervisor = Supervisor(folder, pace=options.pop("pace", QUICK), **made)
        self.options = options
        self.code = None
        self.error = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        try:
            self.code = self.supervisor.run(**self.options)
        except BaseException as error:
            self.error = error

    def module(self):
        """The author's module, once its routine has begun or may have."""
        until(lambda: hasattr(sys.modules.get("work"), "work"))
        return sys.modules["work"]

    def stop(self):
        self.supervisor.stop()

    def end(self):
        self.thread.join(15)
        assert not self.thread.is_alive()
        if self.error is not None:
            raise self.error
        return self.code


@pytest.fixture
def start(write_folder, plane, caplog):
    caplog.set_level(logging.INFO, logger="stateous.supervisor")
    runs = []

    def start_(folder=None, **files):
        options = {key: files.pop(key) for key in ("pace", "at", "clock") if key in files}
        tasks = files.pop("tasks", 4)
        folder = folder or write_folder(plane.url, tasks=tasks, **files)
        run = Run(folder, **options)
        runs.append(run)
        return run

    yield start_
    for run in runs:
        while run.thread.is_alive():
            run.stop()
            run.thread.join(0.2)


def rows(folder):
    connection = sqlite3.connect(folder / ".stateous" / "outbox.db")
    found = connection.execute("SELECT kind, body FROM messages ORDER BY id").fetchall()
    connection.close()
    return [(kind, json.loads(body)) for kind, body in found]


def leave(folder, *drafts):
    outbox = Outbox.open(folder, written=lambda _: None)
    for draft in drafts:
        outbox.put(draft)
    outbox.close()


def report(**changes):
    return {
        "kind": "event", "event": "submitted", "context": {}, "schedules": [], "attempt": 1,
        "supervisor": "box-a",
    } | changes  # fmt: skip


def failure(error, **changes):
    body = report(kind="failed", error=error, **changes)
    del body["event"]
    return body


# Tasks


def test_a_task_is_claimed_run_and_reported(plane, start, caplog):
    plane.grant(2, token="INV-7")
    run = start(work=SUBMIT)
    assert plane.wait_for("/tasks/2/report") == [report()]
    until(lambda: "reported" in caplog.text)
    run.stop()
    assert run.end() == 0
    claim = plane.bodies("/claim")[0]
    assert len(claim.pop("request")) == 32
    assert claim == {"supervisor": "box-a", "states": ["draft"], "wait": 20, "max": 4}
    assert rows(run.folder) == []
    assert [it.getMessage() for it in caplog.records] == [
        f"box-a serves draft; the control plane is {plane.url}",
        "task 2: draft of INV-7, attempt 1",
        "task 2 of INV-7: reported submitted",
        "stopping: no new tasks; waiting for 0 routine(s) (signal again to stop now)",
    ]
    assert {it.name for it in caplog.records} == {"stateous.supervisor"}


def test_with_one_place_tasks_are_claimed_one_by_one_with_a_new_request_each(plane, start):
    for task in (1, 2, 3):
        plane.grant(task)
    run = start(work=SUBMIT, tasks=1)
    plane.wait_for("/tasks/3/report")
    run.stop()
    assert run.end() == 0
    claims = plane.bodies("/claim")
    assert all("max" not in claim for claim in claims if claim["states"])
    answered = [claim["request"] for claim in claims[:3]]
    assert len(set(answered)) == 3


def test_a_context_with_its_notes_memory_writes_and_timers(plane, start, caplog):
    plane.grant(1, memory={"tries": 1}, entered_by={"name": "reviewed", "payload": {"a": 1}})
    run = start(
        work=routine(
            "ctx.note(f'{ctx.entered_by.name} {ctx.entered_by.payload}')\n"
            "ctx.memory['tries'] += 1\n"
            "ctx['title'] = ctx['title'] + '!'\n"
            "ctx.schedule(events.submitted, after='2h')\n"
            "return events.submitted()"
        )
    )
    timer = {"event": "submitted", "after": "2h"}
    assert plane.wait_for("/tasks/1/report") == [
        report(context={"title": "May!"}, schedules=[timer])
    ]
    run.stop()
    run.end()
    sent = [it for it in plane.requests if it[0].startswith("/tasks/1/")]
    assert sent[:2] == [
        ("/tasks/1/note", {"text": "reviewed {'a': 1}", "attempt": 1, "number": 1}),
        ("/tasks/1/memory", {"key": "tries", "value": 2, "attempt": 1, "number": 2}),
    ]
    (warning,) = [it for it in caplog.records if it.levelno == logging.WARNING]
    assert "timers of submitted have no effect" in warning.getMessage()


def test_none_waits(plane, start, caplog):
    plane.grant(1)
    run = start(work=routine("return None"))
    (body,) = plane.wait_for("/tasks/1/report")
    assert body["kind"] == "waiting"
    run.stop()
    run.end()
    assert "task 1 of INV-1: reported waiting" in caplog.text


def test_a_failure_is_reported_and_its_writes_are_dropped(plane, start, caplog):
    plane.grant(1, attempt=2)
    run = start(work=routine("ctx['title'] = 'June'\nraise ValueError('boom')"))
    assert plane.wait_for("/tasks/1/report") == [failure("ValueError: boom", attempt=2)]
    run.stop()
    run.end()
    assert "task 1 of INV-1: reported failed" in caplog.text


def test_a_childs_state_is_claimed_and_run(plane, start):
    plane.grant(1, state="tax-check/ask")
    run = start(
        work=routine("return events.tax_check.quoted()", state="tax_check.ask", head="async def")
    )
    assert plane.wait_for("/tasks/1/report") == [report(event="quoted")]
    run.stop()
    run.end()


def test_a_grant_that_no_context_can_be_made_of_is_a_failure_of_its_task(plane, start):
    plane.grant(1, entered_by={"nobody": 1})
    plane.grant(2)
    run = start(work=SUBMIT)
    assert plane.wait_for("/tasks/1/report") == [failure("KeyError: 'name'")]
    assert plane.wait_for("/tasks/2/report") == [report()]
    run.stop()
    assert run.end() == 0


def test_many_tasks_run_at_once(plane, start):
    run = start(
        tasks=3,
        work=f"{HEAD}there = threading.Barrier(3)\n@on_state(states.draft)\n"
        "def work(ctx):\n    there.wait(10)\n    return events.submitted()\n",
    )
    for task in (1, 2, 3):
        plane.grant(task)
    for task in (1, 2, 3):
        assert plane.wait_for(f"/tasks/{task}/report") == [report()]
    run.stop()
    run.end()


# Refused reports


def answers(*given):
    """One answer after the other, the last one again and again."""
    left = list(given)
    return lambda _body: left.pop(0) if len(left) > 1 else left[0]


@pytest.mark.parametrize(
    ("status", "refusal", "asked"),
    [(409, NO, True), (422, {"code": "invalid_context", "error": "title: 5"}, False)],
)
def test_a_refused_report_is_made_a_failure_while_the_task_is_ours(
    plane, start, caplog, status, refusal, asked
):
    plane.answers["/report"] = answers((status, refusal), (200, {}))
    plane.grant(1)
    run = start(work=SUBMIT, pace=Pace(claim_grace=0.05))
    first, second = plane.wait_for("/tasks/1/report", count=2)
    assert first == report()
    assert second == failure(f"the control plane refused the report: {refusal['error']}")
    run.stop()
    assert run.end() == 0
    assert [it["tasks"] for it in plane.bodies("/heartbeat")] == ([[1]] if asked else [])
    assert f"task 1 of INV-1: the control plane refused the report: {refusal['error']}" in (
        caplog.text
    )
    assert rows(run.folder) == []


def test_a_refused_report_of_a_task_that_is_not_ours_is_dropped_after_a_heartbeat(plane, start):
    held = {"code": "task_not_held", "error": "task 1 is not held by box-a"}
    plane.answers["/tasks/1/report"] = answers((409, held))
    plane.grant(1)
    plane.lost.add(1)
    run = start(work=SUBMIT, pace=Pace(claim_grace=0.05))
    plane.wait_for("/heartbeat")
    plane.grant(2)
    plane.wait_for("/tasks/2/report")
    run.stop()
    assert run.end() == 0
    assert len(plane.bodies("/tasks/1/report")) == 1
    assert rows(run.folder) == []


@pytest.mark.parametrize(("status", "code"), [(409, "attempt_over"), (404, "task_not_found")])
def test_a_report_of_an_attempt_that_is_over_is_dropped_at_once(plane, start, status, code):
    plane.answers["/report"] = answers((status, {"code": code, "error": "over"}))
    plane.grant(1)
    run = start(work=SUBMIT, pace=Pace(claim_grace=0.05))
    plane.wait_for("/tasks/1/report")
    run.stop()
    assert run.end() == 0
    assert plane.bodies("/heartbeat") == []
    assert len(plane.bodies("/report")) == 1
    assert rows(run.folder) == []


def test_a_failure_that_is_refused_too_is_dropped(plane, start):
    plane.answers["/report"] = answers((422, NO))
    plane.grant(1)
    run = start(work=SUBMIT)
    plane.wait_for("/tasks/1/report", count=2)
    run.stop()
    assert run.end() == 0
    assert len(plane.bodies("/report")) == 2
    assert rows(run.folder) == []


def test_a_refused_note_is_dropped_and_the_report_goes_on(plane, start, caplog):
    plane.answers["/note"] = answers((422, {"code": "invalid_payload", "error": "too long"}))
    plane.grant(1)
    run = start(work=routine("ctx.note('x')\nreturn events.submitted()"))
    assert plane.wait_for("/tasks/1/report") == [report()]
    run.stop()
    run.end()
    assert "task 1 of INV-1: the control plane refused a note: too long" in caplog.text


def test_a_success_that_is_no_json_is_an_acceptance(plane, start):
    plane.answers["/report"] = answers((204, None))
    plane.answers["/note"] = answers((302, {"moved": True}))
    plane.grant(1)
    run = start(work=routine("ctx.note('x')\nreturn events.submitted()"))
    plane.wait_for("/tasks/1/report")
    run.stop()
    assert run.end() == 0
    assert rows(run.folder) == []


# Heartbeats


def test_a_running_task_is_renewed_each_quarter_of_the_announced_lease(plane, start):
    plane.lease = 0.2
    plane.grant(1)
    run = start(work=HOLD, pace=Pace(claim_grace=0.05))
    beats = plane.wait_for("/heartbeat", count=3)
    assert beats[0] == {"supervisor": "box-a", "tasks": [1]}
    run.module().gate.set()
    plane.wait_for("/tasks/1/report")
    run.stop()
    assert run.end() == 0


@pytest.mark.parametrize("work", [SLEEP, HOLD], ids=["async def", "def"])
def test_a_lost_task_is_cancelled_and_its_messages_are_dropped(plane, start, caplog, work):
    silent = threading.Event()
    plane.answers["/note"] = lambda _body: silent.wait(10) and None
    plane.grant(1)
    run = start(work=work.replace("begun.set()", "ctx.note('kept back'); begun.set()"), tasks=1)
    plane.wait_for("/note")
    plane.lost.add(1)
    plane.grant(2)
    plane.wait_for("/claim", count=2)
    run.module().gate.set()
    silent.set()
    run.stop()
    plane.lost.add(2)
    assert run.end() == 0
    assert plane.bodies("/tasks/1/report") == []
    assert rows(run.folder) == []
    assert "task 1 of INV-1: the control plane took it back; cancelling its routine" in caplog.text


def test_heartbeats_go_on_while_a_routine_blocks_the_loop_of_the_async_ones(plane, start, caplog):
    blocking = routine("begun.set()\ngate.wait(30)\nreturn events.submitted()", head="async def")
    plane.grant(1)
    plane.grant(2, state="review")
    run = start(
        work=blocking,
        other=HEAD + "from work import gate\n@on_state(states.review)\ndef review(ctx):\n"
        "    gate.wait(30)\n    return None\n",
        pace=Pace(claim_grace=0.05, heartbeat=0.05, blocked=0.3),
    )
    plane.wait_for("/heartbeat", count=30)
    tasks = [tuple(sorted(it["tasks"])) for it in plane.bodies("/heartbeat")]
    assert (1, 2) in tasks
    assert tasks[-1] == (2,)
    assert "the routine draft of INV-1 (task 1) has blocked the event loop" in caplog.text
    run.module().gate.set()
    plane.wait_for("/tasks/1/report")
    run.stop()
    assert run.end() == 0


def test_a_refused_heartbeat_is_logged_and_the_next_comes(plane, start, caplog):
    plane.answers["/heartbeat"] = answers((422, {"code": "invalid_body", "error": "no"}))
    plane.grant(1)
    run = start(work=HOLD)
    plane.wait_for("/heartbeat", count=2)
    run.module().gate.set()
    run.stop()
    assert run.end() == 0
    assert "the control plane refused a heartbeat: no" in caplog.text


# A control plane that is away


def unreachable(times):
    left = [None] * times

    def make(_body):
        if left:
            left.pop()
            raise ConnectionAbortedError
        return None  # noqa: RET501 the usual answer

    return make


def test_a_control_plane_that_is_away_at_the_start_is_waited_for(plane, start, caplog):
    plane.answers["/health"] = unreachable(2)
    plane.grant(1)
    run = start(work=SUBMIT)
    plane.wait_for("/tasks/1/report")
    run.stop()
    assert run.end() == 0
    lines = [it.getMessage() for it in caplog.records if "cannot reach" in it.getMessage()]
    assert lines[0].startswith(f"cannot reach the control plane at {plane.url} (")
    assert [line.rpartition("; ")[2] for line in lines] == [
        "trying again in 0.01s",
        "trying again in 0.02s",
    ]


@pytest.mark.parametrize("away", [unreachable(2), answers((503, {"error": "x"}), (502, {}), None)])
def test_a_claim_is_repeated_with_its_request_until_an_answer_comes(plane, start, away):
    plane.answers["/claim"] = away
    plane.grant(1)
    run = start(work=SUBMIT)
    plane.wait_for("/tasks/1/report")
    run.stop()
    run.end()
    assert len({it["request"] for it in plane.bodies("/claim")[:3]}) == 1


def test_messages_are_sent_again_until_an_answer_comes_in_order(plane, start):
    plane.answers["/note"] = unreachable(2)
    plane.answers["/report"] = answers((503, {"code": "database_busy", "error": "x"}), None)
    plane.grant(1)
    run = start(work=routine("ctx.note('x')\nreturn events.submitted()"))
    plane.wait_for("/tasks/1/report", count=2)
    run.stop()
    assert run.end() == 0
    sent = [path for path, _ in plane.requests if path.startswith("/tasks/1/")]
    assert sent == ["/tasks/1/note"] * 3 + ["/tasks/1/report"] * 2
    assert {it["number"] for it in plane.bodies("/note")} == {1}


def test_heartbeats_that_get_no_answer_are_repeated(plane, start, caplog):
    plane.answers["/heartbeat"] = unreachable(2)
    plane.grant(1)
    run = start(work=HOLD)
    plane.wait_for("/heartbeat", count=4)
    run.module().gate.set()
    run.stop()
    assert run.end() == 0
    assert "; trying again in 0.02s" in caplog.text


def test_a_refused_claim_is_logged_and_the_next_has_a_new_request(plane, start, caplog):
    plane.answers["/claim"] = answers(
        (422, {"code": "invalid_argument", "error": "too long"}), None
    )
    plane.grant(1)
    run = start(work=SUBMIT)
    plane.wait_for("/tasks/1/report")
    run.stop()
    run.end()
    assert "the control plane refused a claim: too long" in caplog.text
    first, second = plane.bodies("/claim")[:2]
    assert first["request"] != second["request"]


# The outbox


LEFT = {"kind": "event", "event": "submitted", "context": {}, "schedules": [], "attempt": 1}


def test_what_an_earlier_run_left_is_sent_in_order_before_the_first_claim(
    plane, start, write_folder, caplog
):
    folder = write_folder(plane.url, work=SUBMIT)
    leave(
        folder,
        Draft(Attempt(4, 1), "INV-3", "note", {"text": "a"}),
        Draft(Attempt(5, 2), "INV-4", "memory", {"key": "k", "value": [1]}),
        Draft(Attempt(4, 1), "INV-3", "report", LEFT),
    )
    plane.answers["/tasks/4/note"] = unreachable(1)
    run = start(folder)
    plane.wait_for("/claim")
    run.stop()
    assert run.end() == 0
    paths = [path for path, _ in plane.requests]
    assert paths[: paths.index("/tasks/claim")] == [
        "/health",
        "/tasks/4/note",
        "/tasks/4/note",
        "/tasks/5/memory",
        "/tasks/4/report",
    ]
    assert plane.bodies("/memory") == [{"key": "k", "value": [1], "attempt": 2, "number": 2}]
    assert plane.bodies("/report") == [report()]
    assert rows(folder) == []
    messages = [it.getMessage() for it in caplog.records]
    assert "sending 3 message(s) left in the outbox" in messages
    assert "task 4 of INV-3: reported submitted" in messages


def test_a_refused_report_that_was_left_is_made_a_failure_too(plane, start, write_folder):
    folder = write_folder(plane.url, work=SUBMIT)
    leave(folder, Draft(Attempt(4, 1), "INV-3", "report", LEFT))
    plane.answers["/report"] = answers((409, NO), (200, {}))
    run = start(folder)
    plane.wait_for("/claim")
    run.stop()
    run.end()
    assert [it["kind"] for it in plane.bodies("/tasks/4/report")] == ["event", "failed"]


def test_what_cannot_be_sent_when_the_supervisor_stops_stays_for_the_next_start(
    plane, start, caplog
):
    away = [True]

    def answer(_body):
        if away:
            raise ConnectionAbortedError

    plane.answers["/note"] = answer
    plane.grant(1)
    run = start(work=HOLD.replace("begun.set()", "ctx.note('x'); begun.set()"))
    plane.wait_for("/note", count=2)
    run.stop()
    run.module().gate.set()
    assert run.end() == 0
    assert [kind for kind, _ in rows(run.folder)] == ["note", "report"]
    assert plane.bodies("/report") == []
    assert (
        "task 1 of INV-1: the control plane cannot be reached; the report stays in the outbox for "
        "the next start" in caplog.text
    )
    away.clear()
    again = start(run.folder)
    assert plane.wait_for("/report") == [report()]
    again.stop()
    assert again.end() == 0
    assert rows(run.folder) == []


def test_a_report_has_one_try_when_the_supervisor_stops(plane, start):
    plane.answers["/report"] = unreachable(100)
    plane.grant(1)
    run = start(work=HOLD)
    assert run.module().begun.wait(10)
    run.stop()
    run.module().gate.set()
    assert run.end() == 0
    assert len(plane.bodies("/report")) == 1
    assert [kind for kind, _ in rows(run.folder)] == ["report"]


# Stopping


def test_the_first_signal_lets_routines_finish_and_claims_no_more(plane, start, caplog):
    plane.grant(1)
    run = start(work=HOLD)
    plane.wait_for("/claim", count=2)
    run.stop()
    plane.wait_for("/claim", count=3)
    plane.grant(2)
    assert run.thread.is_alive()
    run.module().gate.set()
    assert run.end() == 0
    assert len(plane.bodies("/claim")) == 3, "the last one asked what the claim in flight brought"
    assert plane.bodies("/tasks/1/report") == [report()]
    assert plane.bodies("/tasks/2/report") == []
    assert (
        "stopping: no new tasks; waiting for 1 routine(s) (signal again to stop now)" in caplog.text
    )


def test_a_waiting_claim_does_not_hold_up_the_stop(plane, start):
    run = start(work=SUBMIT)
    (claim,) = plane.wait_for("/claim")
    run.stop()
    assert run.end() == 0
    recall = plane.bodies("/claim")[1]
    assert recall == {
        "supervisor": "box-a", "states": [], "request": claim["request"], "max": 100,
    } | ({"wait": 0} if "wait" in recall else {})  # fmt: skip


def test_what_a_claim_in_flight_was_granted_is_run(plane, start):
    granted = threading.Event()

    def late(body):
        if body["states"]:
            plane._usual("/tasks/claim", body)
            granted.set()
            threading.Event().wait(0.5)
            raise ConnectionAbortedError

    plane.answers["/claim"] = late
    plane.grant(1)
    run = start(work=SUBMIT)
    assert granted.wait(10)
    run.stop()
    assert run.end() == 0
    assert plane.bodies("/tasks/1/report") == [report()]


def test_the_second_signal_cancels_what_runs(plane, start, caplog):
    plane.grant(1)
    run = start(work=SLEEP)
    plane.wait_for("/claim", count=2)
    run.stop()
    run.stop()
    assert run.end() == 1
    assert plane.bodies("/report") == []
    assert "stopping now: cancelling 1 routine(s)" in caplog.text


def test_the_second_signal_waits_for_no_thread_for_ever(plane, start):
    plane.grant(1)
    run = start(work=HOLD, pace=Pace(cancel_grace=0.1, send_grace=0.1))
    plane.wait_for("/claim", count=2)
    run.stop()
    run.stop()
    assert run.end() == 1
    run.module().gate.set()


def test_a_signal_while_the_control_plane_is_waited_for_ends_the_supervisor(plane, start, caplog):
    plane.answers["/health"] = unreachable(1000)
    run = start(work=SUBMIT, pace=Pace(backoff=(30,)))
    plane.wait_for("/health")
    run.stop()
    assert run.end() == 0
    assert [it for it in caplog.messages if it.startswith("stopping")] == [
        "stopping: nothing was claimed, so nothing runs"
    ]


def test_a_signal_while_the_control_plane_thinks_ends_the_supervisor(plane, start):
    thinking = threading.Event()
    plane.answers["/health"] = lambda _body: thinking.wait(10) and None
    run = start(work=SUBMIT)
    plane.wait_for("/health")
    run.stop()
    assert run.end() == 0
    thinking.set()


def test_a_supervisor_that_was_stopped_before_it_began_does_nothing(plane, write_folder):
    supervisor = Supervisor(write_folder(plane.url, work=SUBMIT), pace=QUICK)
    supervisor.stop()
    assert supervisor.run() == 0
    assert plane.bodies("/claim") == []


# Starting


def test_a_supervisor_in_the_servers_process_uses_the_servers_address(plane, start, write_folder):
    plane.grant(1)
    run = start(write_folder("http://127.0.0.1:9", work=SUBMIT), at=plane.url)
    plane.wait_for("/tasks/1/report")
    run.stop()
    assert run.end() == 0


def test_a_workflow_that_changed_where_no_routine_looks_is_accepted(plane, start, caplog):
    plane.health["checksum"] = "sha256:bb"
    run = start(work=SUBMIT)
    plane.wait_for("/claim")
    run.stop()
    assert run.end() == 0
    assert "the workflow 'invoices' has changed since" in caplog.text


@pytest.mark.parametrize(
    "health",
    [
        {"workflow": "invoices", "checksum": "sha256:bb", "contract": "sha256:dd"},
        {"workflow": "invoices", "checksum": "sha256:bb"},
        {"workflow": None, "checksum": None, "contract": None},
    ],
)
def test_a_contract_for_another_version_is_refused(plane, start, health):
    plane.health = health
    run = start(work=SUBMIT)
    with pytest.raises(SupervisorError) as refused:
        run.end()
    assert str(refused.value) == (
        f"{run.folder}/contract.py is for another version of the workflow 'invoices': "
        f"run stateous init supervisor {plane.url} {run.folder} again"
    )


@pytest.mark.parametrize(
    "answer", [(404, {"error": "no such path"}), (200, ["x"]), (302, {}), (500, {})]
)
def test_what_is_no_control_plane_is_refused(plane, start, answer):
    plane.answers["/health"] = answers(answer)
    run = start(work=SUBMIT)
    with pytest.raises(SupervisorError) as refused:
        run.end()
    assert str(refused.value).startswith(
        f"{plane.url} did not answer as a Stateous control plane: "
    )


def test_a_second_supervisor_on_the_folder_is_refused(plane, start):
    run = start(work=SUBMIT)
    plane.wait_for("/claim")
    second = start(run.folder)
    with pytest.raises(SupervisorError, match=r"^another supervisor runs on .* now: stop it"):
        second.end()
    run.stop()
    assert run.end() == 0


def test_a_folder_whose_routines_do_not_load_is_refused_and_lets_go_of_its_outbox(
    plane, start, write_folder
):
    run = start(work="raise ValueError('x')")
    with pytest.raises(SupervisorError, match=r"^cannot load the routines in .*: ValueError: x$"):
        run.end()
    Outbox.open(run.folder, written=lambda _: None).close()


# A process, or its host, that stood still


class Clock:
    """A clock that can be set forward, as the one of a suspended host is."""

    def __init__(self):
        self.gone = 0.0

    def __call__(self):
        return time.monotonic() + self.gone


#: Heartbeats of their own come too late to help: each message is asked after for itself.
UNSEEN = Pace(claim_grace=0.05, heartbeat=1e6)


@pytest.mark.parametrize("still_ours", [True, False])
def test_a_report_whose_lease_ran_out_unseen_is_asked_after_first(plane, start, caplog, still_ours):
    clock = Clock()
    plane.grant(1)
    run = start(work=HOLD, pace=UNSEEN, clock=clock)
    assert run.module().begun.wait(10)
    clock.gone = 121
    if not still_ours:
        plane.lost.add(1)
    run.module().gate.set()
    plane.wait_for("/heartbeat")
    plane.grant(2)
    plane.wait_for("/tasks/2/report")
    run.stop()
    assert run.end() == 0
    assert plane.bodies("/heartbeat") == [{"supervisor": "box-a", "tasks": [1]}]
    assert plane.bodies("/tasks/1/report") == ([report()] if still_ours else [])
    assert (
        "task 1 of INV-1: the lease of attempt 1 ran out before its report could go; the report "
        "is dropped" in caplog.text
    ) is not still_ours
    assert rows(run.folder) == []


def test_a_note_of_a_routine_whose_lease_ran_out_unseen_tells_that_it_is_lost(plane, start, caplog):
    clock = Clock()
    plane.grant(1)
    run = start(
        work=routine("begun.set()\ngate.wait(30)\nctx.note('late')\nthreading.Event().wait(0.5)"),
        pace=UNSEEN,
        clock=clock,
    )
    assert run.module().begun.wait(10)
    clock.gone = 121
    plane.lost.add(1)
    run.module().gate.set()
    until(lambda: "the control plane took it back; cancelling its routine" in caplog.text)
    run.stop()
    assert run.end() == 0
    assert plane.bodies("/note") == plane.bodies("/tasks/1/report") == []
    assert rows(run.folder) == []


def test_while_nobody_can_be_asked_a_lease_in_doubt_keeps_its_report(plane, start):
    clock = Clock()
    plane.answers["/heartbeat"] = unreachable(2)
    plane.grant(1)
    run = start(work=HOLD, pace=Pace(claim_grace=0.05, heartbeat=1e6, backoff=(0.01,)), clock=clock)
    assert run.module().begun.wait(10)
    clock.gone = 121
    run.module().gate.set()
    assert plane.wait_for("/tasks/1/report") == [report()]
    assert len(plane.bodies("/heartbeat")) == 3
    run.stop()
    assert run.end() == 0


def test_a_claim_that_slept_through_its_lease_is_in_doubt_from_the_start(plane, start):
    clock = Clock()

    def granted_long_ago(body):
        clock.gone += 150
        return plane._usual("/tasks/claim", body)

    plane.answers["/claim"] = granted_long_ago
    plane.grant(1)
    run = start(work=SUBMIT, pace=UNSEEN, clock=clock)
    plane.wait_for("/tasks/1/report")
    paths = [path for path, _ in plane.requests]
    assert paths.index("/tasks/heartbeat") < paths.index("/tasks/1/report")
    run.stop()
    assert run.end() == 0


def test_a_process_that_stood_still_says_so(plane, start, caplog):
    clock = Clock()
    plane.grant(1)
    run = start(work=HOLD, clock=clock)
    assert run.module().begun.wait(10)
    clock.gone = 300
    until(lambda: "this process stood still for 300 s" in caplog.text)
    plane.wait_for("/heartbeat")
    run.module().gate.set()
    plane.wait_for("/tasks/1/report")
    run.stop()
    assert run.end() == 0


# What follows a failure


@pytest.mark.parametrize(
    ("answer", "follows"),
    [
        ({"state": "draft", "visit": 1, "status": "active"}, "it is tried again"),
        ({"state": "draft", "visit": 1, "status": "failed"}, "no retry is left, and the token has"),
    ],
)
def test_what_follows_a_failure_is_told_with_its_line(plane, start, caplog, answer, follows):
    token = {"token": "INV-1", "context": {}, "entered_at": "2027-03-01T09:12:00Z"} | answer
    plane.answers["/report"] = answers((200, token))
    plane.grant(1)
    run = start(work=routine("check(ctx)") + "def check(ctx):\n    raise ValueError('boom')\n")
    until(lambda: "attempt 1 failed" in caplog.text)
    run.stop()
    assert run.end() == 0
    assert (
        "task 1 of INV-1: the routine of draft raised in attempt 1 (work.py, line 9, in check): "
        "ValueError: boom" in caplog.text
    )
    assert f"task 1 of INV-1: attempt 1 failed: {follows}" in caplog.text


def test_a_wrong_result_is_told_with_the_line_of_its_routine(plane, start, caplog):
    plane.grant(1)
    run = start(work=routine("return 5"))
    plane.wait_for("/tasks/1/report")
    run.stop()
    assert run.end() == 0
    assert (
        "task 1 of INV-1: the routine of draft failed in attempt 1 (work.py, line 5): the routine "
        "of 'draft' returned 5; it may return submitted, or None to wait" in caplog.text
    )


@pytest.mark.parametrize("work", [SLEEP, HOLD], ids=["async def", "def"])
def test_who_is_granted_a_task_again_has_lost_it_before(plane, start, caplog, work):
    plane.grant(1)
    run = start(work=work)
    assert run.module().begun.wait(10)
    plane.grant(1, attempt=2)
    until(lambda: "task 1: draft of INV-1, attempt 2" in caplog.text)
    assert "task 1 of INV-1: the control plane took it back; cancelling its routine" in caplog.text
    run.module().gate.set()
    until(lambda: work is SLEEP or "reported submitted" in caplog.text)
    run.stop()
    run.stop()
    run.end()
    reported = [it["attempt"] for it in plane.bodies("/tasks/1/report")]
    assert reported == ([] if work is SLEEP else [2])
