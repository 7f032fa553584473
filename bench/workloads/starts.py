"""Starts: new tokens, each with a context that its model checks, a task and a timeout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.database import Database
from bench.load import Measured, Pool
from bench.outcome import Outcome
from bench.stand import Stand
from bench.workloads.workload import counted, start_requests, under_load


@dataclass(slots=True)
class Starts:
    """``operations`` starts over 16 connections."""

    operations: int
    connections: int = 16

    async def prepare(self, pool: Pool) -> None:
        """There is nothing to prepare."""

    async def drive(self, pool: Pool) -> None:
        """Each start is answered 201: it made a token."""
        await pool.send_all("start", start_requests(self.operations), 201)

    def figures(self, measured: Measured) -> dict[str, float]:
        """The rate."""
        return {"starts/s": measured.rate}

    def problems(self, database: Database) -> Iterator[str]:
        """Every start made a token with one task."""
        yield from counted(
            database,
            {
                "tokens WHERE status = 'active'": self.operations,
                "tasks WHERE status = 'queued'": self.operations,
            },
        )


async def starts(stand: Stand) -> Outcome:
    """Sixteen callers."""
    return await under_load("start", Starts(stand.sizes.starts), stand)
