"""Every workload by the name that `--only` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bench.database import EngineName
from bench.workloads.cycles import cycles, cycles_alone
from bench.workloads.fairness import fairness
from bench.workloads.fires import fires
from bench.workloads.growth import ended, ledger, queued
from bench.workloads.memory import memory
from bench.workloads.reads import reads_of_a_history, reads_of_a_token
from bench.workloads.starts import starts
from bench.workloads.supervisors import supervisor_async, supervisor_def
from bench.workloads.timers import timers
from bench.workloads.wakeup import wakeup
from bench.workloads.workload import Workload

_SQLITE: Final = frozenset[EngineName]({"sqlite"})
_BOTH: Final = frozenset[EngineName]({"sqlite", "postgres"})


@dataclass(frozen=True, slots=True)
class Listed:
    """A workload.

    ``once``: whatever the number of runs, only the first has it. ``smoke``: on which databases a
    smoke run has it when nothing is asked for by name; the others say no more about what is broken.
    """

    run: Workload
    once: bool = False
    smoke: frozenset[EngineName] = frozenset()


#: In this order they run; the task cycle stands next to the calibration that it is held to.
WORKLOADS: Final = {
    "cycles": Listed(cycles, smoke=_BOTH),
    "cycles-alone": Listed(cycles_alone),
    "starts": Listed(starts, smoke=_SQLITE),
    "fires": Listed(fires, smoke=_BOTH),
    "read-token": Listed(reads_of_a_token, smoke=_BOTH),
    "read-history": Listed(reads_of_a_history),
    "wakeup": Listed(wakeup, smoke=_BOTH),
    "timers": Listed(timers, smoke=_BOTH),
    "supervisor-async": Listed(supervisor_async, smoke=_SQLITE),
    "supervisor-def": Listed(supervisor_def),
    "fairness": Listed(fairness, once=True),
    "queued": Listed(queued, once=True, smoke=_BOTH),
    "ended": Listed(ended, once=True, smoke=_SQLITE),
    "ledger": Listed(ledger, once=True, smoke=_SQLITE),
    "memory": Listed(memory, once=True, smoke=_SQLITE),
}
