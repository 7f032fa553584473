"""Runs as lines: `<id>: <machine>: <path>[ (visit N)], <status>` (`docs/spec/statechart.md` 17)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Final, TypeAlias

from stateous.visible import visible
from stateous.wire.moments import read_moment
from stateous_cli.output.tokens import visit_text
from stateous_cli.output.visible import roomy_json_text

Run: TypeAlias = Mapping[str, Any]

#: Where a run is whose start failed: no state was entered.
_NOWHERE: Final = "-"


def run_line(run: Run) -> str:
    """One run on one line: the names of its active path, of the leaf also the visit."""
    return (
        f"{visible(run['id'])}: {visible(run['machine'])}: {_path(run['configuration'])}, "
        f"{visible(run['status'])}"
    )


def run_lines(runs: Iterable[Run]) -> list[str]:
    """A list of runs; an empty one says so."""
    return [run_line(run) for run in runs] or ["no runs"]


def whole_run_lines(run: Run, document: Mapping[str, Any], zone: tzinfo | None = None) -> list[str]:
    """A run in full: its line, its input, then what goes on in it, or how it ended.

    ``document`` is the one that the run keeps; it says what a job does.
    """
    lines = [run_line(run), f"input: {roomy_json_text(run['input'])}"]
    if run["ended_at"] is None:
        return [*lines, *_going_on(run, document, zone)]
    if run["error"] is not None:
        return [*lines, error_line(run)]
    return [*lines, output_line(run)] if run["status"] == "completed" else lines


def output_line(run: Run) -> str:
    """What a run came to."""
    return f"output: {roomy_json_text(run['output'])}"


def error_line(run: Run) -> str:
    """Why a run failed."""
    return f"error: {visible(run['error']['code'])}: {visible(run['error']['message'])}"


def ticket_lines(tickets: Iterable[Mapping[str, Any]]) -> list[str]:
    """Open tickets with their values."""
    return [f"{visible(each['ticket'])}: {visible(each['value'])}" for each in tickets]


def _path(configuration: Sequence[Mapping[str, Any]]) -> str:
    if not configuration:
        return _NOWHERE
    *around, leaf = configuration
    names = [visible(state["state"]) for state in around]
    return "/".join([*names, visit_text(leaf["state"], leaf["visit"])])


def _going_on(run: Run, document: Mapping[str, Any], zone: tzinfo | None) -> Iterator[str]:
    for job in run["jobs"]:
        does = visible(_does(job, run["machine"], document))
        yield f"job: {visible(job['job'])}: {visible(job['kind'])}{does}, {_progress(job)}"
    for timer in run["timers"]:
        due = read_moment(timer["due_at"]).astimezone(zone)
        yield f"timer: {_in_state(timer, 'timer')}, due {due:%Y-%m-%d %H:%M:%S}"
    for ticket in run["tickets"]:
        yield f"ticket: {_in_state(ticket, 'ticket')}, open"
    for kept in run["kept"]:
        yield f"kept: {visible(kept['event'])}"


def _in_state(part: Mapping[str, Any], name: str) -> str:
    return f"{visible(part[name])} in {visible(part['state'])}"


def _progress(job: Mapping[str, Any]) -> str:
    status = visible(job["status"])
    if job.get("run") is not None:
        return f"{status}: {visible(job['run'])}"
    return status if job.get("attempt", 0) < 2 else f"{status} (attempt {job['attempt']})"


def _does(job: Mapping[str, Any], machine: str, document: Mapping[str, Any]) -> str:
    """Which script, machine or routine a job is, with a space before it; nothing if unknown."""
    for chart in (document, *document.get("machines", {}).values()):
        if chart.get("statechart") == machine:
            for spec in _jobs_of(chart.get("states", {}), job):
                return f" {spec.get(job['kind'], '')}"
    return ""


def _jobs_of(states: Mapping[str, Any], job: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name, state in states.items():
        if name == job["state"]:
            yield from [state["job"]] if "job" in state else []
            yield from (each for each in state.get("jobs", ()) if each["job"] == job["job"])
        yield from _jobs_of(state.get("states", {}), job)
