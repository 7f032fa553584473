"""What a workload is, and how large it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from bench.database import Database
from bench.load import Pool, post

#: The workflow that all workloads serve: coding, which has a timeout, then testing, then the end.
TICKET: Final = Path(__file__).parent.parent / "ticket.json"


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much work each workload does in a round."""

    starts: int
    #: Tokens that supervisors work through; each takes two task cycles.
    tokens: int
    tokens_alone: int
    fires: int
    reads: int
    calibration_requests: int


class Workload(Protocol):
    """One line of the table. An instance serves one run against a fresh control plane."""

    @property
    def name(self) -> str:
        """What the table calls it."""
        ...

    @property
    def connections(self) -> int:
        """How many callers there are at once."""
        ...

    @property
    def operations(self) -> int:
        """How many operations :meth:`drive` does; an operation is what the rate counts."""
        ...

    @property
    def requests_per_operation(self) -> int:
        """How many requests an operation takes."""
        ...

    async def prepare(self, pool: Pool) -> None:
        """Bring the control plane to where the workload begins; not measured."""
        ...

    async def drive(self, pool: Pool) -> None:
        """Do the work, measured."""
        ...

    def problems(self, database: Database) -> Iterator[str]:
        """What is wrong with the outcome; looked for after the control plane has stopped."""
        ...


def start_requests(count: int) -> list[bytes]:
    """Starts of ``count`` tokens, `T-1` and on."""
    return [
        post("/tokens", f'{{"token":"T-{number}","context":{{"repo":"acme/api"}}}}')
        for number in range(1, count + 1)
    ]


def differs(what: str, found: int, wanted: int) -> Iterator[str]:
    """A sentence, when ``found`` is not what it should be."""
    if found != wanted:
        yield f"{what}: {found}, and {wanted} were to be"
