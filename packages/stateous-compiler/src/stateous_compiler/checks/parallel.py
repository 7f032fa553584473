"""B16 to B19 and B21: children get what they need, and the parent goes on when they end."""

from __future__ import annotations

from collections.abc import Iterator

from stateous.names import ERROR, JOINED
from stateous.workflow import State, Workflow
from stateous_compiler.compilation import Compilation, leaves_start
from stateous_compiler.problems import Problem


def check(compilation: Compilation, flow: Workflow) -> Iterator[Problem]:
    """The problems of the parallel states of a workflow, and of a child's start."""
    for state in flow.states.values():
        if state.parallel:
            yield from _inputs(compilation, flow, state)
            yield from _ways_on(compilation, flow, state)
    for transition in flow.transitions:
        source = transition.source
        if isinstance(source, State) and source.parallel and transition.event == ERROR:
            text = (
                f"'error' from {source.name!r}: a parallel state has no task that could fail;"
                " a failed child is one of the branches of 'joined'"
            )
            yield compilation.problem("error-on-parallel", flow, transition.place, text)
    if flow is not compilation.top:
        starts = [transition for transition in flow.transitions if leaves_start(transition)]
        if starts and all(transition.when is not None for transition in starts):
            text = (
                f"START of {flow.name!r} has guards only: a child must be able to start whatever"
                " its context is, so make one transition the fallback with otherwise=True"
            )
            place = starts[0].place
            yield compilation.problem("start-without-fallback", flow, place, text)


def _inputs(compilation: Compilation, flow: Workflow, state: State) -> Iterator[Problem]:
    context = compilation.context_of(flow)
    for key in dict.fromkeys(state.inputs):
        if context is not None and (why := context.lacks(key)):
            text = f"state {state.name!r}: inputs names {key!r}: {why}"
            yield compilation.problem("unknown-input", flow, state.place, text)
    for child in state.parallel:
        needed = compilation.context_of(child)
        for key in () if needed is None else needed.properties:
            if needed is not None and key in needed.required and key not in state.inputs:
                text = (
                    f"state {state.name!r}: inputs lacks {key!r}, which {needed.name},"
                    f" the context of {child.name!r}, requires"
                )
                yield compilation.problem("missing-input", flow, state.place, text)


def _ways_on(compilation: Compilation, flow: Workflow, state: State) -> Iterator[Problem]:
    if not any(
        transition.source is state and transition.event == JOINED for transition in flow.transitions
    ):
        text = (
            f"state {state.name!r} is parallel and has no transition on 'joined':"
            " a token could never leave it when its children end"
        )
        yield compilation.problem("no-joined", flow, state.place, text)
