"""Timers: two thousand that are due at one moment, and reads meanwhile.

A state's timeout counts from when it was entered, so the timers of tokens that were started one
after the other would be due one after the other: their time is set, all to one moment, in the
database. The clock runs from that moment until no timer is pending, as another connection sees it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.database import Database, count
from bench.graphs import TIMED
from bench.load import Connection, Pool, Unexpected, connected, get, measure, post
from bench.outcome import Outcome
from bench.stand import Stand
from bench.workloads.workload import counted

_PENDING: Final = "timers WHERE status = 'pending'"
_READERS: Final = 4
# Each reader waits so long between reads, in seconds: some hundred a second, on top of the timers.
_READ_EVERY: Final = 0.01
_LOOK_EVERY: Final = 0.02
#: The moment comes so many times later as a control plane takes to start.
_LEAD: Final = 2.5
_SECONDS_TO_FIRE: Final = 60.0


@dataclass(slots=True)
class _Volley:
    """Timers of ``tokens`` tokens."""

    database: Database
    tokens: int
    due: float
    over: bool = False
    seconds: float = 0.0

    async def drive(self, pool: Pool) -> None:
        """Readers read from the moment until all has happened."""
        await asyncio.gather(self._watch(), pool.work(self._read))

    async def _watch(self) -> None:
        try:
            while await asyncio.to_thread(count, self.database, _PENDING):
                if time.time() > self.due + _SECONDS_TO_FIRE:
                    raise Unexpected(
                        f"timers were pending {_SECONDS_TO_FIRE:.0f} s after their time"
                    )
                await asyncio.sleep(_LOOK_EVERY)
            self.seconds = time.time() - self.due
        finally:
            self.over = True

    async def _read(self, number: int, connection: Connection) -> None:
        read = 0
        while not self.over:
            token = 1 + (number + _READERS * read) % self.tokens
            (await connection.ask("read", get(f"/tokens/T-{token}"))).expect(200)
            read += 1
            await asyncio.sleep(_READ_EVERY)


async def timers(stand: Stand) -> Outcome:
    """All of them move their tokens."""
    lead = _LEAD
    while (outcome := await _fired(stand, lead)) is None:
        lead *= 2
    return outcome


async def _fired(stand: Stand, lead: float) -> Outcome | None:
    """What it came to; None: the control plane was not there again in time."""
    tokens = stand.sizes.timers
    with stand.database() as database:
        began = time.monotonic()
        with stand.serving(database, TIMED) as plane:
            seconds = lead * (time.monotonic() - began)
            async with connected(plane.port, 16) as pool:
                starts = [post("/tokens", f'{{"token":"T-{n + 1}"}}') for n in range(tokens)]
                await pool.send_all("start", starts, 201)
        volley = _Volley(database, tokens, due=time.time() + seconds)
        database.fill([f"UPDATE timers SET due_at = {database.moment(repr(volley.due))}"])
        with stand.serving(database, TIMED) as plane:
            left = volley.due - time.time()
            if left < 0:
                return None
            await asyncio.sleep(left)
            async with connected(plane.port, _READERS) as pool:
                measured = await measure(pool, plane.watched, tokens, volley.drive)
        problems = list(_problems(database, tokens))
    figures = {"seconds": volley.seconds, "read p99 ms": measured.latencies["read"][1]}
    return Outcome(figures, {"reads while timers fire": measured}, problems)


def _problems(database: Database, tokens: int) -> Iterator[str]:
    """Each timer fired once, and moved its token."""
    yield from counted(
        database,
        {
            "tokens WHERE state = 'after' AND status = 'active'": tokens,
            "timers WHERE status = 'fired'": tokens,
            "ledger WHERE kind = 'timer_fired'": tokens,
            "tasks WHERE state = 'after' AND status = 'queued'": tokens,
        },
    )
