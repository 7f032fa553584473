"""A real supervisor: one process, 16 routines at once, each of which does nothing.

The control plane has the servers' core for itself, the supervisor shares the other with whatever
the database needs. The tokens are there before it starts; the clock runs, by the ledger, from its
first grant to the end of the last token.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import Final, Literal

from bench.database import Database, count
from bench.load import Unexpected, connected
from bench.machine import cpu_seconds
from bench.noop import noop_supervisor
from bench.outcome import Outcome
from bench.stand import Plane, Stand
from bench.workloads.workload import counted, start_requests

_CONNECTIONS: Final = 16
_LOOK_EVERY: Final = 0.25
_SECONDS_TO_END: Final = 120.0
_COMPLETED: Final = "tokens WHERE status = 'completed'"


async def supervisor_async(stand: Stand) -> Outcome:
    """Its routines are `async def`."""
    return await _supervised(stand, "async def")


async def supervisor_def(stand: Stand) -> Outcome:
    """Its routines are `def`, each in a thread."""
    return await _supervised(stand, "def")


async def _supervised(stand: Stand, define: Literal["async def", "def"]) -> Outcome:
    tokens = stand.sizes.supervised
    cycles = 2 * tokens
    with stand.folder() as folder, stand.database() as database:
        routines = noop_supervisor(folder, define)
        with stand.serving(database) as plane:
            async with connected(plane.port, _CONNECTIONS) as pool:
                await pool.send_all("start", start_requests(tokens), 201)
            with stand.supervising(plane, routines) as supervisor:
                plane_before = cpu_seconds(plane.process)
                await _until_completed(plane, tokens)
                supervisor_cpu = cpu_seconds(supervisor)
                plane_cpu = cpu_seconds(plane.process)
        figures = {"cycles/s": cycles / _seconds_of_work(database)}
        if supervisor_cpu is not None:
            # Its start is in it, which is the same in every run.
            figures["supervisor CPU ms a cycle"] = supervisor_cpu * 1000 / cycles
        if plane_before is not None and plane_cpu is not None:
            figures["control plane CPU ms a cycle"] = (plane_cpu - plane_before) * 1000 / cycles
        return Outcome(
            figures,
            problems=list(
                counted(
                    database,
                    {
                        _COMPLETED: tokens,
                        "tasks WHERE status = 'done' AND attempt = 1": cycles,
                        "ledger WHERE kind = 'task_claimed'": cycles,
                    },
                )
            ),
        )


async def _until_completed(plane: Plane, tokens: int) -> None:
    """Wait until all have ended.

    Raises:
        Unexpected: it took too long.
    """
    deadline = time.monotonic() + _SECONDS_TO_END
    while await asyncio.to_thread(count, plane.database, _COMPLETED) < tokens:
        if time.monotonic() > deadline:
            raise Unexpected(f"the supervisor did not end its work in {_SECONDS_TO_END:.0f} s")
        await asyncio.sleep(_LOOK_EVERY)


def _seconds_of_work(database: Database) -> float:
    ((first, last),) = database.rows(
        "SELECT (SELECT min(at) FROM ledger WHERE kind = 'task_claimed'), "
        "(SELECT max(at) FROM ledger WHERE kind = 'completed')"
    )
    return (_moment(last) - _moment(first)).total_seconds()


def _moment(value: str | datetime) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)
