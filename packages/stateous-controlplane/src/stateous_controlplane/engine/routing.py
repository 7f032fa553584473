"""Routing: where an event leads a token, and whether it can go there (`docs/spec/wire.md` 3.6).

The guards choose a transition. The move is refused all the same when the context with ``into``
applied would no longer fit, or when the target is a parallel state whose children cannot start.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from stateous.graph.machine import Flow, ParallelWork, Transition
from stateous.json import JsonText
from stateous.names import END, JOINED
from stateous_controlplane.engine.children import ChildStart, plan_children
from stateous_controlplane.engine.choosing import Ambiguous, Untaken, choose, choose_start
from stateous_controlplane.engine.context import Misfit, fit_context
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.rows import Token


class Taken(NamedTuple):
    """The transition that is taken.

    ``context`` is the token's afterwards, ``kept`` its key that keeps the payload, ``children``
    are those that start when the target is entered.
    """

    transition: Transition
    context: JsonText
    kept: str | None = None
    children: tuple[ChildStart, ...] = ()


Route: TypeAlias = Taken | Untaken | Ambiguous


def route(
    draft: Draft,
    flow: Flow,
    token: Token,
    event: str,
    payload: JsonText | None,
    context: JsonText,
) -> Route:
    """Where ``event`` leads ``token``; guards read ``context``, and count this event already."""
    chosen = choose(flow, token, event, payload, context)
    if not isinstance(chosen, Transition):
        return chosen
    into = _into(flow, token, event)
    if into is not None:
        kept = {} if payload is None else payload.value
        fitted = fit_context(flow, {**context.value, into: kept})
        if isinstance(fitted, Misfit):
            return Untaken(f"the payload of {event!r} cannot be kept: {fitted.reason}")
        context = fitted
    return _with_children(
        draft, flow, chosen, token.token, token.graph, token.visits, context, into
    )


def route_start(draft: Draft, flow: Flow, token: str, graph: str, context: JsonText) -> Route:
    """Where the token ``token`` would start with ``context``."""
    chosen = choose_start(flow, context)
    if not isinstance(chosen, Transition):
        return chosen
    return _with_children(draft, flow, chosen, token, graph, {}, context, None)


def _with_children(
    draft: Draft,
    flow: Flow,
    chosen: Transition,
    token: str,
    graph: str,
    visits: dict[str, int],
    context: JsonText,
    kept: str | None,
) -> Route:
    if chosen.target == END:
        return Taken(chosen, context, kept)
    state = flow.states[chosen.target]
    if not isinstance(state.work, ParallelWork):
        return Taken(chosen, context, kept)
    visit = visits.get(state.name, 0) + 1
    children = plan_children(draft, token, graph, state, visit, context)
    if isinstance(children, Untaken):
        return children
    return Taken(chosen, context, kept, children)


def _into(flow: Flow, token: Token, event: str) -> str | None:
    if event == JOINED:
        work = flow.states[token.state].work
        return work.into if isinstance(work, ParallelWork) else None
    shape = flow.events.get(event)
    return None if shape is None else shape.into
