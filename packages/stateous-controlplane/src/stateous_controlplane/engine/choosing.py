"""Choosing a transition by the guards of its group (`docs/spec/wire.md` 3.6).

One guard holds: that transition. None: the one without a guard. Neither: the event is untaken. Two:
the token fails. Events that are offered to a path of states choose by :mod:`.offering`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stateous.graph.machine import Flow, Group, Transition
from stateous.guards import Scope
from stateous.json import JsonText
from stateous.names import END, JOINED
from stateous_controlplane.engine.rows import Token


@dataclass(frozen=True, slots=True)
class Untaken:
    """Nothing takes the event, or the move is not possible."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Two guards of the group hold."""

    reason: str


def choose(
    flow: Flow, token: Token, event: str, payload: JsonText | None, context: JsonText
) -> Transition | Untaken | Ambiguous:
    """The transition of ``event`` from the token's state; guards count this event already.

    A guard on ``joined`` reads the branches of its payload, and no payload.
    """
    group = flow.states[token.state].groups.get(event)
    named = f"{event!r} from {token.state!r}"
    if group is None:
        return Untaken(f"no transition for {named}")
    if not group.guarded:
        return _only(group, named)
    counts = {**token.counts, event: token.counts.get(event, 0) + 1}
    value: dict[str, Any] = {} if payload is None else payload.value
    branches = value["branches"] if event == JOINED else ()
    scope = Scope(_read(group, context), value, counts, branches)
    return _choose(group, named, scope)


def choose_start(flow: Flow, context: JsonText) -> Transition | Untaken | Ambiguous:
    """The transition out of START, whose guards read the context only."""
    if not flow.start.guarded:
        return _only(flow.start, "START")
    scope = Scope(_read(flow.start, context), {}, {}, ())
    return _choose(flow.start, "START", scope)


def _choose(group: Group, named: str, scope: Scope) -> Transition | Untaken | Ambiguous:
    holding = [each for each in group.guarded if each.guard is not None and each.guard.holds(scope)]
    if len(holding) > 1:
        targets = ", ".join(f"to {_shown(each.target)}" for each in holding)
        return Ambiguous(f"{named} matched more than one guard: {targets}")
    return holding[0] if holding else _only(group, named)


def _only(group: Group, named: str) -> Transition | Untaken:
    return group.fallback or Untaken(f"no guard of {named} is true")


def _read(group: Group, context: JsonText) -> Mapping[str, Any]:
    # A context that no guard reads is not decoded.
    read = any(each.guard is not None and each.guard.context_keys for each in group.guarded)
    return context.value if read else {}


def _shown(target: str) -> str:
    return "END" if target == END else repr(target)
