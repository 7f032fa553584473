"""Memory of the control plane: idle, after many task cycles, and after as many again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from bench.load import Connection, Measured, Pool, Unexpected, connected, measure, post
from bench.machine import resident_mib
from bench.outcome import Outcome
from bench.stand import Plane, Stand
from bench.workloads.supervising import (
    TICKET_EVENTS,
    Granted,
    claim_request,
    claimed,
    report_request,
)

_SUPERVISORS: Final = 64
_EMPTY_PAUSE: Final = 0.002


@dataclass(slots=True)
class _Work:
    """Supervisors that start the tokens that they work on, two cycles each."""

    granted: Granted
    goal: int = 0
    started: int = 0

    async def drive(self, pool: Pool) -> None:
        """Until there were ``goal`` cycles."""
        await pool.work(self._supervise)

    async def _supervise(self, number: int, connection: Connection) -> None:
        supervisor = f"bench-{number}"
        while len(self.granted.once) < self.goal:
            self.started += 1
            start = f'{{"token":"T-{self.started}","context":{{"repo":"acme/api"}}}}'
            (await connection.ask("start", post("/tokens", start))).expect(201)
            for _ in range(2):
                grant = await claimed(connection, claim_request(supervisor, TICKET_EVENTS))
                if grant is None:
                    await asyncio.sleep(_EMPTY_PAUSE)
                    continue
                self.granted.note(grant)
                report = report_request(supervisor, grant, TICKET_EVENTS[grant["state"]])
                (await connection.ask("report", report)).expect(200)


async def memory(stand: Stand) -> Outcome:
    """Resident memory of the process (VmRSS)."""
    cycles, settle = stand.sizes.memory_cycles, stand.sizes.settle
    work = _Work(Granted())
    with stand.database() as database, stand.serving(database) as plane:
        idle = await _resident(plane, settle)
        async with connected(plane.port, _SUPERVISORS) as pool:
            first = await _cycles(work, pool, plane, cycles)
            after = await _resident(plane, settle)
            second = await _cycles(work, pool, plane, 2 * cycles)
            later = await _resident(plane, settle)
    return Outcome(
        {"idle MiB": idle, "after MiB": after, "growth MiB": later - after},
        {"64 supervisors": first, "64 supervisors, later": second},
        work.granted.problems(),
    )


async def _cycles(work: _Work, pool: Pool, plane: Plane, goal: int) -> Measured:
    work.goal = goal
    return await measure(pool, plane.watched, goal - len(work.granted.once), work.drive)


async def _resident(plane: Plane, settle: float) -> float:
    """In MiB, once it has had nothing to do for a while."""
    await asyncio.sleep(settle)
    found = resident_mib(plane.process)
    if found is None:
        raise Unexpected("this system does not tell the memory of a process")
    return found
