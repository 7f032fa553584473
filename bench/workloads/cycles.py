"""Task cycles: supervisors claim tasks and report events that move the tokens, to the end."""

from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from bench.database import Database
from bench.load import Connection, Measured, Pool, percentile
from bench.outcome import Outcome
from bench.stand import Stand
from bench.workloads.supervising import (
    TICKET_EVENTS,
    Granted,
    claim_request,
    claimed,
    report_request,
)
from bench.workloads.workload import counted, start_requests, under_load

# A claim comes back empty only at the very end, while others still hold the last tasks.
_EMPTY_PAUSE: Final = 0.002


@dataclass(slots=True)
class Cycles:
    """``connections`` supervisors work through ``tokens`` tickets, two cycles each."""

    tokens: int
    connections: int = 16
    granted: Granted = field(default_factory=Granted)
    #: Seconds from the claim to the answer of the report.
    taken: array[float] = field(default_factory=lambda: array("d"))

    @property
    def operations(self) -> int:
        """A cycle is a claim and a report."""
        return 2 * self.tokens

    async def prepare(self, pool: Pool) -> None:
        """Start the tokens."""
        await pool.send_all("start", start_requests(self.tokens), 201)

    async def drive(self, pool: Pool) -> None:
        """Claim and report until every task was granted."""
        await pool.work(self._supervise)

    async def _supervise(self, number: int, connection: Connection) -> None:
        supervisor = f"bench-{number}"
        while len(self.granted.once) < self.operations:
            began = time.perf_counter()
            grant = await claimed(connection, claim_request(supervisor, TICKET_EVENTS))
            if grant is None:
                await asyncio.sleep(_EMPTY_PAUSE)
                continue
            self.granted.note(grant)
            report = report_request(supervisor, grant, TICKET_EVENTS[grant["state"]])
            (await connection.ask("report", report)).expect(200)
            self.taken.append(time.perf_counter() - began)

    def figures(self, measured: Measured) -> dict[str, float]:
        """Of cycles, and of the two requests."""
        return {
            "cycles/s": measured.rate,
            "requests/s": measured.requests_per_second,
            "cycle p50 ms": percentile(self.taken, 0.50),
            "cycle p99 ms": percentile(self.taken, 0.99),
            "claim p99 ms": measured.latencies["claim"][1],
            "report p99 ms": measured.latencies["report"][1],
        }

    def problems(self, database: Database) -> Iterator[str]:
        """Each attempt was granted once, every token is completed, and the ledger says so."""
        yield from self.granted.problems()
        yield from counted(
            database,
            {
                "tokens WHERE status = 'completed'": self.tokens,
                "tokens": self.tokens,
                "tasks WHERE status = 'done' AND attempt = 1": self.operations,
                "tasks": self.operations,
                "ledger WHERE kind = 'task_claimed'": self.operations,
                "ledger WHERE kind = 'completed'": self.tokens,
            },
        )


async def cycles(stand: Stand) -> Outcome:
    """Sixteen supervisors."""
    return await under_load("task cycle", Cycles(stand.sizes.tokens), stand)


async def cycles_alone(stand: Stand) -> Outcome:
    """One supervisor: what one cycle takes when nobody else is there."""
    load = Cycles(stand.sizes.tokens_alone, 1)
    return await under_load("task cycle, one supervisor", load, stand)
