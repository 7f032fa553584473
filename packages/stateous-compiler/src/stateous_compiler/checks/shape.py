"""B3 to B7: a way in, a way out, a way to every state, and fallbacks that say so."""

from __future__ import annotations

from collections.abc import Iterator

from stateous.workflow import END, START, State, Terminal, Transition, Workflow
from stateous_compiler.compilation import Compilation, group_of, leaves_start, spelled
from stateous_compiler.problems import Problem


def no_states(compilation: Compilation, flow: Workflow) -> Problem:
    """B3, which leaves nothing more to say of this workflow."""
    text = f"workflow {flow.name!r} has no states"
    return compilation.problem("no-states", flow, flow.place, text)


def check(compilation: Compilation, flow: Workflow) -> Iterator[Problem]:
    """The problems of the ways through a workflow."""
    if not any(leaves_start(transition) for transition in flow.transitions):
        text = f"workflow {flow.name!r} has no transition from START, so no token of it can begin"
        yield compilation.problem("no-start", flow, flow.place, text)
    if not any(transition.target == END for transition in flow.transitions):
        text = f"workflow {flow.name!r} has no transition into END, so no token of it can complete"
        yield compilation.problem("no-end", flow, flow.place, text)
    reached = _reached(flow)
    for state in flow.states.values():
        if state not in reached:
            text = f"state {state.name!r} cannot be reached from START"
            yield compilation.problem("unreachable-state", flow, state.place, text)
    yield from _unmarked(compilation, flow)


def _reached(flow: Workflow) -> set[State | Terminal]:
    reached: set[State | Terminal] = {START}
    waiting: list[State | Terminal] = [START]
    leaving: dict[State | Terminal, list[State | Terminal]] = {}
    for transition in flow.transitions:
        leaving.setdefault(transition.source, []).append(transition.target)
    while waiting:
        for target in leaving.get(waiting.pop(), ()):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def _unmarked(compilation: Compilation, flow: Workflow) -> Iterator[Problem]:
    guarded: dict[tuple[State | Terminal, str], Transition] = {}
    for transition in flow.transitions:
        if transition.when is not None:
            guarded.setdefault((transition.source, transition.event), transition)
    for transition in flow.transitions:
        first = guarded.get((transition.source, transition.event))
        if first is not None and transition.when is None and not transition.otherwise:
            text = (
                f"{group_of(transition)}: this transition is taken when no guard is true, such as"
                f" {spelled(first)} ({compilation.at(first.place)}); if that is meant, write otherwise=True"
            )
            yield compilation.problem("unmarked-fallback", flow, transition.place, text)
