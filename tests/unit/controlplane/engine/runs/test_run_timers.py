"""Timers of runs (`docs/spec/statechart.md` 9)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from stateous_controlplane.engine.replies import Skipped
from stateous_controlplane.engine.rows import TimerKind
from tests.support.charts import chart
from tests.support.runs import Runs

CLOCK = chart(
    """
    input: { at: string }
    initial: a
    states:
      a:
        initial: b
        timers: { length: 90m, clock: "18:00", weekly: "mon 09:00 Europe/London", given: "${input.at}" }
        on: { length: [{}], clock: x, own: a }
        states:
          b: { on: { c: c } }
          c: { timers: { inner: 1m } }
      x: { end: done, output: "${event}" }
    """
)


def waiting(at: str = "2h") -> Runs:
    runs = Runs(CLOCK)
    runs.now = datetime(2027, 3, 1, 12, tzinfo=UTC)
    runs.submit({"at": at})
    return runs


def due(runs: Runs) -> dict[str, str]:
    return {name: at.replace("+00:00", "") for name, at in runs.timers().items()}


def test_lengths_count_from_entry_and_clock_times_are_the_next() -> None:
    runs = waiting()
    assert due(runs) == {
        "length": "2027-03-01T13:30:00",
        "clock": "2027-03-01T18:00:00",
        "weekly": "2027-03-08T09:00:00",
        "given": "2027-03-01T14:00:00",
    }
    assert runs.said("timer_set")[3] == {
        "event": "given",
        "state": "a",
        "text": "2h",
        "due_at": "2027-03-01T14:00:00Z",
    }
    kinds = [timer.kind for timer in runs.family.timers.values()]
    assert kinds == [TimerKind.LENGTH, TimerKind.CLOCK, TimerKind.CLOCK, TimerKind.LENGTH]


def test_a_timer_fires_once_an_entry_and_may_be_dropped() -> None:
    runs = waiting()
    runs.send("c")
    runs.ring("length")
    assert runs.at() == "a/c active"
    assert runs.said("timer_fired") == [{"event": "length", "state": "a"}]
    assert runs.said("event_accepted")[-1]["from"] == "a"
    runs.ring("inner")
    assert runs.said("event_dropped") == [
        {"event": "inner", "data": None, "from": "c", "reason": "no_rule"}
    ]
    assert "length" not in runs.timers()
    assert isinstance(runs.fire_timer(1), Skipped)
    runs.ring("clock")
    assert runs.output() == {"name": "clock", "data": None, "from": "a"}


def test_leaving_stops_timers_and_entering_starts_them_anew() -> None:
    runs = waiting()
    runs.wait(minutes=10)
    runs.send("own")
    assert due(runs)["length"] == "2027-03-01T13:40:00"
    runs.now = datetime(2027, 3, 1, 13, 35, tzinfo=UTC)
    assert isinstance(runs.fire_timer(1), Skipped)


def test_a_timer_that_is_not_due_yet_does_not_fire() -> None:
    runs = waiting()
    assert isinstance(runs.fire_timer(1), Skipped)


def test_a_pause_moves_lengths_and_no_clock_times() -> None:
    runs = waiting("18:30")
    before = due(runs)
    runs.wait(minutes=30)
    runs.pause()
    runs.wait(hours=8)
    assert isinstance(runs.fire_timer(2), Skipped)
    runs.resume()
    after = due(runs)
    assert after["length"] == "2027-03-01T21:30:00"
    assert {name: after[name] for name in ("clock", "weekly", "given")} == {
        name: before[name] for name in ("clock", "weekly", "given")
    }
    # The clock time has passed meanwhile, and fires at once.
    runs.fire_timer(2)
    assert runs.at() == "x completed"


@pytest.mark.parametrize(
    "at",
    ["25:00", "soon", "0s", "3651d", "09:00 Mars/X"],
)
def test_a_time_that_is_none_fails_the_run(at: str) -> None:
    runs = waiting(at)
    assert runs.at() == " failed"
    error = runs.error() or ""
    assert error.startswith("time: states.a.timers.given: ${input.at}: ")
    assert at.split()[-1] in error
    assert runs.kinds() == "started failed"
    assert runs.timers() == {}


@pytest.mark.parametrize("expression", ["${event.data}", "${1}", "${null}"])
def test_a_time_that_is_no_text_fails_the_run(expression: str) -> None:
    runs = Runs(
        chart(
            f"initial: w\nstates: {{ w: {{ on: {{ x: a }} }}, a: {{ timers: {{ t: '{expression}' }} }} }}"
        )
    )
    runs.submit()
    runs.send("x", {"a": 1})
    assert runs.at() == "w failed"
    assert (runs.error() or "").startswith("time: ")
    assert runs.visited() == "+w"


def test_equal_instants_fire_in_the_order_in_which_they_were_started() -> None:
    runs = Runs(chart("states: { a: { timers: { one: 1m, two: 1m } } }"))
    runs.submit()
    one, two = runs.pending
    assert one.due_at == two.due_at
    assert (one.event, one.id) < (two.event, two.id)
    assert one.due_at - runs.of().entered_at == timedelta(minutes=1)
