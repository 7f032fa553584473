"""Pause, resume and cancel of runs (`docs/spec/statechart.md` 13)."""

from __future__ import annotations

import pytest

from stateous.json import JsonText
from stateous.wire.problems import Code
from stateous_controlplane.engine.commands import Cancel, ClaimTask, Fire, Pause, Start
from stateous_controlplane.engine.replies import Skipped, TokenReply
from tests.support.charts import chart
from tests.support.engine import BOX, LEASE, code_of
from tests.support.runs import R, Runs

WORK = chart(
    """
    initial: w
    states:
      w:
        initial: work
        defer: [note]
        exit: { send: { to: parent, event: bye } }
        states:
          work:
            jobs: { x: { script: s.js, retries: 1 }, y: { script: s.js } }
            on: { done: over, failed: sad, go: away, tick: [{}] }
          away: { on: { note: [{}] } }
          sad: {}
        on: { over: over }
      over: { end: done, output: "${event.data}" }
    """
)


def working() -> Runs:
    runs = Runs(WORK)
    runs.submit()
    return runs


def test_nothing_is_claimed_while_paused_and_running_jobs_go_on() -> None:
    runs = working()
    runs.begun("x")
    assert isinstance(runs.pause(), TokenReply)
    assert runs.at() == "w/work paused"
    assert isinstance(runs.play(ClaimTask(2, BOX, LEASE)), Skipped)
    runs.finish("x", 1)
    assert runs.said("task_done") == [{"task": 1, "output": 1}]
    runs.resume()
    assert runs.at() == "w/work active"
    runs.finish("y", 2)
    assert runs.output() == {"x": 1, "y": 2}


def test_what_arrives_is_held_with_its_place_and_applied_in_that_order() -> None:
    runs = working()
    for job in ("x", "y"):
        runs.begun(job)
    runs.pause()
    assert runs.send("song", 1) == "held"
    runs.emit("tick", 5, task=1)
    runs.finish("x", 1)
    runs.finish("y", 2)
    assert runs.send("note", 3) == "held"
    assert runs.said("event_deferred") == [
        {"event": "song", "data": 1, "from": "client", "arrival": 1},
        {"event": "tick", "data": 5, "from": "x", "arrival": 2, "task": 1},
        {"event": "done", "data": {"x": 1, "y": 2}, "from": "work", "arrival": 3, "task": 2},
        {"event": "note", "data": 3, "from": "client", "arrival": 4},
    ]
    seqs = [entry.seq for entry in runs.ledger if entry.kind == "event_deferred"]
    seq = runs.of().seq
    runs.resume()
    assert [
        (kind, data["event"], data["seq"], data.get("reason"))
        for kind, data in runs.told(behind=seq)
        if kind.startswith("event")
    ] == [
        ("event_dropped", "song", seqs[0], "no_rule"),
        ("event_replayed", "tick", seqs[1], None),
        ("event_replayed", "done", seqs[2], None),
        ("event_dropped", "note", seqs[3], "ended"),
    ]
    assert (runs.at(), runs.outputs()) == ("over completed", {"work": {"x": 1, "y": 2}})


def test_a_held_event_may_be_kept() -> None:
    runs = working()
    runs.pause()
    runs.send("note", 1)
    runs.resume()
    assert runs.kept() == ["note"]
    runs.send("go")
    assert runs.kept() == []
    assert runs.said("event_replayed")[-1]["event"] == "note"


def test_a_held_event_of_a_job_that_is_over_is_dropped() -> None:
    runs = working()
    for job in ("x", "y"):
        runs.begun(job)
    runs.pause()
    runs.send("go")
    runs.emit("tick", 1, task=1)
    runs.finish("x", 1)
    runs.finish("y", 1)
    runs.resume()
    assert runs.at() == "w/away active"
    assert [(each["event"], each["reason"]) for each in runs.said("event_dropped")] == [
        ("tick", "left"),
        ("done", "left"),
    ]
    assert runs.outputs() == {}


def test_a_failure_is_held_and_a_retry_waits() -> None:
    runs = working()
    runs.begun("x")
    runs.begun("y")
    runs.pause()
    runs.lose("x")
    assert (runs.family.tasks[1].status.value, runs.family.tasks[1].ready) == ("queued", False)
    runs.lose("y", "bad")
    held = runs.said("event_deferred")
    assert [(each["event"], each["from"], each["data"]["error"]) for each in held] == [
        ("failed", "y", "bad")
    ]
    runs.resume()
    assert runs.at() == "w/sad active"


def test_a_held_failure_that_no_rule_takes_fails_the_run() -> None:
    runs = Runs(chart("states: { a: { job: { script: s.js } } }"))
    runs.submit()
    runs.begun()
    runs.pause()
    runs.lose(error="bad")
    runs.resume()
    assert (runs.at(), runs.error()) == ("a failed", "job: the job a failed: bad")


CHILD = chart(
    "initial: p\nstates: { p: { job: { machine: m.yaml }, on: { x: q } }, q: {} }",
    m="states: { a: { job: { script: s.js }, on: { x: [{}] }, timers: { t: 1m } } }",
)


def test_children_pause_and_resume_with_their_top_run() -> None:
    runs = Runs(CHILD)
    runs.submit()
    child = runs.child("p")
    assert code_of(runs.pause(child)) is Code.CHILD_TOKEN
    runs.pause()
    assert runs.at(child) == "a paused"
    assert runs.send("x", run=child) == "held"
    assert runs.send("x") == "held"
    assert runs.send("x", run=child) == "held"
    runs.resume()
    # The child's first event came before the parent's, which cancels it; the second comes after.
    assert runs.kinds(of=child).endswith(
        "paused event_deferred event_deferred resumed event_replayed "
        "task_cancelled cancelled event_dropped"
    )
    assert runs.said("event_dropped", of=child)[0]["reason"] == "ended"


def test_cancelling_is_silent() -> None:
    runs = working()
    runs.send("note", 1)
    runs.pause()
    runs.send("note", 2)
    seq = runs.of().seq
    runs.cancel()
    assert runs.at() == "w/work cancelled"
    assert runs.kinds(behind=seq) == (
        "event_dropped event_dropped task_cancelled task_cancelled cancelled"
    )
    assert {each["reason"] for each in runs.said("event_dropped")} == {"ended"}
    assert runs.said("sent") == []
    assert runs.said("cancelled") == [{}]
    assert code_of(runs.cancel()) is Code.RUN_NOT_ACTIVE


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_runs_and_tokens_are_not_found_as_each_other(verb: str) -> None:
    runs = working()
    assert code_of(getattr(runs, verb)("run-2")) is Code.RUN_NOT_FOUND
    for command in (Pause(R), Cancel(R), Fire(R, "go")):
        assert code_of(runs.play(command)) is Code.TOKEN_NOT_FOUND
    assert code_of(runs.play(Start(R, JsonText("{}")))) is Code.INVALID_TOKEN_ID


def test_an_ended_run_takes_nothing_and_records_nothing() -> None:
    runs = working()
    runs.send("over", 1)
    seq = runs.of().seq
    assert runs.send("go") == "run_not_active"
    assert code_of(runs.pause()) is Code.RUN_NOT_ACTIVE
    assert runs.of().seq == seq
