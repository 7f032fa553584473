"""B8 and coverage: of the guards of one group at most one is true, and mostly one (4, 5.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from pydantic import BaseModel

from stateous.guards import Guard
from stateous.names import OWN_EVENTS
from stateous.workflow import State, Terminal, Transition, Workflow
from stateous_compiler.checks import reads
from stateous_compiler.compilation import Compilation, group_of, leaves_start, spelled
from stateous_compiler.exclusive.answers import Example, Never, Question, Undecided
from stateous_compiler.exclusive.decide import decide
from stateous_compiler.exclusive.examples import written
from stateous_compiler.exclusive.world import Record, World
from stateous_compiler.problems import Problem


def check(compilation: Compilation, flow: Workflow) -> Iterator[Problem]:
    """The pairs of guards that can be true together, or may be for all that is known."""
    worlds = _Worlds(compilation, flow)
    before: dict[tuple[State | Terminal, str], list[tuple[Transition, Guard]]] = {}
    for transition in flow.transitions:
        guard = transition.when
        if guard is None or any(reads.problems_of(compilation, flow, transition)):
            continue
        group = before.setdefault((transition.source, transition.event), [])
        for earlier, other in group:
            problem = _together(compilation, flow, worlds, (earlier, other), (transition, guard))
            if problem is not None:
                yield problem
        group.append((transition, guard))


def check_coverage(compilation: Compilation, flow: Workflow) -> Iterator[Problem]:
    """The groups in which no guard may be true, and the guards that never are."""
    worlds = _Worlds(compilation, flow)
    groups: dict[tuple[State | Terminal, str], list[Transition]] = {}
    for transition in flow.transitions:
        groups.setdefault((transition.source, transition.event), []).append(transition)
    for group in groups.values():
        guards = [transition.when for transition in group if transition.when is not None]
        if len(guards) == len(group) and (text := _uncovered(worlds.of(group[0]), guards)):
            sentence = f"{group_of(group[0])}: {text}{_consequence(group[0])}"
            yield compilation.problem("uncovered", flow, group[0].place, sentence)
    for transition in flow.transitions:
        guard = transition.when
        if guard is not None and not guard.branches:
            answer = decide(Question((guard,)), worlds.of(transition))
            if isinstance(answer, Never):
                text = (
                    f"{group_of(transition)}: {spelled(transition)} is never true,"
                    " so this transition is never taken"
                )
                yield compilation.problem("never-true", flow, transition.place, text)


class _Worlds:
    """What the groups of one workflow can read. Each model's validator is made once."""

    def __init__(self, compilation: Compilation, flow: Workflow) -> None:
        self._compilation = compilation
        self._flow = flow
        self._records: dict[type[BaseModel], Record] = {}

    def of(self, transition: Transition) -> World:
        """What the group of a transition reads."""
        event = self._flow.events.get(transition.event)
        return World(
            self._compilation.models.schemas,
            transition.event,
            self._record(self._flow.context),
            self._record(event.payload if event is not None else None),
        )

    def _record(self, model: type[BaseModel] | None) -> Record | None:
        if model is None:
            return None
        if model not in self._records:
            models = self._compilation.models
            shape = models.shapes[model]
            self._records[model] = Record(models.schemas, shape.properties, shape.required)
        return self._records[model]


def _together(
    compilation: Compilation,
    flow: Workflow,
    worlds: _Worlds,
    earlier: tuple[Transition, Guard],
    later: tuple[Transition, Guard],
) -> Problem | None:
    (first, one), (second, other) = earlier, later
    world = worlds.of(second)
    if not world.is_known(one, other):  # a model without schema is a problem of its own
        return None
    pair = (
        f"{group_of(second)}: {spelled(first)} ({compilation.at(first.place)})"
        f" and {spelled(second)}"
    )
    answer = decide(Question((one, other)), world)
    match answer:
        case Never():
            return None
        case Example(values=values):
            when = f", e.g. when {written(answer)}" if values else ", always"
            text = f"{pair} can both be true{when}"
            return compilation.problem("guards-overlap", flow, second.place, text)
        case Undecided(reason):
            text = (
                f"{pair} cannot be proven to exclude each other: {reason}; compare with literals,"
                " or keep one guard and mark the other transition otherwise=True"
            )
            return compilation.problem("guards-unproven", flow, second.place, text)
        case _:
            assert_never(answer)


def _uncovered(world: World, guards: list[Guard]) -> str | None:
    """When no guard of a group is true, as a clause; None when that never is, or is not known."""
    if any(guard.branches for guard in guards):
        return "it cannot be proven that one of the guards is always true; when none is, "
    answer = decide(Question((), tuple(guards)), world)
    if not isinstance(answer, Example):
        return None
    return f"no guard is true {f'when {written(answer)}' if answer.values else 'ever'}; then "


def _consequence(transition: Transition) -> str:
    if leaves_start(transition):
        return "the start is refused"
    return "the token fails" if transition.event in OWN_EVENTS else "the event is refused"
