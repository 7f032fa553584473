"""Choosing a rule: the active states are asked from the leaf outward (`docs/spec/statechart.md` 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

from stateous.graph.machine import Flow, Rule, State
from stateous.json import write_json
from stateous.statechart.expressions import EvaluationError, Expression
from stateous.statechart.tickets import mask
from stateous_controlplane.engine.rows import Token
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.scope import Scope


@dataclass(frozen=True, slots=True)
class Remark:
    """A condition that failed or gave no boolean, which counts as false."""

    state: str
    transition: int
    text: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The rule that takes an event, with its state; None when none does. And what was remarked."""

    found: tuple[State, Rule] | None
    remarks: tuple[Remark, ...] = ()


def choose(key: bytes, token: Token, flow: Flow, event: Occurrence) -> Choice:
    """Which rule of the active states takes ``event``. Nothing is recorded."""
    remarks: list[Remark] = []
    visits = dict(token.configuration)
    for active in reversed(token.configuration):
        state = flow.states[active.state]
        rules = state.rules.get(event.name)
        if rules is None or rules.kind is not event.kind:
            continue
        scope = Scope(key, token, flow, state.path, visits, event)
        for number, rule in enumerate(rules.rules):
            if rule.when is None:
                return Choice((state, rule), tuple(remarks))
            holds = _holds(rule.when, scope)
            if holds is True:
                return Choice((state, rule), tuple(remarks))
            if isinstance(holds, str):
                remarks.append(Remark(state.name, number, holds))
    return Choice(None, tuple(remarks))


def _holds(when: Expression, scope: Scope) -> bool | str:
    """Whether the condition holds; a text says why it counts as false."""
    try:
        value = when.evaluate(scope)
    except EvaluationError as error:
        return f"{when.source}: {error}"
    if isinstance(value, bool):
        return value
    # A part of a ticket's value would pass every mask behind this.
    written = mask(write_json(value))
    shown = written if len(written) <= 60 else written[:59] + "…"
    return f"{when.source}: {shown} is neither true nor false"
