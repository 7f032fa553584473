"""Reads: one token, and a history of twenty entries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from bench.database import Database
from bench.load import Connection, Measured, Pool, get, post
from bench.outcome import Outcome
from bench.stand import Stand
from bench.workloads.workload import start_requests, under_load

_ENTRIES: Final = 20
_TOKENS: Final = 50
_FAILED: Final = '{"payload":{"passed":40,"failed":1}}'


@dataclass(slots=True)
class Reads:
    """``operations`` reads over 16 connections, of one token each time or of its history."""

    what: Literal["token", "history"]
    operations: int
    connections: int = 16
    lengths: set[int] = field(default_factory=set)

    async def prepare(self, pool: Pool) -> None:
        """Start tokens, and send each in circles until its ledger has its twenty entries."""
        await pool.send_all("start", start_requests(_TOKENS), 201)
        for event, body in (("done", "{}"), ("failed", _FAILED)) * 2:
            events = [
                post(f"/tokens/T-{number}/events/{event}", body) for number in range(1, _TOKENS + 1)
            ]
            await pool.send_all("fire", events, 200)

        async def count(number: int, connection: Connection) -> None:
            answer = await connection.ask("read", get(f"/tokens/T-{number + 1}/history"))
            self.lengths.add(len(json.loads(answer.expect(200))))

        await pool.work(count)

    async def drive(self, pool: Pool) -> None:
        """Each read is answered."""
        tail = "" if self.what == "token" else f"/history?limit={_ENTRIES}"
        reads = [
            get(f"/tokens/T-{1 + number % _TOKENS}{tail}") for number in range(self.operations)
        ]
        await pool.send_all("read", reads, 200)

    def figures(self, measured: Measured) -> dict[str, float]:
        """The rate."""
        return {"reads/s": measured.rate}

    def problems(self, database: Database) -> Iterator[str]:
        """There was as much to read as there was to be."""
        if min(self.lengths) < _ENTRIES:
            yield f"a history has {min(self.lengths)} entries, fewer than {_ENTRIES}"


async def reads_of_a_token(stand: Stand) -> Outcome:
    """Sixteen callers, one token each time."""
    return await under_load("read, one token", Reads("token", stand.sizes.reads), stand)


async def reads_of_a_history(stand: Stand) -> Outcome:
    """Sixteen callers, a history of twenty entries each time."""
    return await under_load("read, 20 entries", Reads("history", stand.sizes.reads), stand)
