"""Names: those given twice, those that stand in each other's way, and those that are nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stateous.statechart.document import Path
from stateous.statechart.facts import Facts, Findings, Named, around
from stateous.statechart.fields import DONE, FAILED, PARENT, near, shown


def check_names(chart: Facts, findings: Findings) -> None:
    """The rules about names inside one chart."""
    _once(chart.states, "duplicate-state", "state", findings)
    _once(chart.tickets, "duplicate-ticket", "ticket", findings)
    _targets(chart, findings)
    _jobs(chart, findings)
    _timers(chart, findings)
    _deferred(chart, findings)
    _declared(chart, findings)


def _once(named: Iterable[Named], code: str, what: str, findings: Findings) -> None:
    seen: set[str] = set()
    for name, path, _ in named:
        if name in seen:
            findings.add(code, path, f"the {what} {shown(name)} is there twice in the chart")
        seen.add(name)


def _targets(chart: Facts, findings: Findings) -> None:
    states = {state.name: None for state in chart.states}
    for name, path, _ in chart.targets:
        if name not in states:
            findings.add("unknown-target", path, f"{shown(name)} is no state{near(name, states)}")


def _jobs(chart: Facts, findings: Findings) -> None:
    states = {state.name: state.path for state in chart.states}
    for state in chart.states:
        if state.name == PARENT:
            _conflict(state.path, "a state cannot be called 'parent'", findings)
    named: set[tuple[Path, str]] = set()
    for job in chart.jobs:
        if job.alone:
            continue
        if job.name == PARENT:
            _conflict(job.path, "a job cannot be called 'parent'", findings)
        if states.get(job.name, job.state) != job.state:
            _conflict(job.path, f"{shown(job.name)} is also the name of a state", findings)
        if (job.state, job.name) in named:
            _conflict(job.path, f"the job {shown(job.name)} is there twice", findings)
        named.add((job.state, job.name))


def _timers(chart: Facts, findings: Findings) -> None:
    tickets = {ticket.name for ticket in chart.tickets}
    seen: set[tuple[Path, str]] = set()
    for timer in chart.timers:
        if timer.name in tickets:
            _conflict(timer.path, f"{shown(timer.name)} is also the name of a ticket", findings)
        if (timer.state, timer.name) in seen:
            _conflict(timer.path, f"the timer {shown(timer.name)} is there twice", findings)
        seen.add((timer.state, timer.name))
    for timer in chart.timers:
        for outer in around(timer.state, chart):
            if outer != timer.state and (outer, timer.name) in seen:
                _conflict(
                    timer.path,
                    f"the state {shown(outer[-1])} around it has a timer {shown(timer.name)} too",
                    findings,
                )


def _deferred(chart: Facts, findings: Findings) -> None:
    tickets = {ticket.name for ticket in chart.tickets}
    hearing = _Hearing(chart)
    for name, path, state in chart.deferred:
        if name in tickets:
            _conflict(path, f"{shown(name)} is a ticket, which cannot be deferred", findings)
        elif hearing.hears(state, name):
            _conflict(path, f"{shown(name)} is a timer, which cannot be deferred", findings)


class _Hearing:
    """Which timers a state hears: its own, those of a state around it or of one inside it."""

    def __init__(self, chart: Facts) -> None:
        self._chart = chart
        self._own = {(timer.state, timer.name) for timer in chart.timers}
        self._inside = {
            (outer, timer.name) for timer in chart.timers for outer in around(timer.state, chart)
        }

    def hears(self, state: Path, name: str) -> bool:
        if (state, name) in self._inside:
            return True
        return any((outer, name) in self._own for outer in around(state, self._chart))


def _declared(chart: Facts, findings: Findings) -> None:
    timers = {timer.name for timer in chart.timers}
    for entry in chart.event_entries:
        if entry.name in timers:
            findings.add(
                "reserved-event",
                entry.path,
                f"{shown(entry.name)} is a timer of the chart, which cannot be declared",
            )
    if chart.events is None:
        return
    known = chart.events | timers | {ticket.name for ticket in chart.tickets}
    for name, path, _ in _used(chart):
        if name not in known and name not in (DONE, FAILED):
            findings.add(
                "unknown-event",
                path,
                f"{shown(name)} is not declared under 'events'{near(name, known)}",
            )


def _used(chart: Facts) -> Iterator[Named]:
    yield from chart.rules
    yield from chart.deferred


def _conflict(path: Path, sentence: str, findings: Findings) -> None:
    findings.add("name-conflict", path, sentence)
