"""What a workload is, and the shape that most have: one control plane under one load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from bench.database import Database, count
from bench.load import Measured, Pool, connected, measure, post
from bench.outcome import Outcome
from bench.stand import Stand


class Workload(Protocol):
    """Something that is measured. It says what it came to, never whether that is enough."""

    async def __call__(self, stand: Stand) -> Outcome:
        """Do it once, on databases of its own."""
        ...


class Load(Protocol):
    """What callers do to one control plane. An instance serves one run."""

    @property
    def connections(self) -> int:
        """How many callers there are at once."""
        ...

    @property
    def operations(self) -> int:
        """How many operations :meth:`drive` does; an operation is what the rate counts."""
        ...

    async def prepare(self, pool: Pool) -> None:
        """Bring the control plane to where the load begins; not measured."""
        ...

    async def drive(self, pool: Pool) -> None:
        """Do the work, measured."""
        ...

    def figures(self, measured: Measured) -> dict[str, float]:
        """What it came to."""
        ...

    def problems(self, database: Database) -> Iterator[str]:
        """What is wrong with the outcome; looked for after the control plane has stopped."""
        ...


async def under_load(name: str, load: Load, stand: Stand) -> Outcome:
    """Run ``load`` against a control plane of its own."""
    with stand.database() as database:
        with stand.serving(database) as plane:
            async with connected(plane.port, load.connections) as pool:
                await load.prepare(pool)
                measured = await measure(pool, plane.watched, load.operations, load.drive)
        problems = list(load.problems(database))
    return Outcome(load.figures(measured), {name: measured}, problems)


def start_requests(count: int) -> list[bytes]:
    """Starts of ``count`` tickets, `T-1` and on."""
    return [
        post("/tokens", f'{{"token":"T-{number}","context":{{"repo":"acme/api"}}}}')
        for number in range(1, count + 1)
    ]


def differs(what: str, found: int, wanted: int) -> Iterator[str]:
    """A sentence, when ``found`` is not what it should be."""
    if found != wanted:
        yield f"{what}: {found}, and {wanted} were to be"


def counted(database: Database, wanted: dict[str, int]) -> Iterator[str]:
    """A sentence for each kind of rows (what follows FROM) of which there are not so many."""
    for rows, number in wanted.items():
        yield from differs(rows, count(database, rows), number)
