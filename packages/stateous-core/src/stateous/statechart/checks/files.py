"""What a document has of the files that it names, and machines of one name."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stateous.json import JsonObject, same_json
from stateous.statechart.document import KIND, Path
from stateous.statechart.facts import Facts, Findings
from stateous.statechart.fields import shown


def check_files(
    facts: Mapping[str, Facts],
    machines: Mapping[str, JsonObject],
    scripts: Collection[str],
    findings: Findings,
) -> None:
    """`file-not-found` and `duplicate-machine`, over a whole document."""
    for chart in facts.values():
        for job in chart.jobs:
            if job.script is not None and job.script not in scripts:
                _not_there("script", job.script, (*job.path, "script"), findings)
            if job.machine is not None and job.machine not in machines:
                _not_there("machine", job.machine, (*job.path, "machine"), findings)
        for send in chart.machine_sends:
            if send.machine not in machines:
                _not_there("machine", send.machine, send.path, findings)
    _one_of_each_name(machines, findings)


def _not_there(what: str, named: str, path: Path, findings: Findings) -> None:
    findings.add("file-not-found", path, f"the {what} {shown(named)} is not there")


def _one_of_each_name(machines: Mapping[str, JsonObject], findings: Findings) -> None:
    first: dict[str, str] = {}
    for path, machine in machines.items():
        name = machine.get(KIND)
        if not isinstance(name, str):
            continue
        other = first.setdefault(name, path)
        if other != path and not same_json(machines[other], machine):
            findings.add(
                "duplicate-machine",
                ("machines", path, KIND),
                f"{shown(name)} is the name of two machines: {other} and {path}",
            )
