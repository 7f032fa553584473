"""Run many seeds of the simulation, or replay one of them with its whole trace."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.sim.casts import CASTS
from tests.sim.databases import New, databases
from tests.sim.world import Outcome, all_faults, simulate

STORES = ("memory", "sqlite", "postgres")


class _Worker:
    """What a process of many makes databases with. The system takes back what it leaves."""

    opened = ExitStack()
    new: New


def told(outcome: Outcome) -> str:
    """A failed seed, and how to see it again."""
    cast = "" if outcome.cast == "workflows" else f" --of {outcome.cast}"
    store = "" if outcome.store == "memory" else f" --store {outcome.store}"
    return (
        f"seed {outcome.seed} breaks a promise: {outcome.violation}\n"
        f"to replay it: .venv/bin/python -m tests.sim{cast} --seed {outcome.seed}{store}"
    )


def replay(seed: int, cast: str, store: str, folder: Path, *, digest: bool) -> int:
    """Print the trace of ``seed``, or a hash of it; 1 when it fails."""
    with databases(store, folder) as new:
        outcome = simulate(seed, new, cast)
    print(outcome.digest if digest else "\n".join(outcome.trace))
    if outcome.violation is None:
        return 0
    print(told(outcome), file=sys.stderr)
    return 1


def run_many(first: int, seeds: int, cast: str, store: str, folder: Path, jobs: int) -> int:
    """Run ``seeds`` seeds from ``first`` on, in ``jobs`` processes; 1 when one of them fails."""
    failed = 0
    seen: set[str] = set()
    could_be: set[str] = set()
    begin = partial(_begin, store, folder)
    with ProcessPoolExecutor(jobs, initializer=begin) as pool:
        run = partial(_without_trace, cast)
        for outcome in pool.map(run, range(first, first + seeds), chunksize=10):
            seen |= outcome.seen
            could_be |= all_faults(outcome.faults, cast)
            if outcome.violation is not None:
                failed += 1
                print(told(outcome), flush=True)
    print(
        f"{seeds} seeds of {cast} from {first} on over the store {store}, {failed} of them failed"
    )
    print(f"faults that never happened: {', '.join(sorted(could_be - seen)) or 'none'}")
    return 1 if failed else 0


def _begin(store: str, folder: Path) -> None:
    _Worker.new = _Worker.opened.enter_context(databases(store, folder))


def _without_trace(cast: str, seed: int) -> Outcome:
    outcome = simulate(seed, _Worker.new, cast)
    outcome.trace.clear()
    return outcome


def main() -> int:
    """The command; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--of", choices=CASTS, default="workflows", help="what it is about")
    parser.add_argument("--store", choices=STORES, default="memory", help="what it runs over")
    parser.add_argument("--seed", type=int, help="replay this one")
    parser.add_argument("--digest", action="store_true", help="print a hash of its trace alone")
    parser.add_argument("--first", type=int, default=0, help="the first of many seeds")
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many processes")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stateous-sim-") as folder:
        if asked.seed is not None:
            return replay(asked.seed, asked.of, asked.store, Path(folder), digest=asked.digest)
        return run_many(asked.first, asked.seeds, asked.of, asked.store, Path(folder), asked.jobs)


if __name__ == "__main__":
    sys.exit(main())
