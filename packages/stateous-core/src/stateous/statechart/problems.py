"""What is wrong with a chart's definition: one value per problem (`docs/spec/statechart.md` 1.5)."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """One refusal of a definition.

    ``where`` is the place in the chart, as ``states.waiting.timers.t``; empty for the whole. A
    compiler that knows the file adds its own place.
    """

    code: str
    where: str
    text: str
