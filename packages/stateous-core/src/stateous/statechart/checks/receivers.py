"""Whom sends go to, and whether an event of that name is known there."""

from __future__ import annotations

from collections.abc import Mapping

from stateous.statechart.document import Path
from stateous.statechart.facts import ChildSend, Facts, Findings, Job
from stateous.statechart.fields import PARENT, near, shown


def check_receivers(chart: Facts, charts: Mapping[str, Facts], findings: Findings) -> None:
    """`bad-send-target`, `exit-send-to-child`, and `unknown-event` at another machine."""
    jobs: dict[str, list[Job]] = {}
    for job in chart.jobs:
        jobs.setdefault(job.name, []).append(job)
    children = [name for name, same in jobs.items() if any(map(_is_machine, same))]
    states = {state.name for state in chart.states}
    for send in chart.child_sends:
        if send.to == PARENT:
            continue
        named = jobs.get(send.to, [])
        machines = [job for job in named if _is_machine(job)]
        if machines:
            _to_child(send, machines, charts, findings)
        else:
            reason = _why_not(send.to, named, send.to in states) + near(send.to, children)
            findings.add("bad-send-target", send.path, reason)
    for keyed in chart.machine_sends:
        _known_there(keyed.machine, keyed.event, keyed.path, charts, findings)


def _is_machine(job: Job) -> bool:
    return job.kind == "machine"


def _why_not(to: str, named: list[Job], is_state: bool) -> str:
    if named:
        return f"{shown(to)} is a {named[0].kind}, which takes no events: only a machine does"
    if is_state:
        return f"the state {shown(to)} has no machine as its job"
    return f"{shown(to)} is neither 'parent' nor the name of a machine job"


def _to_child(
    send: ChildSend, machines: list[Job], charts: Mapping[str, Facts], findings: Findings
) -> None:
    if send.on_exit and any(job.state == send.state for job in machines):
        findings.add(
            "exit-send-to-child",
            send.path,
            f"{shown(send.to)} is cancelled when its state is left: an 'exit' send cannot reach it",
        )
    reached = {job.machine for job in machines if job.machine in charts}
    declaring = [charts[path] for path in reached if path is not None]
    if declaring and all(_lacks(chart, send.event) for chart in declaring):
        _unknown(send.event, send.path, findings)


def _known_there(
    machine: str,
    event: str | None,
    path: Path,
    charts: Mapping[str, Facts],
    findings: Findings,
) -> None:
    if machine in charts and _lacks(charts[machine], event):
        _unknown(event, path[:-1], findings)


def _lacks(chart: Facts, event: str | None) -> bool:
    return event is not None and chart.events is not None and event not in chart.events


def _unknown(event: str | None, to: Path, findings: Findings) -> None:
    """``to`` is the place of the receiver, beside which the event stands."""
    findings.add(
        "unknown-event",
        (*to[:-1], "event"),
        f"the machine that this goes to declares no event {shown(event)}",
    )
