"""What a workload comes to: figures by name, the loads behind them, and what its checks found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.load import Measured


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement along a curve: so many rows of this kind in the database, these figures."""

    curve: str
    size: int
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of a workload.

    ``figures`` have the names that :mod:`bench.targets` asks for; a name says its unit. ``problems``
    are sentences, one for each check that failed.
    """

    figures: Mapping[str, float]
    loads: Mapping[str, Measured] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
