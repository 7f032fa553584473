"""How much work each workload does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    """One run's worth."""

    calibration_requests: int
    #: For each of the disk's figures.
    calibration_seconds: float
    #: Tokens that supervisors work through; each takes two task cycles.
    tokens: int
    tokens_alone: int
    starts: int
    fires: int
    reads: int
    wakeups: int
    timers: int
    #: Queued tasks and ended tokens along the curves; the first is what the others are held to.
    queued: tuple[int, ...]
    ended: tuple[int, ...]
    #: Entries of a long ledger.
    entries: int
    #: Requests of each kind at each point of a curve, in turns with the other points.
    samples: int
    #: Tokens for a point's throughput.
    burst: int
    #: Cycles after which memory is looked at; once more after as many again.
    memory_cycles: int
    #: So long the control plane has had nothing to do when its memory is looked at, in seconds.
    settle: float
    #: Tokens for each kind of routine of a real supervisor; each takes two cycles.
    supervised: int
    fairness_tokens: int


FULL: Final = Sizes(
    calibration_requests=20_000,
    calibration_seconds=1.0,
    tokens=4_000,
    tokens_alone=400,
    starts=10_000,
    fires=5_000,
    reads=20_000,
    wakeups=500,
    timers=2_000,
    queued=(1_000, 10_000, 100_000),
    ended=(0, 10_000, 100_000, 1_000_000),
    entries=50_000,
    samples=400,
    burst=2_000,
    memory_cycles=200_000,
    settle=2.0,
    supervised=1_500,
    fairness_tokens=1_500,
)

QUICK: Final = Sizes(
    calibration_requests=1_000,
    calibration_seconds=0.2,
    tokens=100,
    tokens_alone=10,
    starts=200,
    fires=100,
    reads=200,
    wakeups=10,
    timers=100,
    queued=(100, 1_000),
    ended=(0, 1_000),
    entries=400,
    samples=10,
    burst=50,
    memory_cycles=200,
    settle=0.2,
    supervised=20,
    fairness_tokens=150,
)
