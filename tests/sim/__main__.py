"""Run many seeds of the simulation, or replay one of them with its whole trace."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.sim.world import ALL_FAULTS, Outcome, simulate


def told(outcome: Outcome) -> str:
    """A failed seed, and how to see it again."""
    return (
        f"seed {outcome.seed} breaks a promise: {outcome.violation}\n"
        f"to replay it: .venv/bin/python -m tests.sim --seed {outcome.seed}"
    )


def replay(seed: int, *, digest: bool) -> int:
    """Print the trace of ``seed``, or a hash of it; 1 when it fails."""
    outcome = simulate(seed)
    print(outcome.digest if digest else "\n".join(outcome.trace))
    if outcome.violation is None:
        return 0
    print(told(outcome), file=sys.stderr)
    return 1


def run_many(first: int, seeds: int, jobs: int) -> int:
    """Run ``seeds`` seeds from ``first`` on, in as many processes; 1 when one of them fails."""
    failed = 0
    missing = set(ALL_FAULTS)
    with ProcessPoolExecutor(jobs) as pool:
        for outcome in pool.map(_without_trace, range(first, first + seeds), chunksize=10):
            missing -= outcome.seen
            if outcome.violation is not None:
                failed += 1
                print(told(outcome), flush=True)
    print(f"{seeds} seeds from {first} on, {failed} of them failed")
    print(f"faults that never happened: {', '.join(sorted(missing)) or 'none'}")
    return 1 if failed else 0


def _without_trace(seed: int) -> Outcome:
    outcome = simulate(seed)
    outcome.trace.clear()
    return outcome


def main() -> int:
    """The command; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seed", type=int, help="replay this one")
    parser.add_argument("--digest", action="store_true", help="print a hash of its trace alone")
    parser.add_argument("--first", type=int, default=0, help="the first of many seeds")
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many processes")
    asked = parser.parse_args()
    if asked.seed is not None:
        return replay(asked.seed, digest=asked.digest)
    return run_many(asked.first, asked.seeds, asked.jobs)


if __name__ == "__main__":
    sys.exit(main())
