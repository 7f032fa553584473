"""Wake-up: from a start to the grant of a supervisor that was waiting for it."""

from __future__ import annotations

import asyncio
import json
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from bench.database import Database
from bench.load import Connection, Measured, Pool, percentile
from bench.outcome import Outcome
from bench.stand import Stand
from bench.workloads.supervising import claim_request, report_request
from bench.workloads.workload import counted, start_requests, under_load

_WAIT: Final = 30
# So long the supervisor has been idle when the token starts.
_IDLE: Final = 0.01


@dataclass(slots=True)
class Wakeups:
    """One supervisor waits, one caller starts a token, so many times one after the other."""

    operations: int
    connections: int = 2
    taken: array[float] = field(default_factory=lambda: array("d"))

    async def prepare(self, pool: Pool) -> None:
        """There is nothing to prepare."""

    async def drive(self, pool: Pool) -> None:
        """The supervisor's claim is on its way before the token is there."""
        waiting, calling = pool.connections
        for start in start_requests(self.operations):
            claim = asyncio.create_task(self._grant(waiting))
            await asyncio.sleep(_IDLE)
            began = time.perf_counter()
            answer, (grant, granted_at) = await asyncio.gather(calling.ask("start", start), claim)
            answer.expect(201)
            self.taken.append(granted_at - began)
            report = report_request("bench", json.loads(grant), '"event":"stuck","payload":null')
            (await waiting.ask("report", report)).expect(200)

    async def _grant(self, waiting: Connection) -> tuple[bytes, float]:
        claim = claim_request("bench", ["coding"], wait=_WAIT)
        answer = await waiting.ask("claim that waits", claim)
        return answer.expect(200), time.perf_counter()

    def figures(self, measured: Measured) -> dict[str, float]:
        """From the moment that the start is sent to the moment that the grant is there."""
        return {
            "p50 ms": percentile(self.taken, 0.50),
            "p99 ms": percentile(self.taken, 0.99),
        }

    def problems(self, database: Database) -> Iterator[str]:
        """Each token was granted once and has ended."""
        yield from counted(
            database,
            {
                "tokens WHERE status = 'completed'": self.operations,
                "ledger WHERE kind = 'task_claimed'": self.operations,
            },
        )


async def wakeup(stand: Stand) -> Outcome:
    """An idle supervisor."""
    return await under_load("wake-up", Wakeups(stand.sizes.wakeups), stand)
