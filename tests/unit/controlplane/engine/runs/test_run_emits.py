"""Values that jobs emit (`docs/spec/statechart.md` 10.4, 5.1)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stateous.wire.problems import Code
from stateous_controlplane.engine.replies import Done
from tests.support.charts import chart
from tests.support.engine import code_of
from tests.support.runs import Runs

SCAN = chart(
    """
    initial: scan
    states:
      scan:
        jobs: { rows: { script: s.js }, more: { script: s.js } }
        on:
          row: { go: away, when: "${event.data < 0}" }
          done: away
          tell: { send: { to: parent, event: seen, data: "${event.from}" } }
        defer: [later]
      away: { on: { later: { send: { to: parent, event: late, data: "${event.from}" } } } }
    """
)


def scanning() -> Runs:
    runs = Runs(SCAN)
    runs.submit()
    runs.begun("rows")
    return runs


def test_values_are_events_from_the_job_in_order() -> None:
    runs = scanning()
    assert runs.emit("row", 5, task=1) == Done()
    runs.emit("tell", task=1)
    runs.emit("later", 9, task=1)
    assert runs.said("event_dropped") == [
        {"event": "row", "data": 5, "from": "rows", "reason": "no_rule"}
    ]
    assert runs.said("sent")[0]["data"] == "rows"
    assert runs.kept() == ["later"]


def test_a_number_that_was_seen_is_skipped() -> None:
    runs = scanning()
    runs.emit("row", 1, 1, task=1)
    runs.emit("row", 2, 2, task=1)
    seq = runs.of().seq
    assert [runs.emit("row", 1, 1, task=1), runs.emit("row", 2, 2, task=1)] == [Done()] * 2
    assert runs.of().seq == seq
    runs.emit("row", 3, 3, task=1)
    assert [each["data"] for each in runs.said("event_dropped")] == [1, 2, 3]


def test_a_value_that_is_missing_before_refuses_the_next() -> None:
    runs = scanning()
    assert code_of(runs.emit("row", 2, 2, task=1)) is Code.INVALID_BODY


@pytest.mark.parametrize("event", ["done", "failed", "start", "timer", "1st", "", "x" * 65])
def test_reserved_and_malformed_names_are_refused(event: str) -> None:
    runs = scanning()
    assert code_of(runs.emit(event, 1, task=1)) is Code.EVENT_NOT_ALLOWED


def test_a_value_that_leaves_the_state_cancels_the_job_and_what_comes_behind() -> None:
    runs = scanning()
    runs.emit("later", 1, task=1)
    runs.emit("row", -1, task=1)
    assert runs.at() == "away active"
    assert code_of(runs.emit("row", 2, 3, task=1)) is Code.TASK_NOT_HELD
    # What `defer` kept before stays kept, and is offered where it can be.
    assert runs.said("sent") == [{"to": "parent", "event": "late", "data": "rows", "state": "away",
                                  "delivery": "recorded"}]  # fmt: skip


def test_more_than_10000_values_fail_the_attempt() -> None:
    runs = scanning()
    task = runs.family.tasks[1]
    assert task.job is not None
    task.job = replace(task.job, emitted=10_000)
    runs.emit("row", 1, task=1)
    assert runs.error() == "job: the job rows failed: the job emitted more than 10000 values"


def test_a_value_over_the_limit_fails_the_attempt() -> None:
    runs = scanning()
    runs.emit("row", "x" * 1_048_575, task=1)
    assert "more than 1048576" in (runs.error() or "")
