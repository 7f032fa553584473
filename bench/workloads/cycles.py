"""Task cycles: supervisors claim tasks and report events that move the tokens, to the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from bench.database import Database
from bench.load import Connection, Pool, post
from bench.workloads.workload import differs, start_requests

#: What a supervisor reports in each state.
_EVENTS: Final = {
    "coding": '"event":"done","payload":null',
    "testing": '"event":"passed","payload":{"passed":41,"failed":0}',
}
# A claim comes back empty only at the very end, while others still hold the last tasks.
_EMPTY_PAUSE: Final = 0.002


@dataclass(slots=True)
class Cycles:
    """``connections`` supervisors work through ``tokens`` tokens, two cycles each."""

    tokens: int
    connections: int = 16
    name: str = "task cycle"
    requests_per_operation: int = 2
    granted: set[tuple[int, int]] = field(default_factory=set)
    twice: list[tuple[int, int]] = field(default_factory=list)

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
        while len(self.granted) < self.operations:
            claim = (
                f'{{"supervisor":"{supervisor}","states":["coding","testing"],'
                f'"request":"{uuid4().hex}"}}'
            )
            body = (await connection.ask("claim", post("/tasks/claim", claim))).expect(200, 204)
            if not body:
                await asyncio.sleep(_EMPTY_PAUSE)
                continue
            grant = json.loads(body)
            task, attempt = grant["task"], grant["attempt"]
            if (task, attempt) in self.granted:
                self.twice.append((task, attempt))
            self.granted.add((task, attempt))
            report = (
                f'{{"kind":"event",{_EVENTS[grant["state"]]},"context":{{}},"schedules":[],'
                f'"attempt":{attempt},"supervisor":"{supervisor}"}}'
            )
            request = post(f"/tasks/{task}/report", report)
            (await connection.ask("report", request)).expect(200)

    def problems(self, database: Database) -> Iterator[str]:
        """Each attempt was granted once, every token is completed, and the ledger says so."""
        for task, attempt in self.twice:
            yield f"attempt {attempt} of task {task} was granted twice"
        for rows, wanted in (
            ("tokens WHERE status = 'completed'", self.tokens),
            ("tokens", self.tokens),
            ("tasks WHERE status = 'done' AND attempt = 1", self.operations),
            ("tasks", self.operations),
            ("ledger WHERE kind = 'task_claimed'", self.operations),
            ("ledger WHERE kind = 'completed'", self.tokens),
        ):
            yield from differs(rows, database.count(f"SELECT count(*) FROM {rows}"), wanted)
