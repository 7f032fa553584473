"""Fires: events from outside move tokens whose tasks wait for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.database import Database
from bench.load import Connection, Pool, post
from bench.workloads.workload import differs, start_requests

_GRANTS_A_CLAIM: Final = 100


@dataclass(slots=True)
class Fires:
    """``operations`` tokens wait in coding, and one event each moves them to testing."""

    operations: int
    name: str = "fire"
    connections: int = 16
    requests_per_operation: int = 1

    async def prepare(self, pool: Pool) -> None:
        """Start the tokens, and let a supervisor leave each of their tasks waiting."""
        await pool.send_all("start", start_requests(self.operations), 201)
        await pool.work(self._leave_waiting)

    async def _leave_waiting(self, number: int, connection: Connection) -> None:
        supervisor = f"bench-{number}"
        claim = post(
            "/tasks/claim",
            f'{{"supervisor":"{supervisor}","states":["coding"],"max":{_GRANTS_A_CLAIM}}}',
        )
        while grants := json.loads((await connection.ask("claim", claim)).expect(200))["tasks"]:
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

    def problems(self, database: Database) -> Iterator[str]:
        """Every token is in testing, its waiting task done, and a new one is queued."""
        for rows in (
            "tokens WHERE state = 'testing' AND status = 'active'",
            "tasks WHERE state = 'coding' AND status = 'done'",
            "tasks WHERE state = 'testing' AND status = 'queued'",
        ):
            found = database.count(f"SELECT count(*) FROM {rows}")
            yield from differs(rows, found, self.operations)
