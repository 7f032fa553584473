"""Warnings without proof: states without a way to END, events and timeouts that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from stateous.names import TIMEOUT
from stateous.workflow import END, State, Terminal, Workflow
from stateous_compiler.compilation import Compilation
from stateous_compiler.problems import Problem


def check(compilation: Compilation, flow: Workflow) -> Iterator[Problem]:
    """The warnings of one workflow."""
    ending = _ending(flow)
    for state in flow.states.values():
        if state not in ending:
            text = (
                f"END cannot be reached from state {state.name!r}:"
                " a token that enters it can never complete"
            )
            yield compilation.problem("dead-end", flow, state.place, text)
    named = {transition.event for transition in flow.transitions}
    for event in flow.events.values():
        if event.name not in named:
            text = f"no transition is on event {event.name!r}: every fire of it is refused"
            yield compilation.problem("unused-event", flow, event.place, text)
    for transition in flow.transitions:
        source = transition.source
        if isinstance(source, State) and transition.event == TIMEOUT and source.timeout is None:
            text = (
                f"'timeout' from {source.name!r}: the state has no timeout=,"
                " so this transition is never taken"
            )
            yield compilation.problem("no-timeout", flow, transition.place, text)


def _ending(flow: Workflow) -> set[State | Terminal]:
    """The states from which END can be reached over transitions, guards ignored."""
    coming: dict[State | Terminal, list[State | Terminal]] = {}
    for transition in flow.transitions:
        coming.setdefault(transition.target, []).append(transition.source)
    ending: set[State | Terminal] = {END}
    waiting: list[State | Terminal] = [END]
    while waiting:
        for source in coming.get(waiting.pop(), ()):
            if source not in ending:
                ending.add(source)
                waiting.append(source)
    return ending
