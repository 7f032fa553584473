"""A chart as a Mermaid state diagram: a state with others inside is a composite.

Mermaid keeps a state in the composite in which it is first named, so an arrow that crosses the edge
of a composite is written at the end, outside of all. It cannot draw one between a composite and what
is inside it: where a rule of the outer state leads inward, the arrow comes from the dot inside, and
where one leads outward to a state around, it goes to the state that is entered there in the end.
Rules without a target are not drawn, nor are the machines that the chart names.
"""

from __future__ import annotations

from collections.abc import Iterator

from stateous.graph.mermaid import HEAD, INDENT, OUTSIDE, Ids, composite_begin, declared, harmless
from stateous.statechart.document import (
    ChartDocument,
    ChartState,
    FinalSpec,
    Inside,
    MachineSpec,
    StateSpec,
    TransitionSpec,
)
from stateous.statechart.fields import DONE, FAILED


def diagram_text(document: ChartDocument) -> str:
    """The whole text, which ends with a line break."""
    return "".join(f"{line}\n" for line in [*HEAD, *_Drawing(document.top).lines()])


class _Drawing:
    """One diagram on its way; ``_arrows`` are by the state that they are drawn inside of."""

    def __init__(self, chart: MachineSpec) -> None:
        self._chart = chart
        self._ids: dict[str, str] = {}
        self._arrows: dict[str | None, list[str]] = {}
        self._timers = {
            timer.name
            for state in chart.every_state.values()
            if isinstance(state, StateSpec)
            for timer in state.timers
        }

    def lines(self) -> Iterator[str]:
        ids = Ids()
        for name, state in self._chart.every_state.items():
            self._ids[name] = ids.new(name, composite=_is_composite(state))
        for state in self._chart.every_state.values():
            if isinstance(state, StateSpec):
                for event, transitions in state.on.items():
                    for each in transitions:
                        self._arrow(state, event, each)
        inside = Inside(self._chart.initial, self._chart.states)
        return self._level(inside, None, INDENT)

    def _level(self, inside: Inside, outer: str | None, indent: str) -> Iterator[str]:
        for name, state in inside.states.items():
            if isinstance(state, StateSpec) and isinstance(state.work, Inside):
                yield f"{indent}{composite_begin(name, self._ids[name])}"
                yield from self._level(state.work, name, indent + INDENT)
                yield f"{indent}}}"
            else:
                yield f"{indent}{declared(name, self._ids[name])}"
        yield f"{indent}{OUTSIDE} --> {self._ids[inside.initial]}"
        yield from (f"{indent}{arrow}" for arrow in self._arrows.get(outer, ()))
        for name, state in inside.states.items():
            if isinstance(state, FinalSpec):
                label = ": (failed)" if state.end == FAILED else ""
                yield f"{indent}{self._ids[name]} --> {OUTSIDE}{label}"

    def _arrow(self, state: StateSpec, event: str, transition: TransitionSpec) -> None:
        if transition.go is None:
            return
        source, target = state.name, transition.go
        begin = self._ids[source]
        if _is_composite(state) and source in (target, *self._around(target)):
            target = self._leaf(target) if target == source else target
            home, begin = self._chart.around[target], OUTSIDE
        else:
            if target in self._around(source):
                target = self._leaf(target)
            home = self._chart.around[source]
            if self._chart.around[target] != home:
                home = None
        arrow = f"{begin} --> {self._ids[target]}: {self._label(event, transition)}"
        self._arrows.setdefault(home, []).append(arrow)

    def _around(self, name: str) -> Iterator[str]:
        outer = self._chart.around[name]
        while outer is not None:
            yield outer
            outer = self._chart.around[outer]

    def _leaf(self, name: str) -> str:
        """The state that is entered in the end by entering ``name``."""
        state = self._chart.every_state[name]
        while isinstance(state, StateSpec) and isinstance(state.work, Inside):
            state = state.work.states[state.work.initial]
        return state.name

    def _label(self, event: str, transition: TransitionSpec) -> str:
        own = event in (DONE, FAILED) or event in self._timers
        name = f"({event})" if own else event
        return name if transition.when is None else f"{name} [{harmless(transition.when)}]"


def _is_composite(state: ChartState) -> bool:
    return isinstance(state, StateSpec) and isinstance(state.work, Inside)
