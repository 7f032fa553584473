"""The report: targets and loads, as JSON and as tables in Markdown."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final

from bench.database import EngineName
from bench.machine import Cores
from bench.plot import as_svg
from bench.summary import (
    LoadSummary,
    Run,
    Verdict,
    figures,
    loads,
    median_figures,
    points,
    problems,
    verdicts,
)

_TARGETS: Final = ("what", "target", "measured", "ratio", "")
_LOADS: Final = (
    *("load", "a second", "of bare", "p50 ms", "p99 ms"),
    *("CPU ms", "CPU of bare", "server", "database", "generator"),
)
_TITLES: Final[dict[EngineName, str]] = {"sqlite": "SQLite", "postgres": "Postgres"}


def as_json(runs: Sequence[Run], cores: Cores, *, seconds: float, quick: bool) -> dict[str, Any]:
    """The whole run, with the figures of each of its runs."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "seconds": round(seconds, 1),
        "machine": {
            "architecture": platform.machine(),
            "python": platform.python_version(),
            "cores_apart": cores.apart,
        },
        "databases": {engine: _engine_json(made, quick) for engine, made in _by_engine(runs)},
    }


def as_tables(runs: Sequence[Run], cores: Cores, *, quick: bool) -> str:
    """The run in Markdown: for each database the targets, then what stands behind them.

    A smoke run has none of the sizes that targets are for, and is held to none.
    """
    parts = ["A smoke run: its sizes are not those of the targets."] if quick else []
    for engine, made in _by_engine(runs):
        parts += _tables(engine, made, cores, [] if quick else [*verdicts(made)])
    parts += [f"SELF-CHECK {problem}" for problem in problems(runs)]
    return "\n\n".join(parts) + "\n"


def as_plot(runs: Sequence[Run]) -> str:
    """The curves as SVG; empty when nothing was measured along one."""
    curves = {_TITLES[engine]: points(made) for engine, made in _by_engine(runs)}
    return as_svg(curves) if any(curves.values()) else ""


def _by_engine(runs: Sequence[Run]) -> Iterator[tuple[EngineName, list[Run]]]:
    for engine in _TITLES:
        made = [run for run in runs if run.engine == engine]
        if made:
            yield engine, made


# ── Markdown ────────────────────────────────────────────────────────────


def _tables(
    engine: EngineName, runs: list[Run], cores: Cores, held: list[Verdict]
) -> Iterator[str]:
    yield f"## {_TITLES[engine]}"
    yield _circumstances(runs, cores)
    if held:
        yield _table(_TARGETS, [_verdict_row(each, len(runs)) for each in held])
    summaries = list(loads(runs))
    yield _table(_LOADS, [row for each in summaries for row in _load_rows(each)])
    measured = points(runs)
    for curve in dict.fromkeys(point.curve for point in measured):
        along = [point for point in measured if point.curve == curve]
        names = list(along[0].figures)
        rows = [[f"{p.size:,}", *(_number(p.figures[name]) for name in names)] for p in along]
        yield _table([curve, *names], rows)
    for each in summaries:
        if each.limited:
            yield (
                f"† `{each.name}`: the generator may have been the bottleneck in "
                f"{each.limited} of {each.runs} runs."
            )


def _circumstances(runs: list[Run], cores: Cores) -> str:
    found = {name: _number(value) for name, value in _calibration(runs).items()}
    where = "server on one core, generator and database on another" if cores.apart else "not pinned"
    disk = [
        f"{found['sqlite_commits_a_second']} SQLite commits/s of 3 rows (WAL, FULL)",
        f"{found['syncs_a_second']} fdatasync/s of 4 KB",
    ]
    if "postgres_commits_a_second" in found:
        disk.insert(0, f"{found['postgres_commits_a_second']} Postgres commits/s of 3 rows")
    return (
        f"Median of {len(runs)} run(s), {where}. The machine in the same runs: bare FastAPI route "
        f"{found['bare_route_requests_a_second']} requests/s, {', '.join(disk)}."
    )


def _verdict_row(verdict: Verdict, runs: int) -> list[str]:
    once = " (once)" if len(verdict.values) < runs else ""
    mark = " †" if verdict.limited else ""
    sign = "≥" if verdict.target.better == "more" else "≤"
    return [
        f"{verdict.target.what}{once}",
        f"{sign} {_number(verdict.wanted)}",
        f"{_number(verdict.measured)}{mark}",
        f"{verdict.ratio:.2f}",
        "met" if verdict.met else "**missed**",
    ]


def _load_rows(summary: LoadSummary) -> Iterator[list[str]]:
    """A row for the load; a second kind of request has a row of its own below it."""
    first, *others = summary.latencies.items()
    kind, (p50, p99) = first
    mark = " †" if summary.limited else ""
    yield [
        f"{summary.name} ({kind}){mark}" if others else f"{summary.name}{mark}",
        f"{summary.rate:,.0f}",
        f"{summary.ratio:.2f}",
        f"{p50:.1f}",
        f"{p99:.1f}",
        _shown(summary.server_ms_per_request, ".3f"),
        _shown(summary.cpu_ratio, ".2f"),
        _shown(summary.server_share, ".0%"),
        _shown(summary.database_share, ".0%"),
        f"{summary.generator_share:.0%}",
    ]
    for kind, (p50, p99) in others:
        yield [f"… ({kind})", "", "", f"{p50:.1f}", f"{p99:.1f}", "", "", "", "", ""]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _number(value: float) -> str:
    """Four digits of it, at most."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


# ── JSON ────────────────────────────────────────────────────────────────


def _engine_json(runs: list[Run], quick: bool) -> dict[str, Any]:
    names = dict.fromkeys(name for run in runs for name in run.outcomes)
    return {
        "runs": len(runs),
        "calibration": _rounded(_calibration(runs)),
        "targets": [] if quick else [_verdict_json(verdict) for verdict in verdicts(runs)],
        "figures": {
            name: {
                "median": _rounded(median_figures(runs, name)),
                "runs": [_rounded(figures(run, name)) for run in runs if name in run.outcomes],
            }
            for name in names
        },
        "loads": [_load_json(summary) for summary in loads(runs)],
        "curves": [
            {"curve": point.curve, "size": point.size, **_rounded(point.figures)}
            for point in points(runs)
        ],
        "problems": list(problems(runs)),
    }


def _calibration(runs: list[Run]) -> dict[str, float]:
    found = [run.calibration for run in runs]
    medians = {
        "bare_route_requests_a_second": median(each.bare_route.rate for each in found),
        "sqlite_commits_a_second": median(each.sqlite_commits for each in found),
        "syncs_a_second": median(each.syncs for each in found),
    }
    postgres = [each.postgres_commits for each in found if each.postgres_commits is not None]
    return {**medians, "postgres_commits_a_second": median(postgres)} if postgres else medians


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "what": verdict.target.what,
        "workload": verdict.target.workload,
        "figure": verdict.target.figure,
        "better": verdict.target.better,
        "target": verdict.wanted,
        "measured": _round(verdict.measured),
        "ratio": _round(verdict.ratio),
        "met": verdict.met,
        "runs": [_round(value) for value in verdict.values],
        "runs_limited_by_generator": verdict.limited,
    }


def _load_json(summary: LoadSummary) -> dict[str, Any]:
    return {
        "name": summary.name,
        "runs": summary.runs,
        "a_second": _round(summary.rate),
        "of_the_bare_route": _round(summary.ratio),
        "cpu_of_the_bare_route": _round(summary.cpu_ratio),
        "latency_ms": {
            kind: {"p50": _round(p50), "p99": _round(p99)}
            for kind, (p50, p99) in summary.latencies.items()
        },
        "server_cpu_ms_a_request": _round(summary.server_ms_per_request),
        "server_share": _round(summary.server_share),
        "database_share": _round(summary.database_share),
        "generator_share": _round(summary.generator_share),
        "runs_limited_by_generator": summary.limited,
    }


def _rounded(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _round(value) for name, value in values.items()}


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
