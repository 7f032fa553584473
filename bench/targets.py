"""The targets: which figure of which workload has to reach what, on each database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from bench.database import EngineName

#: A figure of every workload that says its `requests/s`: these over those of the bare route.
OF_THE_BARE_ROUTE: Final = "of the bare route"


@dataclass(frozen=True, slots=True)
class Target:
    """One line of the table. ``better``: whether the figure has to be as large, or as small."""

    what: str
    workload: str
    figure: str
    sqlite: float
    postgres: float
    better: Literal["more", "less"] = "more"

    def on(self, engine: EngineName) -> float:
        """The target on a database."""
        return self.sqlite if engine == "sqlite" else self.postgres

    def met(self, engine: EngineName, measured: float) -> bool:
        """Whether ``measured`` reaches it."""
        target = self.on(engine)
        return measured >= target if self.better == "more" else measured <= target


def _at_most(
    what: str, workload: str, figure: str, sqlite: float, postgres: float | None = None
) -> Target:
    return Target(what, workload, figure, sqlite, sqlite if postgres is None else postgres, "less")


#: No growth, as far as it can be told: what the allocator leaves open between two looks, in MiB.
_NO_GROWTH: Final = 3.0

TARGETS: Final = (
    Target("task cycles/s, 16 supervisors", "cycles", "cycles/s", 2000, 1200),
    Target("… its requests/s over the bare route's", "cycles", OF_THE_BARE_ROUTE, 0.60, 0.36),
    _at_most("… p99 of a claim, ms", "cycles", "claim p99 ms", 30, 60),
    _at_most("… p99 of a report, ms", "cycles", "report p99 ms", 30, 60),
    _at_most("task cycle, one supervisor, p50, ms", "cycles-alone", "cycle p50 ms", 1.5, 4),
    Target("starts/s, 16 connections", "starts", "starts/s", 5000, 2200),
    Target("fires/s on waiting tokens", "fires", "fires/s", 3500, 1800),
    Target("reads/s, one token", "read-token", "reads/s", 10_000, 4000),
    Target("reads/s, history of 20 entries", "read-history", "reads/s", 10_000, 4000),
    _at_most("wake-up of an idle supervisor, p50, ms", "wakeup", "p50 ms", 10, 15),
    _at_most("… p99, ms", "wakeup", "p99 ms", 40, 60),
    _at_most("2,000 timers due at once, until the last has moved, s", "timers", "seconds", 2, 3),
    _at_most("… p99 of reads meanwhile, ms", "timers", "read p99 ms", 50),
    _at_most("claim p50, 100,000 queued over 1,000", "queued", "claim, times", 1.5),
    _at_most("claim p50, 1,000,000 ended over none", "ended", "claim, times", 1.5),
    _at_most("report p50, 1,000,000 ended over none", "ended", "report, times", 1.5),
    _at_most("start p50, 1,000,000 ended over none", "ended", "start, times", 1.5),
    _at_most("move p50, 50,000 entries over a new token", "ledger", "move, times", 1.5),
    _at_most("resident memory, idle, MiB", "memory", "idle MiB", 100, 110),
    _at_most("… after 200,000 cycles, MiB", "memory", "after MiB", 150, 170),
    _at_most("… growth over as many more, MiB", "memory", "growth MiB", _NO_GROWTH),
    Target("supervisor, `async def`, cycles/s", "supervisor-async", "cycles/s", 600, 600),
    Target("supervisor, `def`, cycles/s", "supervisor-def", "cycles/s", 600, 600),
)
