"""A round: the calibration, then each workload against a control plane and database of its own.

A run has several rounds, so that a workload and the calibration that it is compared with stand
close together in time; the report takes medians over the rounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.calibrate import Calibration, calibrate
from bench.database import SqliteDatabase
from bench.load import Measured, connected, measure
from bench.machine import Cores
from bench.server import control_plane
from bench.workloads.cycles import Cycles
from bench.workloads.fires import Fires
from bench.workloads.reads import Reads
from bench.workloads.starts import Starts
from bench.workloads.workload import TICKET, Sizes, Workload

#: Full: three of these rounds stay under three minutes on a machine that is busy besides.
FULL: Final = Sizes(
    starts=3000, tokens=1200, tokens_alone=150, fires=1500, reads=5000, calibration_requests=5000
)
QUICK: Final = Sizes(
    starts=300, tokens=150, tokens_alone=20, fires=150, reads=500, calibration_requests=1000
)

_CONNECTIONS: Final = 16
_DISK_SECONDS: Final = 0.4


@dataclass(frozen=True, slots=True)
class Line:
    """A workload's outcome in one round. ``problems`` is what the self-checks found."""

    name: str
    requests_per_operation: int
    measured: Measured
    problems: list[str]


@dataclass(frozen=True, slots=True)
class Round:
    """One calibration, and the workloads that came after it."""

    calibration: Calibration
    lines: list[Line]


def workloads(sizes: Sizes) -> list[Workload]:
    """Every workload, fresh; the task cycle stands next to the calibration that it is held to."""
    return [
        Cycles(sizes.tokens, _CONNECTIONS),
        Cycles(sizes.tokens_alone, 1, name="task cycle, one supervisor"),
        Starts(sizes.starts),
        Fires(sizes.fires),
        Reads("token", sizes.reads),
        Reads("history", sizes.reads),
    ]


async def run_round(sizes: Sizes, cores: Cores, parent: Path, say: Callable[[str], None]) -> Round:
    """One round; databases live in folders below ``parent``, and go when they are done with."""
    say("calibration")
    with _folder(parent) as folder:
        calibration = await calibrate(
            folder,
            cores,
            requests=sizes.calibration_requests,
            connections=_CONNECTIONS,
            seconds=_DISK_SECONDS,
        )
    lines = []
    for workload in workloads(sizes):
        say(workload.name)
        with _folder(parent) as folder:
            lines.append(await _run(workload, folder, cores))
    return Round(calibration, lines)


async def _run(workload: Workload, folder: Path, cores: Cores) -> Line:
    database = SqliteDatabase(folder / "bench.db")
    with control_plane(TICKET, database.url, folder, cores.server) as server:
        async with connected(server.port, workload.connections) as pool:
            await workload.prepare(pool)
            measured = await measure(pool, server.process, workload.operations, workload.drive)
    return Line(
        workload.name,
        workload.requests_per_operation,
        measured,
        list(workload.problems(database)),
    )


@contextmanager
def _folder(parent: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=parent) as made:
        yield Path(made)
