"""Every workload by the name that `--only` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Listed:
    """A workload. ``once``: whatever the number of runs, only the first has it."""

    run: Workload
    once: bool = False


#: In this order they run; the task cycle stands next to the calibration that it is held to.
WORKLOADS: Final = {
    "cycles": Listed(cycles),
    "cycles-alone": Listed(cycles_alone),
    "starts": Listed(starts),
    "fires": Listed(fires),
    "read-token": Listed(reads_of_a_token),
    "read-history": Listed(reads_of_a_history),
    "wakeup": Listed(wakeup),
    "timers": Listed(timers),
    "supervisor-async": Listed(supervisor_async),
    "supervisor-def": Listed(supervisor_def),
    "fairness": Listed(fairness, once=True),
    "queued": Listed(queued, once=True),
    "ended": Listed(ended, once=True),
    "ledger": Listed(ledger, once=True),
    "memory": Listed(memory, once=True),
}
