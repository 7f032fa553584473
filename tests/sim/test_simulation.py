"""The simulation (`docs/explanation/simulation.md`): seeds over each store, and that they replay."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.sim.__main__ import told
from tests.sim.casts import CASTS
from tests.sim.databases import InMemory, New, in_files, on_server
from tests.sim.world import Outcome, all_faults, simulate
from tests.support.postgres import SharedServer

ROOT = Path(__file__).parents[2]
AT_ONCE = 8
#: Of each cast, how many seeds run over which store.
SEEDS = {"workflows": 200, "charts": 160}
SQLITE_SEEDS = {"workflows": 24, "charts": 24}
POSTGRES_SEEDS = {"workflows": 8, "charts": 8}


def portions(seeds: Mapping[str, int], at_once: int = AT_ONCE) -> list[tuple[str, int]]:
    """Each cast with the first seed of each portion."""
    return [(cast, first) for cast, most in seeds.items() for first in range(0, most, at_once)]


@pytest.fixture(scope="module")
def files() -> Iterator[New]:
    """Makes databases in files."""
    with in_files() as new:
        yield new


@pytest.fixture
def server(postgres_server: SharedServer) -> Iterator[New]:
    """Makes databases on a server."""
    with on_server(postgres_server.empty_database) as new:
        yield new


@pytest.mark.parametrize(("cast", "first"), portions(SEEDS))
def test_every_promise_is_kept_whatever_goes_wrong(cast: str, first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        outcome = simulate(seed, cast=cast)
        assert outcome.violation is None, told(outcome)


@pytest.mark.parametrize(("cast", "first"), portions(SQLITE_SEEDS))
def test_a_run_over_a_file_is_the_same_to_the_last_word(cast: str, first: int, files: New) -> None:
    for seed in range(first, first + AT_ONCE):
        outcome = simulate(seed, files, cast)
        assert outcome.violation is None, told(outcome)
        # Nothing is decided by what only one of the stores does, nor by the order of its rows.
        assert outcome.trace == simulate(seed, cast=cast).trace, told(outcome)


@pytest.mark.parametrize(("cast", "seed"), portions(POSTGRES_SEEDS, at_once=1))
def test_every_promise_is_kept_over_a_server(cast: str, seed: int, server: New) -> None:
    outcome = simulate(seed, server, cast)
    assert outcome.violation is None, told(outcome)


@pytest.mark.parametrize("cast", CASTS)
def test_a_run_over_a_server_is_the_same_each_time(cast: str, server: New) -> None:
    assert simulate(3, server, cast).trace == simulate(3, server, cast).trace


@pytest.mark.parametrize("cast", CASTS)
def test_every_fault_happens_within_some_seeds(cast: str) -> None:
    missing = all_faults(InMemory.faults, cast)
    for seed in range(10_000, 10_200):
        missing -= simulate(seed, cast=cast).seen
        if not missing:
            return
    raise AssertionError(f"never seen: {sorted(missing)}")


def test_the_same_seed_is_the_same_run_and_another_seed_another_one() -> None:
    first, again, other = simulate(7), simulate(7), simulate(8)
    assert first.trace == again.trace
    assert first.digest != other.digest


@pytest.mark.parametrize("cast", CASTS)
@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_command_replays_a_seed_in_another_process(hash_seed: str, cast: str) -> None:
    replayed = subprocess.run(
        [sys.executable, "-m", "tests.sim", "--of", cast, "--seed", "7", "--digest"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert replayed.stdout.strip() == simulate(7, cast=cast).digest


def test_a_failed_seed_is_told_with_the_command_that_replays_it() -> None:
    words = told(Outcome(42, "T-1 was applied twice", []))
    assert "seed 42 breaks a promise: T-1 was applied twice" in words
    assert ".venv/bin/python -m tests.sim --seed 42" in words
    words = told(Outcome(42, "T-1 was applied twice", [], store="sqlite"))
    assert ".venv/bin/python -m tests.sim --seed 42 --store sqlite" in words
    words = told(Outcome(42, "T-1 was applied twice", [], cast="charts"))
    assert ".venv/bin/python -m tests.sim --of charts --seed 42" in words
