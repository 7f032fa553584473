"""Fairness: one supervisor that asks for a hundred tasks at once, beside ten that ask for one.

There is less work than they could do: tokens start one after the other, and everybody waits. Then
a queue that everybody draws from. Nobody starves, and each state's tasks go out first in, first
out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from bench.database import Database
from bench.load import Connection, Measured, Pool
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

_SINGLES: Final = 10
_GREEDY: Final = 100
_STARTERS: Final = 1
_WAIT: Final = 1
#: Each of the ten has at least this part of what an equal share of their work would be.
_FAIR: Final = 0.5

#: Tasks that were claimed before one of the same state that had been queued earlier.
_OVERTAKING: Final = """
SELECT count(*) FROM (
  SELECT claim.at AS at, max(claim.at) OVER (
    PARTITION BY task.queue ORDER BY task.queued_at, task.id
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
  FROM tasks AS task JOIN (SELECT token, at, CAST({task} AS bigint) AS task FROM ledger
    WHERE kind = 'task_claimed') AS claim ON claim.token = task.token AND claim.task = task.id
) AS granted WHERE at < latest
"""


@dataclass(slots=True)
class Fairness:
    """``tokens`` tickets, two cycles each."""

    tokens: int
    connections: int = _SINGLES + 1 + _STARTERS
    granted: Granted = field(default_factory=Granted)
    by_supervisor: Counter[int] = field(default_factory=Counter)

    @property
    def operations(self) -> int:
        """A cycle is a grant and its report."""
        return 2 * self.tokens

    async def prepare(self, pool: Pool) -> None:
        """Half of the tokens wait in the queue from the beginning."""
        await pool.send_all("start", start_requests(self.tokens)[: self.tokens // 2], 201)

    async def drive(self, pool: Pool) -> None:
        """Everybody until the last task was granted; the other half starts meanwhile."""
        await pool.work(self._work)

    async def _work(self, number: int, connection: Connection) -> None:
        if number < _STARTERS:
            for start in start_requests(self.tokens)[self.tokens // 2 :]:
                (await connection.ask("start", start)).expect(201)
        elif number == _STARTERS:
            await self._greedy(number, connection)
        else:
            await self._single(number, connection)

    async def _greedy(self, number: int, connection: Connection) -> None:
        while len(self.granted.once) < self.operations:
            claim = claim_request("greedy", TICKET_EVENTS, wait=_WAIT, most=_GREEDY)
            body = (await connection.ask("claim, max 100", claim)).expect(200)
            for grant in json.loads(body)["tasks"]:
                await self._report("greedy", number, connection, grant)

    async def _single(self, number: int, connection: Connection) -> None:
        supervisor = f"single-{number}"
        while len(self.granted.once) < self.operations:
            grant = await claimed(connection, claim_request(supervisor, TICKET_EVENTS, wait=_WAIT))
            if grant is not None:
                await self._report(supervisor, number, connection, grant)

    async def _report(
        self, supervisor: str, number: int, connection: Connection, grant: dict[str, Any]
    ) -> None:
        self.granted.note(grant)
        self.by_supervisor[number] += 1
        report = report_request(supervisor, grant, TICKET_EVENTS[grant["state"]])
        (await connection.ask("report", report)).expect(200)

    @property
    def _shares(self) -> list[int]:
        return [self.by_supervisor[_STARTERS + 1 + number] for number in range(_SINGLES)]

    def figures(self, measured: Measured) -> dict[str, float]:
        """The least of the ten, as a part of their equal share; and what the greedy one got."""
        return {
            "cycles/s": measured.rate,
            "least share of the ten": min(self._shares) * _SINGLES / max(1, sum(self._shares)),
            "part of the greedy one": self.by_supervisor[_STARTERS] / self.operations,
            "claim p99 ms": measured.latencies["claim"][1],
        }

    def problems(self, database: Database) -> Iterator[str]:
        """None starved, none overtook, every token is completed."""
        yield from self.granted.problems()
        fair = _FAIR * sum(self._shares) / _SINGLES
        for number, share in enumerate(self._shares, 1):
            if share < fair:
                yield f"supervisor {number} of ten was granted {share} tasks: less than {fair:.0f}"
        if not self.by_supervisor[_STARTERS]:
            yield "the supervisor that asks for a hundred was granted nothing"
        ((overtaking,),) = database.rows(_OVERTAKING.format(task=database.member("data", "task")))
        if overtaking:
            yield f"{overtaking} tasks were granted before one that was queued earlier"
        yield from counted(
            database,
            {
                "tokens WHERE status = 'completed'": self.tokens,
                "ledger WHERE kind = 'task_claimed'": self.operations,
            },
        )


async def fairness(stand: Stand) -> Outcome:
    """One and ten."""
    return await under_load("one for 100, ten for 1", Fairness(stand.sizes.fairness_tokens), stand)
