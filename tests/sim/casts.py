"""What a simulation is about: tokens of a workflow, or runs of charts. The rest of the world is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final, TypeAlias

from stateous.graph.machine import Machine
from stateous_controlplane.startup import Workflow
from tests.sim.caller import Caller, Program
from tests.sim.charts import MACHINES, Jobs, jobs
from tests.sim.run_caller import RunCaller
from tests.sim.workflows import SERVED, Routines, emits

Mark: TypeAlias = Callable[[str], str]
Wild: TypeAlias = Callable[[], bool]


@dataclass(frozen=True)
class Cast:
    """Who plays. ``workflow`` is what control planes serve besides runs.

    ``states`` and ``jobs`` are what supervisors claim; ``letter`` begins the ids of what the program
    begins.
    """

    workflow: Workflow | None
    machines: Mapping[str, Machine]
    states: Sequence[str]
    jobs: Sequence[str]
    letter: str
    routines: Callable[[Random, Mark, Wild], Any]
    program: Callable[..., Program]


def workflows(chance: Random) -> Cast:
    """Tokens of one of the workflows."""
    workflow = chance.choice(SERVED)
    machine = workflow.machine
    return Cast(
        workflow=workflow,
        machines={machine.checksum: machine},
        states=list(emits(machine)),
        jobs=(),
        letter="T",
        routines=partial(Routines, machine),
        program=partial(Caller, machine),
    )


def charts(chance: Random) -> Cast:
    """Runs of all charts; control planes serve nothing else."""
    return Cast(
        workflow=None,
        machines=MACHINES,
        states=(),
        jobs=jobs(),
        letter="R",
        routines=Jobs,
        program=RunCaller,
    )


CASTS: Final[Mapping[str, Callable[[Random], Cast]]] = {"workflows": workflows, "charts": charts}
