"""Jobs: how they begin, come out and are tried again (`docs/spec/statechart.md` 10)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from stateous.json import JsonText
from stateous.wire.problems import Code
from stateous_controlplane.engine.commands import (
    ClaimTask,
    EndAttempt,
    EndLease,
    RenewLease,
    ReportDone,
    ReportEvent,
    ReportWaiting,
)
from stateous_controlplane.engine.replies import GrantReply, Skipped, TokenReply
from tests.support.charts import chart
from tests.support.engine import BOX, LEASE, code_of
from tests.support.graphs import machine
from tests.support.runs import Runs

ONE = chart(
    """
    initial: work
    states:
      work:
        job: { script: s.js, input: { n: "${event.data.n}" }, retries: 2, timeout: 1m }
        on: { done: over, failed: lost }
      over: { end: done, output: "${event}" }
      lost: { end: failed, output: "${event}" }
    """
)
TWO = chart(
    """
    initial: work
    states:
      work:
        jobs:
          left: { script: l.js }
          right: { routine: price, input: "${event.name}" }
        on:
          done: over
          failed: { send: { to: parent, event: heard, data: "${event}" } }
          stop: other
      over: { end: done, output: { by: "${event}", state: "${states.work.output}" } }
      other: { on: { done: over, back: work } }
    """
)


def begun(of: Any = ONE, given: Any = None) -> Runs:
    runs = Runs(of)
    runs.submit(given if given is not None else {"n": 5})
    return runs


def test_a_script_is_a_task_that_is_claimed_with_its_source() -> None:
    runs = begun()
    assert runs.said("task_queued") == [{"task": 1, "job": "work", "state": "work", "visit": 1}]
    assert runs.task.queue == "job:scripts"
    grant = runs.claim()
    assert isinstance(grant, GrantReply)
    assert grant.job is not None
    assert grant.machine == "main"
    assert grant.job.does.path == "s.js"  # type: ignore[union-attr]
    assert grant.job.timeout == timedelta(minutes=1)
    assert grant.task.job is not None
    assert grant.task.job.input.value == {"n": 5}


def test_a_routine_is_a_task_of_its_own_queue() -> None:
    runs = begun(TWO)
    task = runs.task_of_job("right")
    assert task.queue == "job:main/price"
    assert task.job is not None
    assert task.job.input.value == "start"


def test_a_job_that_is_done_raises_done() -> None:
    runs = begun()
    reply = runs.finish(output={"x": 1})
    assert isinstance(reply, TokenReply)
    assert reply.token == runs.of()
    assert runs.output() == {"name": "done", "data": {"x": 1}, "from": "work"}
    assert runs.outputs() == {"work": {"x": 1}}
    assert runs.said("task_done") == [{"task": 1, "output": {"x": 1}}]


def test_the_output_is_kept_when_done_is_offered_taken_or_not() -> None:
    runs = begun(chart("states: { a: { job: { script: s.js } } }"))
    runs.finish(output=4)
    assert (runs.at(), runs.outputs()) == ("a active", {"a": 4})
    assert runs.said("event_dropped")[0]["event"] == "done"


def test_several_jobs_are_done_when_all_are_in_the_order_of_the_chart() -> None:
    runs = begun(TWO)
    runs.finish("right", 2)
    assert (runs.at(), runs.outputs()) == ("work active", {})
    runs.finish("left", 1)
    joined = {"left": 1, "right": 2}
    assert runs.output() == {
        "by": {"name": "done", "data": joined, "from": "work"},
        "state": joined,
    }
    assert list(runs.outputs()["work"]) == ["left", "right"]


def test_each_failed_job_raises_failed_and_done_comes_no_more() -> None:
    runs = begun(TWO)
    runs.lose("left", "no ruler", output={"half": 1})
    assert runs.said("sent")[0]["data"] == {
        "name": "failed",
        "data": {"status": "failed", "error": "no ruler", "output": {"half": 1}},
        "from": "left",
    }
    assert [task.status.value for task in runs.family.tasks.values()] == ["failed", "queued"]
    runs.finish("right", 2)
    assert (runs.at(), runs.outputs()) == ("work active", {})


def test_a_failure_that_no_rule_takes_fails_the_run() -> None:
    runs = begun(chart("states: { a: { jobs: { x: { script: s.js }, y: { script: s.js } } } }"))
    runs.lose("x", "no ruler")
    assert (runs.at(), runs.error()) == ("a failed", "job: the job x failed: no ruler")
    assert runs.said("failed") == [{"code": "job", "reason": "the job x failed: no ruler"}]
    assert runs.kinds(behind=5) == "task_failed task_cancelled failed"
    assert runs.open_tasks == []


def test_leaving_the_state_cancels_its_jobs_and_their_results_are_refused() -> None:
    runs = begun(TWO)
    task = runs.begun("left")
    runs.send("stop")
    assert runs.open_tasks == []
    assert runs.said("task_cancelled") == [{"task": 1}, {"task": 2}]
    seq = runs.of().seq
    late = runs.play(ReportDone(task.id, JsonText("1"), 1, BOX))
    assert code_of(late) is Code.TASK_NOT_HELD
    assert (runs.of().seq, runs.outputs()) == (seq, {})


def test_jobs_of_a_new_visit_are_joined_anew() -> None:
    runs = begun(TWO)
    runs.finish("left", "old")
    runs.send("stop")
    runs.send("back")
    runs.finish("right", 2)
    assert runs.at() == "work active"
    runs.finish("left", 1)
    assert runs.at() == "over completed"


@pytest.mark.parametrize("status", ["failed", "timeout", "denied"])
def test_a_failed_attempt_is_tried_again_while_retries_are_left(status: str) -> None:
    runs = begun()
    for attempt in (1, 2):
        runs.lose(error="boom", status=status)
        assert runs.said("task_retrying")[-1] == {"task": 1, "attempt": attempt + 1}
        assert (runs.task.status.value, runs.task.ready) == ("queued", True)
    runs.lose(error="boom", status=status, output=[1])
    assert runs.at() == "lost failed"
    assert runs.output() == {
        "name": "failed",
        "data": {"status": status, "error": "boom", "output": [1]},
        "from": "work",
    }
    assert runs.said("task_failed") == [{"task": 1, "error": "boom", "status": status}] * 3


def lose_lease(runs: Runs) -> None:
    runs.claim(task=1)
    runs.now = runs.family.tasks[1].lease_until or runs.now
    runs.play(EndLease(1, LEASE))


def test_a_lost_attempt_uses_up_no_retry() -> None:
    runs = begun()
    for _ in range(3):
        lose_lease(runs)
    assert runs.said("task_failed")[-1] == {
        "task": 1,
        "error": f"{BOX} stopped answering: no heartbeat for 2 minutes",
        "status": "lost",
    }
    runs.lose()
    runs.lose()
    assert runs.at() == "work active"
    runs.lose()
    assert runs.at() == "lost failed"


def test_after_five_lost_attempts_the_job_fails_as_lost() -> None:
    runs = begun()
    for attempt in range(1, 6):
        assert runs.at() == "work active"
        lose_lease(runs)
        assert len(runs.said("task_retrying")) == min(attempt, 4)
    assert runs.output()["data"]["status"] == "lost"


def test_an_attempt_over_its_time_is_ended_30_seconds_later_for_all_renewals() -> None:
    runs = begun()
    runs.claim()
    ends_at = runs.task.job and runs.task.job.ends_at
    assert ends_at is not None
    assert ends_at - runs.of().at == timedelta(seconds=90)
    runs.wait(seconds=80)
    runs.play(RenewLease(1, BOX, LEASE))
    assert isinstance(runs.play(EndAttempt(1)), Skipped)
    runs.now = ends_at
    assert isinstance(runs.end_attempt(1), TokenReply)
    assert runs.said("task_failed") == [
        {"task": 1, "error": "it took longer than 1 minute", "status": "timeout"}
    ]
    assert runs.task.status.value == "queued"
    assert isinstance(runs.end_attempt(1), Skipped)


def test_waiting_in_the_queue_costs_no_time() -> None:
    runs = begun()
    runs.wait(hours=5)
    assert isinstance(runs.end_attempt(1), Skipped)
    runs.claim()
    assert isinstance(runs.end_attempt(1), Skipped)


def test_an_output_over_the_limit_fails_the_attempt() -> None:
    runs = begun(chart("states: { a: { job: { script: s.js, retries: 1 } } }"))
    runs.finish(output="x" * 1_048_575)
    assert "more than 1048576" in runs.said("task_failed")[0]["error"]
    assert runs.task.status.value == "queued"
    runs.finish(output="x" * 1_048_574)
    assert runs.at() == "a active"
    assert len(runs.outputs()["a"]) == 1_048_574


def test_a_job_is_reported_as_a_job_and_a_routine_of_a_workflow_as_such() -> None:
    runs = begun()
    runs.claim()
    for report in (ReportEvent(1, "go"), ReportWaiting(1, supervisor=BOX)):
        assert code_of(runs.play(report)) is Code.INVALID_BODY
    flow = Runs(machine("START -> a\na -> END on go"), served=True)
    flow.start()
    flow.play(ClaimTask(1, BOX, LEASE))
    assert code_of(flow.play(ReportDone(1, JsonText("1"), 1, BOX))) is Code.INVALID_BODY


def test_a_new_attempt_begins_from_the_beginning() -> None:
    runs = begun(
        chart(
            """
            states:
              a:
                job: { script: s.js, retries: 1 }
                on: { tick: [{}] }
            """
        )
    )
    runs.emit("tick", 1)
    runs.emit("tick", 2)
    runs.lose()
    runs.emit("tick", 1)
    assert [each["data"] for each in runs.said("event_accepted")] == [1, 2, 1]
