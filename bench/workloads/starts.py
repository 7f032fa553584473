"""Starts: new tokens, each with a context that its model checks, a task and a timeout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.database import Database
from bench.load import Pool
from bench.workloads.workload import differs, start_requests


@dataclass(slots=True)
class Starts:
    """``operations`` starts over 16 connections."""

    operations: int
    name: str = "start"
    connections: int = 16
    requests_per_operation: int = 1

    async def prepare(self, pool: Pool) -> None:
        """There is nothing to prepare."""

    async def drive(self, pool: Pool) -> None:
        """Each start is answered 201: it made a token."""
        await pool.send_all("start", start_requests(self.operations), 201)

    def problems(self, database: Database) -> Iterator[str]:
        """Every start made a token with one task."""
        for table in ("tokens WHERE status = 'active'", "tasks WHERE status = 'queued'"):
            found = database.count(f"SELECT count(*) FROM {table}")
            yield from differs(table, found, self.operations)
