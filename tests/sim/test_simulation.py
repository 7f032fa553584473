"""The simulation (`docs/explanation/simulation.md`): 200 seeds, and that each of them replays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.__main__ import told
from tests.sim.world import ALL_FAULTS, Outcome, simulate

ROOT = Path(__file__).parents[2]
SEEDS = 200
AT_ONCE = 10


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_every_promise_is_kept_whatever_goes_wrong(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        outcome = simulate(seed)
        assert outcome.violation is None, told(outcome)


def test_every_fault_happens_within_some_seeds() -> None:
    missing = set(ALL_FAULTS)
    for seed in range(10_000, 10_200):
        missing -= simulate(seed).seen
        if not missing:
            return
    raise AssertionError(f"never seen: {sorted(missing)}")


def test_the_same_seed_is_the_same_run_and_another_seed_another_one() -> None:
    first, again, other = simulate(7), simulate(7), simulate(8)
    assert first.trace == again.trace
    assert first.digest != other.digest


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_command_replays_a_seed_in_another_process(hash_seed: str) -> None:
    replayed = subprocess.run(
        [sys.executable, "-m", "tests.sim", "--seed", "7", "--digest"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert replayed.stdout.strip() == simulate(7).digest


def test_a_failed_seed_is_told_with_the_command_that_replays_it() -> None:
    words = told(Outcome(42, "T-1 was applied twice", []))
    assert "seed 42 breaks a promise: T-1 was applied twice" in words
    assert ".venv/bin/python -m tests.sim --seed 42" in words
