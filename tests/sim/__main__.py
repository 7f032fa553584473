"""`python -m tests.sim`: run seeds of the simulation, or replay one with its whole trace."""

from __future__ import annotations

import argparse
import sys
import time

from tests.sim.world import ALL_FAULTS, Outcome, simulate


def told(outcome: Outcome) -> str:
    """A failed seed, and how to see it again."""
    return (
        f"seed {outcome.seed} breaks a promise: {outcome.violation}\n"
        f"to replay it: python -m tests.sim --seed {outcome.seed}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seed", type=int, help="replay this one, and print its trace")
    parser.add_argument("--digest", action="store_true", help="print a hash of the trace alone")
    parser.add_argument("--first", type=int, default=0, help="the first of many seeds")
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        outcome = simulate(arguments.seed)
        print(outcome.digest if arguments.digest else "\n".join(outcome.trace))
        if outcome.violation is not None:
            print(told(outcome), file=sys.stderr)
        return outcome.violation is not None
    began, failed, seen = time.process_time(), 0, set()
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        outcome = simulate(seed)
        seen |= outcome.seen
        if outcome.violation is not None:
            failed += 1
            print(told(outcome), flush=True)
    print(f"{arguments.seeds} seeds, {failed} failed, {time.process_time() - began:.0f} s of CPU")
    print(f"faults that never happened: {', '.join(sorted(ALL_FAULTS - seen)) or 'none'}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
