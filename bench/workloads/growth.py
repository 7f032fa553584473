"""What grows with the work: queued tasks, ended tokens, the ledger of one token.

Control planes on databases of different sizes stand side by side and are asked in turns, so that
whatever else the machine does meets them alike. First one caller asks, whose times are compared;
then sixteen at once, for the curves of throughput.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from bench.database import Database, count
from bench.filling import ended_tickets, queued_lanes
from bench.graphs import LANES, PARALLEL_LANES, TICKET, Graph
from bench.load import Connection, Measured, Pool, connected, measure, percentile, post
from bench.outcome import Outcome, Point
from bench.stand import Plane, Stand
from bench.workloads.cycles import Cycles
from bench.workloads.supervising import Granted, claim_request, claimed, report_request
from bench.workloads.workload import differs

_CALLERS: Final = 16
_AGAIN: Final = '"event":"again","payload":null'
_STUCK: Final = '"event":"stuck","payload":null'
#: Entries that a lane's token gets by each `again`: accepted, cancelled, entered, queued.
_ENTRIES_A_MOVE: Final = 4


@dataclass(slots=True)
class _Grown:
    """A control plane on a database that was filled with so many, and its one caller."""

    size: int
    plane: Plane
    pool: Pool
    granted: Granted

    @property
    def caller(self) -> Connection:
        """The one connection, as long as one after the other is asked."""
        return self.pool.connections[0]

    def p50s(self, *kinds: str) -> dict[str, float]:
        """The median of each kind of request so far, in milliseconds."""
        return {f"{kind} p50 ms": percentile(self.pool.latencies[kind], 0.5) for kind in kinds}


@asynccontextmanager
async def _side_by_side(
    stand: Stand, graph: Graph, sizes: tuple[int, ...], fill: Callable[[Database, int], None]
) -> AsyncIterator[list[_Grown]]:
    async with AsyncExitStack() as stack:
        databases = [stack.enter_context(stand.database()) for _ in sizes]
        for database, size in zip(databases, sizes, strict=True):
            await asyncio.to_thread(fill, database, size)
        planes = [stack.enter_context(stand.serving(database, graph)) for database in databases]
        yield [
            _Grown(
                size, plane, await stack.enter_async_context(connected(plane.port, 1)), Granted()
            )
            for size, plane in zip(sizes, planes, strict=True)
        ]


# ── queued tasks ────────────────────────────────────────────────────────


async def queued(stand: Stand) -> Outcome:
    """Claims and reports over eight states; each report puts a task back, at the end."""
    sizes = stand.sizes
    async with _side_by_side(stand, PARALLEL_LANES, sizes.queued, queued_lanes) as grown:
        for _ in range(sizes.samples):
            for each in grown:
                await _again(each, 0, each.caller)
        medians = [each.p50s("claim", "report") for each in grown]
        bursts = [await _burst_of_lanes(each, sizes.burst) for each in grown]
        problems = [problem for each in grown for problem in each.granted.problems()]
        for each in grown:
            found = count(each.plane.database, "tasks WHERE ready")
            problems += differs(f"queued tasks of {each.size}", found, each.size)
    return _curve("queued tasks", grown, medians, bursts, problems)


async def _again(grown: _Grown, number: int, connection: Connection) -> None:
    supervisor = f"bench-{number}"
    grant = await claimed(connection, claim_request(supervisor, LANES))
    assert grant is not None, "the queue never gets shorter"
    grown.granted.note(grant)
    report = report_request(supervisor, grant, _AGAIN)
    (await connection.ask("report", report)).expect(200)


async def _burst_of_lanes(grown: _Grown, cycles: int) -> Measured:
    remaining = iter(range(cycles))

    async def worker(number: int, connection: Connection) -> None:
        for _ in remaining:
            await _again(grown, number, connection)

    async with connected(grown.plane.port, _CALLERS) as pool:
        return await measure(pool, grown.plane.watched, cycles, lambda pool: pool.work(worker))


# ── ended tokens ────────────────────────────────────────────────────────


async def ended(stand: Stand) -> Outcome:
    """Starts, claims and reports beside tokens that have ended."""
    sizes = stand.sizes
    async with _side_by_side(stand, TICKET, sizes.ended, ended_tickets) as grown:
        for number in range(sizes.samples):
            for each in grown:
                await _from_start_to_end(each, number)
        medians = [each.p50s("start", "claim", "report") for each in grown]
        bursts = [await _burst_of_tickets(each, sizes.burst) for each in grown]
        problems = [problem for each in grown for problem in each.granted.problems()]
        for each in grown:
            found = count(each.plane.database, "tokens WHERE status = 'completed'")
            wanted = each.size + sizes.samples + sizes.burst
            problems += differs(f"completed tokens of {each.size}", found, wanted)
    return _curve("ended tokens", grown, medians, bursts, problems)


async def _from_start_to_end(grown: _Grown, number: int) -> None:
    start = post("/tokens", f'{{"token":"N-{number}","context":{{"repo":"acme/api"}}}}')
    (await grown.caller.ask("start", start)).expect(201)
    grant = await claimed(grown.caller, claim_request("bench", ["coding", "testing"]))
    assert grant is not None, "it was queued before the start was answered"
    grown.granted.note(grant)
    report = report_request("bench", grant, _STUCK)
    (await grown.caller.ask("report", report)).expect(200)


async def _burst_of_tickets(grown: _Grown, tokens: int) -> Measured:
    cycles = Cycles(tokens, _CALLERS)
    async with connected(grown.plane.port, _CALLERS) as pool:
        await cycles.prepare(pool)
        return await measure(pool, grown.plane.watched, cycles.operations, cycles.drive)


def _curve(
    name: str,
    grown: list[_Grown],
    medians: list[dict[str, float]],
    bursts: list[Measured],
    problems: list[str],
) -> Outcome:
    """The figures compare the last point with the first."""
    first, last = medians[0], medians[-1]
    return Outcome(
        {kind.replace(" p50 ms", ", times"): last[kind] / first[kind] for kind in first},
        {f"{each.size:,} {name}": burst for each, burst in zip(grown, bursts, strict=True)},
        problems,
        [
            Point(name, each.size, {"cycles/s": burst.rate, **median})
            for each, median, burst in zip(grown, medians, bursts, strict=True)
        ],
    )


# ── a long ledger ───────────────────────────────────────────────────────


async def ledger(stand: Stand) -> Outcome:
    """Moves of a token with a long history, and of new ones, in turns."""
    sizes = stand.sizes
    moves = sizes.entries // _ENTRIES_A_MOVE
    again = post("/tokens/OLD/events/again")
    with stand.database() as database, stand.serving(database, PARALLEL_LANES) as plane:
        async with connected(plane.port, _CALLERS) as pool:
            names = ["OLD", *(f"N-{number}" for number in range(sizes.samples))]
            starts = [post("/tokens", json.dumps({"token": each})) for each in names]
            await pool.send_all("start", starts, 201)
            await pool.send_all("fire", [again] * moves, 200)
            caller = pool.connections[0]
            for number in range(sizes.samples):
                (await caller.ask("old", again)).expect(200)
                new = post(f"/tokens/N-{number}/events/again")
                (await caller.ask("new", new)).expect(200)
            old, new_p50 = (percentile(pool.latencies[kind], 0.5) for kind in ("old", "new"))
        entries = count(database, "ledger WHERE token = 'OLD'")
    wanted = _ENTRIES_A_MOVE * (1 + moves + sizes.samples)
    return Outcome(
        {"move, times": old / new_p50, "old p50 ms": old, "new p50 ms": new_p50},
        problems=list(differs("entries of the old token", entries, wanted)),
    )
