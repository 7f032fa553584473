"""The report: medians over the rounds, as JSON and as a table in Markdown."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final, TypeVar

from bench.load import Measured
from bench.machine import Cores
from bench.rounds import Round

_COLUMNS: Final = (
    *("workload", "a second", "ratio", "p50 ms", "p99 ms"),
    *("CPU ms", "CPU ratio", "server", "generator"),
)

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Summary:
    """One workload over all rounds: medians, of ``ratios`` too, which are taken in each round.

    ``ratio`` is the workload's requests per second over those of the bare route. ``cpu_ratio`` is
    the bare route's CPU time for a request over the workload's: what the ratio would be if nothing
    but the server's core counted. Other work on the machine moves it less.
    """

    name: str
    rate: float
    ratio: float
    cpu_ratio: float | None
    latencies: dict[str, tuple[float, float]]
    server_ms_per_request: float | None
    server_share: float | None
    generator_share: float
    #: In how many rounds the generator may have been the bottleneck.
    generator_limits: int
    problems: list[str]


def summarise(rounds: list[Round]) -> list[Summary]:
    """The bare route first, then the workloads in their order."""
    bare = [each.calibration.bare_route for each in rounds]
    made = [_summary("bare FastAPI route", bare, bare, [])]
    for lines in zip(*(each.lines for each in rounds), strict=True):
        problems = [problem for line in lines for problem in line.problems]
        made.append(_summary(lines[0].name, [line.measured for line in lines], bare, problems))
    return made


def as_json(rounds: list[Round], cores: Cores, *, seconds: float, quick: bool) -> dict[str, Any]:
    """The whole run, each round with it."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "seconds": round(seconds, 1),
        "machine": {
            "architecture": platform.machine(),
            "python": platform.python_version(),
            "cores_apart": cores.apart,
        },
        "calibration": {
            "bare_route_requests_a_second": _round(
                median(each.calibration.bare_route.rate for each in rounds)
            ),
            "sqlite_commits_a_second": _round(median(each.calibration.commits for each in rounds)),
            "syncs_a_second": _round(median(each.calibration.syncs for each in rounds)),
        },
        "workloads": [_summary_json(summary) for summary in summarise(rounds)],
        "rounds": [
            {
                "bare_route": _measured_json(each.calibration.bare_route),
                "sqlite_commits_a_second": _round(each.calibration.commits),
                "syncs_a_second": _round(each.calibration.syncs),
                "workloads": {line.name: _measured_json(line.measured) for line in each.lines},
            }
            for each in rounds
        ],
    }


def as_table(rounds: list[Round], cores: Cores) -> str:
    """The run in Markdown."""
    commits = median(each.calibration.commits for each in rounds)
    syncs = median(each.calibration.syncs for each in rounds)
    pinned = "server and generator on a core each" if cores.apart else "nothing pinned"
    lines = [
        f"Medians of {len(rounds)} rounds; {pinned}. Disk: {commits:,.0f} SQLite commits/s of 3 rows"
        f" (WAL, FULL), {syncs:,.0f} fdatasync/s of 4 KB.",
        "",
        _row(_COLUMNS),
        _row(["---"] + ["---:"] * (len(_COLUMNS) - 1)),
    ]
    summaries = summarise(rounds)
    lines += [row for summary in summaries for row in _rows(summary)]
    lines += [
        f"\n`{summary.name}`: the generator may have been the bottleneck in "
        f"{summary.generator_limits} rounds."
        for summary in summaries
        if summary.generator_limits
    ]
    lines += [
        f"\nSELF-CHECK `{summary.name}`: {problem}"
        for summary in summaries
        for problem in summary.problems
    ]
    return "\n".join(lines) + "\n"


def _summary(
    name: str, measured: list[Measured], bare: list[Measured], problems: list[str]
) -> Summary:
    kinds = measured[0].latencies
    return Summary(
        name=name,
        rate=median(each.rate for each in measured),
        ratio=median(
            each.requests_per_second / yardstick.requests_per_second
            for each, yardstick in zip(measured, bare, strict=True)
        ),
        cpu_ratio=_median_of(zip(measured, bare, strict=True), _cpu_ratio),
        latencies={
            kind: (
                median(each.latencies[kind][0] for each in measured),
                median(each.latencies[kind][1] for each in measured),
            )
            for kind in kinds
        },
        server_ms_per_request=_median_of(measured, lambda each: each.server_ms_per_request),
        server_share=_median_of(measured, lambda each: each.server_share),
        generator_share=median(each.generator_share for each in measured),
        generator_limits=sum(each.generator_limits for each in measured),
        problems=problems,
    )


def _cpu_ratio(pair: tuple[Measured, Measured]) -> float | None:
    ours, yardstick = (each.server_ms_per_request for each in pair)
    return yardstick / ours if ours and yardstick else None


def _median_of(values: Iterable[_T], of: Callable[[_T], float | None]) -> float | None:
    known = [found for each in values if (found := of(each)) is not None]
    return median(known) if known else None


def _rows(summary: Summary) -> Iterator[str]:
    """A row for the workload; a second kind of request has a row of its own below it."""
    first, *others = summary.latencies.items()
    several = bool(others)
    kind, (p50, p99) = first
    yield _row(
        [
            f"{summary.name} ({kind})" if several else summary.name,
            f"{summary.rate:,.0f}",
            f"{summary.ratio:.2f}",
            f"{p50:.1f}",
            f"{p99:.1f}",
            _shown(summary.server_ms_per_request, ".3f"),
            _shown(summary.cpu_ratio, ".2f"),
            _shown(summary.server_share, ".0%"),
            f"{summary.generator_share:.0%}",
        ]
    )
    for kind, (p50, p99) in others:
        yield _row([f"… ({kind})", "", "", f"{p50:.1f}", f"{p99:.1f}", "", "", "", ""])


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _summary_json(summary: Summary) -> dict[str, Any]:
    return {
        "name": summary.name,
        "a_second": _round(summary.rate),
        "ratio": _round(summary.ratio),
        "cpu_ratio": _round(summary.cpu_ratio),
        "latency_ms": _latencies_json(summary.latencies),
        "server_cpu_ms_a_request": _round(summary.server_ms_per_request),
        "server_share": _round(summary.server_share),
        "generator_share": _round(summary.generator_share),
        "generator_limits_in_rounds": summary.generator_limits,
        "problems": summary.problems,
    }


def _measured_json(measured: Measured) -> dict[str, Any]:
    return {
        "a_second": _round(measured.rate),
        "requests_a_second": _round(measured.requests_per_second),
        "operations": measured.operations,
        "seconds": _round(measured.seconds),
        "latency_ms": _latencies_json(measured.latencies),
        "server_share": _round(measured.server_share),
        "generator_share": _round(measured.generator_share),
    }


def _latencies_json(latencies: dict[str, tuple[float, float]]) -> dict[str, Any]:
    return {
        kind: {"p50": _round(p50), "p99": _round(p99)} for kind, (p50, p99) in latencies.items()
    }


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
