"""Fires: events from outside move tokens whose tasks wait for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.database import Database
from bench.load import Connection, Measured, Pool, post
from bench.outcome import Outcome
from bench.stand import Stand
from bench.workloads.supervising import claim_request
from bench.workloads.workload import counted, start_requests, under_load

_GRANTS_A_CLAIM: Final = 100


@dataclass(slots=True)
class Fires:
    """``operations`` tokens wait in coding, and one event each moves them to testing."""

    operations: int
    connections: int = 16

    async def prepare(self, pool: Pool) -> None:
        """Start the tokens, and let a supervisor leave each of their tasks waiting."""
        await pool.send_all("start", start_requests(self.operations), 201)
        await pool.work(self._leave_waiting)

    async def _leave_waiting(self, number: int, connection: Connection) -> None:
        supervisor = f"bench-{number}"
        while True:
            claim = claim_request(supervisor, ["coding"], most=_GRANTS_A_CLAIM)
            grants = json.loads((await connection.ask("claim", claim)).expect(200))["tasks"]
            if not grants:
                return
            for grant in grants:
                report = post(
                    f"/tasks/{grant['task']}/report",
                    f'{{"kind":"waiting","attempt":1,"supervisor":"{supervisor}"}}',
                )
                (await connection.ask("waiting", report)).expect(200)

    async def drive(self, pool: Pool) -> None:
        """Each event is accepted."""
        events = [
            post(f"/tokens/T-{number}/events/done") for number in range(1, self.operations + 1)
        ]
        await pool.send_all("fire", events, 200)

    def figures(self, measured: Measured) -> dict[str, float]:
        """The rate."""
        return {"fires/s": measured.rate}

    def problems(self, database: Database) -> Iterator[str]:
        """Every token is in testing, its waiting task done, and a new one is queued."""
        yield from counted(
            database,
            {
                "tokens WHERE state = 'testing' AND status = 'active'": self.operations,
                "tasks WHERE state = 'coding' AND status = 'done'": self.operations,
                "tasks WHERE state = 'testing' AND status = 'queued'": self.operations,
            },
        )


async def fires(stand: Stand) -> Outcome:
    """Sixteen callers."""
    return await under_load("fire", Fires(stand.sizes.fires), stand)
