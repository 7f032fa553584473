"""Medians over the runs, and what they are held to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeVar

from bench.calibrate import Calibration
from bench.database import EngineName
from bench.load import Measured
from bench.outcome import Outcome, Point
from bench.targets import OF_THE_BARE_ROUTE, TARGETS, Target

BARE_ROUTE: Final = "bare FastAPI route"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Run:
    """A calibration, and the workloads that came after it, by name."""

    engine: EngineName
    calibration: Calibration
    outcomes: dict[str, Outcome]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target and what was measured, in each run and as a median."""

    target: Target
    wanted: float
    values: list[float]
    #: In how many of the runs the generator may have been the bottleneck.
    limited: int

    @property
    def measured(self) -> float:
        """The median."""
        return median(self.values)

    @property
    def ratio(self) -> float:
        """What was measured over the target."""
        return self.measured / self.wanted

    @property
    def met(self) -> bool:
        """Whether the median reaches the target."""
        return self.ratio >= 1 if self.target.better == "more" else self.ratio <= 1


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """One load over all runs: medians, of ratios too, which are taken in each run.

    ``ratio`` is the load's requests per second over those of the bare route. ``cpu_ratio`` is the
    bare route's CPU time for a request over the load's: what the ratio would be if nothing but the
    server's core counted. Other work on the machine moves it less.
    """

    name: str
    runs: int
    rate: float
    ratio: float
    cpu_ratio: float | None
    latencies: dict[str, tuple[float, float]]
    server_ms_per_request: float | None
    server_share: float | None
    database_share: float | None
    generator_share: float
    #: In how many runs the generator may have been the bottleneck.
    limited: int


def verdicts(runs: Sequence[Run]) -> Iterator[Verdict]:
    """The targets whose figures there are, of at least one run, in their order."""
    for target in TARGETS:
        having = [
            run
            for run in runs
            if target.workload in run.outcomes and target.figure in figures(run, target.workload)
        ]
        if having:
            outcomes = [run.outcomes[target.workload] for run in having]
            yield Verdict(
                target,
                target.on(having[0].engine),
                [figures(run, target.workload)[target.figure] for run in having],
                sum(
                    any(load.generator_limits for load in outcome.loads.values())
                    for outcome in outcomes
                ),
            )


def figures(run: Run, workload: str) -> dict[str, float]:
    """The figures of a workload in a run, with its ratio to the bare route when it has one."""
    found = dict(run.outcomes[workload].figures)
    if "requests/s" in found:
        bare = run.calibration.bare_route.requests_per_second
        found[OF_THE_BARE_ROUTE] = found["requests/s"] / bare
    return found


def median_figures(runs: Sequence[Run], workload: str) -> dict[str, float]:
    """The median of each figure of a workload."""
    having = [figures(run, workload) for run in runs if workload in run.outcomes]
    names = dict.fromkeys(name for each in having for name in each)
    return {name: median(each[name] for each in having if name in each) for name in names}


def loads(runs: Sequence[Run]) -> Iterator[LoadSummary]:
    """The bare route first, then the loads in their order."""
    bare = [run.calibration.bare_route for run in runs]
    yield _summary(BARE_ROUTE, bare, bare)
    names = {name: None for run in runs for each in run.outcomes.values() for name in each.loads}
    for name in names:
        pairs = [
            (outcome.loads[name], run.calibration.bare_route)
            for run in runs
            for outcome in run.outcomes.values()
            if name in outcome.loads
        ]
        yield _summary(name, [load for load, _ in pairs], [bare for _, bare in pairs])


def points(runs: Iterable[Run]) -> list[Point]:
    """The points of all curves."""
    return [point for run in runs for each in run.outcomes.values() for point in each.points]


def problems(runs: Iterable[Run]) -> Iterator[str]:
    """What the checks found, with the name of the workload."""
    for run in runs:
        for name, outcome in run.outcomes.items():
            for problem in outcome.problems:
                yield f"{name} on {run.engine}: {problem}"


def _summary(name: str, measured: list[Measured], bare: list[Measured]) -> LoadSummary:
    pairs = list(zip(measured, bare, strict=True))
    return LoadSummary(
        name=name,
        runs=len(measured),
        rate=median(each.rate for each in measured),
        ratio=median(
            each.requests_per_second / yardstick.requests_per_second for each, yardstick in pairs
        ),
        cpu_ratio=_median_of(pairs, _cpu_ratio),
        latencies={
            kind: (
                median(each.latencies[kind][0] for each in measured),
                median(each.latencies[kind][1] for each in measured),
            )
            for kind in measured[0].latencies
        },
        server_ms_per_request=_median_of(measured, lambda each: each.server_ms_per_request),
        server_share=_median_of(measured, lambda each: each.server_share),
        database_share=_median_of(measured, lambda each: each.database_share),
        generator_share=median(each.generator_share for each in measured),
        limited=sum(each.generator_limits for each in measured),
    )


def _cpu_ratio(pair: tuple[Measured, Measured]) -> float | None:
    ours, yardstick = (each.server_ms_per_request for each in pair)
    return yardstick / ours if ours and yardstick else None


def _median_of(values: Iterable[_T], of: Callable[[_T], float | None]) -> float | None:
    known = [found for each in values if (found := of(each)) is not None]
    return median(known) if known else None
