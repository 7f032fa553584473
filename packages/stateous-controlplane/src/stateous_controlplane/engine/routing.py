"""Routing: which transition an event takes, by the guards of its group (`docs/spec/wire.md` 3.6).

One guard holds: that transition. None: the one without a guard. Neither: the event is refused. Two:
what the flow's policy says; a workflow's token fails. Then the move is refused when the context
with ``into`` applied would no longer fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from stateous.graph.machine import Flow, Group, Policy, Transition, TwoTrue
from stateous.guards import Scope
from stateous.json import JsonText
from stateous.names import END
from stateous_controlplane.engine.context import Misfit, fit_context
from stateous_controlplane.engine.rows import Token


@dataclass(frozen=True, slots=True)
class Taken:
    """The transition that is taken. ``kept`` is the context key that keeps the payload."""

    transition: Transition
    context: JsonText
    kept: str | None = None


@dataclass(frozen=True, slots=True)
class Untaken:
    """Nothing takes the event, or the move is not possible."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Two guards of the group hold."""

    reason: str


Route: TypeAlias = Taken | Untaken | Ambiguous

_NO_COUNTS: Mapping[str, int] = {}


def route(
    flow: Flow, token: Token, event: str, payload: JsonText | None, context: JsonText
) -> Route:
    """Where ``event`` leads ``token``; guards read ``context``, and count this event already."""
    state = flow.states[token.state]
    group = state.groups.get(event)
    named = f"{event!r} from {state.name!r}"
    if group is None:
        return Untaken(f"no transition for {named}")
    counts = token.counts
    if group.guarded:
        counts = {**counts, event: counts.get(event, 0) + 1}
    chosen = _choose(flow.policy, group, named, context, payload, counts)
    if not isinstance(chosen, Transition):
        return chosen
    return _keep(flow, chosen, event, payload, context)


def route_start(flow: Flow, context: JsonText) -> Route:
    """Where a token with ``context`` starts; START's guards read the context only."""
    chosen = _choose(flow.policy, flow.start, "START", context, None, _NO_COUNTS)
    return Taken(chosen, context) if isinstance(chosen, Transition) else chosen


def _choose(
    policy: Policy,
    group: Group,
    named: str,
    context: JsonText,
    payload: JsonText | None,
    counts: Mapping[str, int],
) -> Transition | Untaken | Ambiguous:
    if group.guarded:
        holding = _holding(group, context, payload, counts)
        if len(holding) > 1 and policy.two_true is TwoTrue.FAILS:
            targets = ", ".join(f"to {_shown(each.target)}" for each in holding)
            return Ambiguous(f"{named} matched more than one guard: {targets}")
        if holding:
            return holding[0]
    if group.fallback is None:
        return Untaken(f"no guard of {named} is true")
    return group.fallback


def _holding(
    group: Group, context: JsonText, payload: JsonText | None, counts: Mapping[str, int]
) -> list[Transition]:
    guards = [(each, each.guard) for each in group.guarded if each.guard is not None]
    reads_context = any(guard.context_keys for _, guard in guards)
    scope = Scope(
        context=context.value if reads_context else {},
        payload={} if payload is None else payload.value,
        counts=counts,
        branches=(),
    )
    return [each for each, guard in guards if guard.holds(scope)]


def _keep(
    flow: Flow, transition: Transition, event: str, payload: JsonText | None, context: JsonText
) -> Taken | Untaken:
    shape = flow.events.get(event)
    if shape is None or shape.into is None:
        return Taken(transition, context)
    kept = {} if payload is None else payload.value
    fitted = fit_context(flow, {**context.value, shape.into: kept})
    if isinstance(fitted, Misfit):
        return Untaken(f"the payload of {event!r} cannot be kept: {fitted.reason}")
    return Taken(transition, fitted, shape.into)


def _shown(target: str) -> str:
    return "END" if target == END else repr(target)
