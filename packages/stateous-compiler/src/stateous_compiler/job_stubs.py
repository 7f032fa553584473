"""Stubs of a chart: a file per routine that its jobs name (`docs/spec/statechart.md` 10.3)."""

from __future__ import annotations

from keyword import iskeyword

from stateous.names import python_name
from stateous.statechart.document import ChartDocument, MachineSpec, Routine, StateSpec
from stateous_compiler.stubs import HIDING, Stub, numbered


def job_stubs_of(document: ChartDocument) -> list[Stub]:
    """The stubs of all routines of a chart and its machines, the chart's own first."""
    made: list[Stub] = []
    taken: set[str] = set()
    for machine in document.machines.values():
        for routine in _routines_of(machine):
            own = routine if machine is document.top else f"{machine.name}_{routine}"
            natural = python_name(own)
            stem = f"{natural}_routine" if natural in HIDING else natural
            free = stem if stem.lower() not in taken else _free(stem, taken)
            taken.add(free.lower())
            name = f"{machine.name}/{routine}"
            note = None if free == natural else f"{natural}.py would hide another module"
            made.append(Stub(name, name, f"{free}.py", note, _text(machine, routine)))
    return made


def _routines_of(machine: MachineSpec) -> list[str]:
    """The routines of a machine, each once, in the order of the chart."""
    found = [
        job.does.name
        for state in machine.every_state.values()
        if isinstance(state, StateSpec)
        for job in state.jobs
        if isinstance(job.does, Routine)
    ]
    return list(dict.fromkeys(found))


def _free(stem: str, taken: set[str]) -> str:
    # Some file systems do not tell small letters from capitals.
    return next(name for name in numbered(stem) if name.lower() not in taken)


def _text(machine: MachineSpec, routine: str) -> str:
    function = python_name(routine)
    function = f"{function}_" if iskeyword(function) else function
    message = f"write the routine {routine!r}: return the job's output, any JSON value"
    return f'''"""The routine {routine!r} of the chart {machine.name!r}."""

from stateous import on_job
from stateous.routine import JobContext


@on_job("{machine.name}/{routine}")
def {function}(ctx: JobContext) -> object:
    raise NotImplementedError("{message}")
'''
