"""`python -m bench`: run the benchmark; JSON goes to stdout, progress and the table to stderr.

Exit code 1 when a self-check failed, a server did, or (`--quick`) the floor was not reached.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvloop

from bench.load import Unexpected
from bench.machine import Cores, divide_cores, pin
from bench.report import as_json, as_table, summarise
from bench.rounds import FULL, QUICK, Round, run_round
from bench.server import ServerFailed

_ROUNDS: Final = 3
#: A smoke run's only bar: below this ratio to the bare route something is broken, not slow.
_FLOOR: Final = 0.05


@dataclass(frozen=True, slots=True)
class _Options:
    quick: bool
    rounds: int
    folder: Path


def main() -> int:
    """Run, print, and return the exit code."""
    options = _options()
    cores = divide_cores()
    pin(0, cores.generator)
    began = time.monotonic()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            rounds = runner.run(_run(options, cores, began))
    except* (ServerFailed, Unexpected) as failed:
        _say(f"error: {_first(failed)}")
        rounds = []
    if not rounds:
        return 1
    seconds = time.monotonic() - began
    _say("\n" + as_table(rounds, cores))
    print(json.dumps(as_json(rounds, cores, seconds=seconds, quick=options.quick), indent=1))
    summaries = summarise(rounds)
    wrong = any(summary.problems for summary in summaries)
    broken = [each.name for each in summaries if options.quick and each.ratio < _FLOOR]
    for name in broken:
        _say(f"error: {name}: under {_FLOOR} of the bare route's requests a second")
    return 1 if wrong or broken else 0


async def _run(options: _Options, cores: Cores, began: float) -> list[Round]:
    made: list[Round] = []

    def progress(what: str) -> None:
        seconds = time.monotonic() - began
        _say(f"{seconds:5.0f} s  round {len(made) + 1}/{options.rounds}  {what}")

    sizes = QUICK if options.quick else FULL
    while len(made) < options.rounds:
        made.append(await run_round(sizes, cores, options.folder, progress))
    return made


def _options() -> _Options:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of some seconds")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"how many; without it {_ROUNDS}")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(),
        help="where the databases are made, which decides the disk; without it the current folder",
    )
    given = parser.parse_args()
    rounds = given.rounds or (1 if given.quick else _ROUNDS)
    return _Options(given.quick, rounds, given.folder.resolve())


def _first(failed: BaseExceptionGroup[BaseException]) -> BaseException:
    """One of them says it: the workers of a workload mostly fail together."""
    error = failed.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
