"""The plot: throughput and latency along the curves, as SVG written by hand.

Sizes stand on a logarithmic axis, of which none is the left end. Every panel begins at 0: a curve
that is flat looks flat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10
from typing import Final

from bench.outcome import Point

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 360, 200, 64, 64, 84
_INKS: Final = ("#1b6ca8", "#c8553d", "#3a7d44", "#7a4f9a")
_FONT: Final = 'font-family="system-ui, sans-serif"'
_STEPS: Final = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class _Panel:
    """One diagram: lines over the sizes of one curve."""

    title: str
    unit: str
    #: What the lines are called, and their points: size, value.
    lines: dict[str, list[tuple[int, float]]]

    @property
    def sizes(self) -> list[int]:
        return sorted({size for line in self.lines.values() for size, _ in line})

    @property
    def top(self) -> float:
        """A round number above everything."""
        highest = max(value for line in self.lines.values() for _, value in line) * 1.1 or 1.0
        power = 10.0 ** floor(log10(highest))
        return next(step * power for step in _STEPS if step * power >= highest)

    def x(self, size: int) -> float:
        """Where ``size`` stands; a size of 0 has a decade of its own at the left."""
        sizes = self.sizes
        low, high = log10(sizes[0] or _first(sizes) / 10), log10(sizes[-1])
        at = log10(size) if size else low
        return _WIDTH * (at - low) / (high - low or 1.0)

    def y(self, value: float) -> float:
        return _HEIGHT * (1 - value / self.top)


def as_svg(curves: Mapping[str, Sequence[Point]]) -> str:
    """A row of two panels for each curve and database; ``curves`` has titles of databases."""
    rows = [
        row
        for database, points in curves.items()
        for name in dict.fromkeys(point.curve for point in points)
        if len(row := _panels(database, name, [p for p in points if p.curve == name]))
    ]
    width = 2 * (_LEFT + _WIDTH) + 40
    height = len(rows) * (_HEIGHT + _GAP) + _TOP
    drawn = "\n".join(
        f'<g transform="translate({_LEFT + column * (_LEFT + _WIDTH)} '
        f'{_TOP + number * (_HEIGHT + _GAP)})">\n' + "\n".join(_draw(panel)) + "\n</g>"
        for number, row in enumerate(rows)
        for column, panel in enumerate(row)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_FONT} '
        f'font-size="11">\n<rect width="{width}" height="{height}" fill="#ffffff"/>\n{drawn}\n</svg>\n'
    )


def _panels(database: str, curve: str, points: Sequence[Point]) -> list[_Panel]:
    """Throughput, and latency. Nothing for a single point."""
    if len(points) < 2:
        return []
    rates, times = {}, {}
    for name in points[0].figures:
        line = [(point.size, point.figures[name]) for point in points]
        if name.endswith(" p50 ms"):
            times[name.removesuffix(" p50 ms")] = line
        else:
            rates[name] = line
    return [
        _Panel(f"{database}: throughput, 16 callers", curve, rates),
        _Panel(f"{database}: p50 in ms, one caller", curve, times),
    ]


def _draw(panel: _Panel) -> Iterator[str]:
    yield _text(0, -26, panel.title, "start", weight="600")
    for part in range(5):
        value = panel.top * part / 4
        y = panel.y(value)
        yield f'<line x1="0" y1="{y:.1f}" x2="{_WIDTH}" y2="{y:.1f}" stroke="#e3e3e3"/>'
        yield _text(-8, y + 4, f"{value:,.4g}" if panel.top < 100 else f"{value:,.0f}", "end")
    for size in panel.sizes:
        yield _text(panel.x(size), _HEIGHT + 16, f"{size:,}", "middle")
    yield _text(_WIDTH / 2, _HEIGHT + 32, panel.unit, "middle")
    for number, (name, line) in enumerate(panel.lines.items()):
        ink = _INKS[number % len(_INKS)]
        path = " ".join(f"{panel.x(size):.1f},{panel.y(value):.1f}" for size, value in line)
        yield f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="2"/>'
        for size, value in line:
            yield f'<circle cx="{panel.x(size):.1f}" cy="{panel.y(value):.1f}" r="3" fill="{ink}"/>'
        yield _text(number * 84, -8, f"— {name}", "start", ink=ink)


def _text(
    x: float, y: float, text: str, anchor: str, *, ink: str = "#333333", weight: str = "400"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{ink}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )


def _first(sizes: list[int]) -> int:
    """The smallest size that is not 0."""
    return next(size for size in sizes if size)
