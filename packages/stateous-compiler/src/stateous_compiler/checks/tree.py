"""A1 and A2: no workflow runs itself, and no two share a name."""

from __future__ import annotations

from collections.abc import Iterator

from stateous.workflow import State, Workflow
from stateous_compiler.compilation import Compilation
from stateous_compiler.problems import Problem
from stateous_compiler.tree import children_of


def check(compilation: Compilation) -> Iterator[Problem]:
    """The problems of the tree of workflows."""
    for state, child in _circles(compilation.top):
        text = f"the state {state.name!r} runs {child.name!r}, inside which it is itself"
        yield compilation.problem("self-nesting", state.workflow, state.place, text)
    first: dict[str, Workflow] = {}
    told = set()
    for flow in compilation.flows:
        earlier = first.setdefault(flow.name, flow)
        if earlier is not flow and flow.name not in told:
            told.add(flow.name)
            text = f"there is another workflow {flow.name!r}, at {compilation.at(earlier.place)}"
            yield compilation.problem("workflow-name-twice", flow, flow.place, text)


def _circles(top: Workflow) -> Iterator[tuple[State, Workflow]]:
    """The states that close a circle, each with the workflow that it enters again."""
    path = {top}
    done = set()
    stack = [(top, children_of(top))]
    while stack:
        flow, rest = stack[-1]
        state, child = next(rest, (None, None))
        if state is None or child is None:
            stack.pop()
            path.discard(flow)
            done.add(flow)
        elif child in path:
            yield state, child
        elif child not in done:
            path.add(child)
            stack.append((child, children_of(child)))
