"""Problems and warnings of a chart, with the lines that they are about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stateous_compiler.statechart.nodes import Place


@dataclass(frozen=True, slots=True)
class ChartProblem:
    """One problem or warning (`docs/spec/statechart.md` 1.5). Prints as ``<place>: <text>``.

    ``where`` is the place in the chart, as ``states.waiting.timers.t``; empty for the whole file.
    """

    code: str
    place: Place
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


def in_order(problems: Iterable[ChartProblem]) -> tuple[ChartProblem, ...]:
    """Each problem once: file by file in the order in which they were met, then by line."""
    once = dict.fromkeys(problems)
    files = {file: number for number, file in enumerate(dict.fromkeys(p.place.file for p in once))}
    return tuple(sorted(once, key=lambda each: (files[each.place.file], each.place.line)))
