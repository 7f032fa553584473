"""Random charts under random commands: the engine against a naive reading of the specification.

After every command the answer, every row and every entry are what the model says, every rule of a
run holds, and folding the ledger gives the rows. ``STATEOUS_EXAMPLES`` lets it run longer.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.property.random_charts import EVENTS, KEYS, documents, formulas
from tests.property.run_twins import RunTwins

#: A failing story is made short before it is told, which takes minutes.
pytestmark = pytest.mark.timeout(3600)

LIVE = ("active", "paused")
INPUTS: list[Any] = [{"n": 2, "t": "2m"}, {"n": 0, "t": "18:00"}, {"n": 3, "t": "soon"}, {}]
DATA: list[Any] = [None, 0, 2, 5, "t", {"n": 1}, {"n": 3}, "2m"]

data = st.sampled_from(DATA)
events = st.sampled_from([*EVENTS * 4, "late", "done", "nosuch"])
#: Which of several: 0 to 8 count the likely ones from the youngest, 9 is an unlikely one.
nth = st.integers(0, 9)
keys = st.sampled_from([None, None, None, "i1", "i2"])


class Charts(RuleBasedStateMachine):
    """Runs of one random chart, and everything that can happen to them."""

    twins: RunTwins

    @initialize(document=documents(), given=st.sampled_from(INPUTS[:3]))
    def submit_first(self, document: Any, given: Any) -> None:
        self.twins = RunTwins(document, formulas(document))
        self.twins.submit("run-1", given, None)

    # ── which ───────────────────────────────────────────────────────────

    def run(self, which: int, status: tuple[str, ...] = LIVE) -> str:
        """A live run, mostly."""
        runs = self.twins.model.runs
        live = [each.id for each in runs.values() if each.status in status]
        if not live or which == 9:
            return next(iter(runs))
        return str(live[::-1][which % len(live)])

    def task(self, which: int, *status: str) -> int | None:
        tasks = [each.id for each in self.twins.model.tasks.values() if each.status in status]
        return tasks[::-1][which % len(tasks)] if tasks else None

    def working(self, which: int) -> int | None:
        """A task that is worked on, claimed now if there is none."""
        queued = self.task(which, "queued")
        if self.task(which, "claimed") is None and queued is not None:
            self.twins.claim(queued)
        if which == 9:
            return self.task(which, "done", "failed", "cancelled", "queued")
        return self.task(which, "claimed")

    # ── clients ─────────────────────────────────────────────────────────

    @rule(
        number=st.integers(1, 4), given=st.sampled_from(INPUTS), key=st.sampled_from([None, *KEYS])
    )
    def submit(self, number: int, given: Any, key: str | None) -> None:
        self.twins.submit(f"run-{number}", given, key)

    @rule(which=nth, event=events, sent=data, key=keys)
    def send(self, which: int, event: str, sent: Any, key: str | None) -> None:
        self.twins.send(self.run(which), event, sent, key)

    @rule(
        which=nth, whole=st.lists(st.tuples(st.sampled_from(EVENTS), data), min_size=2, max_size=6)
    )
    def send_many(self, which: int, whole: list[Any]) -> None:
        for event, sent in whole:
            self.twins.send(self.run(which), event, sent, None)

    @rule(which=nth, answer=data, key=keys)
    def answer(self, which: int, answer: Any, key: str | None) -> None:
        tickets = self.twins.model.tickets
        chosen = [each.value for each in tickets if (each.status == "open") != (which == 9)]
        if chosen:
            self.twins.answer(chosen[::-1][which % len(chosen)], answer, key)

    # ── jobs ────────────────────────────────────────────────────────────

    @rule(which=nth)
    def claim(self, which: int) -> None:
        task = self.task(which, *(("done", "claimed") if which == 9 else ("queued",)))
        if task is not None:
            self.twins.claim(task)

    @rule(which=nth, output=data)
    def done(self, which: int, output: Any) -> None:
        task = self.working(which)
        if task is not None:
            self.twins.done(task, output)

    @rule(outputs=st.lists(data, min_size=1, max_size=4))
    def work(self, outputs: list[Any]) -> None:
        """A runner works off what there is."""
        for output in outputs:
            task = self.working(0)
            if task is not None:
                self.twins.done(task, output)

    @rule(which=nth, output=data, status=st.sampled_from(["failed", "failed", "timeout", "denied"]))
    def failed(self, which: int, output: Any, status: str) -> None:
        task = self.working(which)
        if task is not None:
            self.twins.failed(task, "boom", status, output)

    @rule(which=nth, event=st.sampled_from(EVENTS), sent=data, again=st.integers(0, 4))
    def emit(self, which: int, event: str, sent: Any, again: int) -> None:
        task = self.working(which)
        if task is not None:
            number = self.twins.model.tasks[task].emitted + (again > 0)
            self.twins.emit(task, max(number, 1), event, sent)

    # ── time ────────────────────────────────────────────────────────────

    @rule(seconds=st.sampled_from([1, 31, 61, 130, 400, 40_000]))
    def pass_time(self, seconds: int) -> None:
        self.twins.pass_time(timedelta(seconds=seconds))

    @rule()
    def deliver(self) -> None:
        self.twins.deliver_all()

    # ── steering ────────────────────────────────────────────────────────

    @rule(which=nth, verb=st.sampled_from(["pause", "resume", "cancel"]))
    def steer(self, which: int, verb: str) -> None:
        self.twins.steer(verb, self.run(which))

    @rule(
        which=nth,
        meanwhile=st.lists(
            st.one_of(st.tuples(nth, st.sampled_from(EVENTS), data), data), max_size=5
        ),
        verb=st.sampled_from(["resume", "resume", "resume", "cancel"]),
    )
    def pause_a_while(self, which: int, meanwhile: list[Any], verb: str) -> None:
        """Events, values and results arrive while a family is paused."""
        self.working(which)
        top = self.twins.model.top(self.twins.model.runs[self.run(which)])
        self.twins.steer("pause", top)
        for each in meanwhile:
            if isinstance(each, tuple):
                self.twins.send(self.run(each[0]), each[1], each[2], None)
            else:
                self.done(0, each)
        self.twins.pass_time(timedelta(seconds=50))
        self.twins.deliver_all()
        self.twins.steer(verb, top)


TestCharts = Charts.TestCase
TestCharts.settings = settings(
    max_examples=int(os.environ.get("STATEOUS_EXAMPLES", "80")),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
