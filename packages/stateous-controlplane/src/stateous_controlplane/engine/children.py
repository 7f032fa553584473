"""Child tokens: which of them entering a parallel state would start, and whether it can.

Entering is possible when every child can start, down through nested first states: its id is short
enough and free, its context fits, one START transition holds (`docs/spec/wire.md` 3.14). What was
planned is then done: all of the children start in the parent's command, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stateous.graph.machine import Flow, ParallelWork, State, Transition
from stateous.json import JsonObject, JsonText
from stateous.limits import MAX_TOKEN_ID
from stateous.names import END, child_token_id
from stateous_controlplane.engine.choosing import Untaken, choose_start
from stateous_controlplane.engine.context import Misfit, starting_context
from stateous_controlplane.engine.draft import Draft


@dataclass(frozen=True, slots=True)
class ChildStart:
    """How one child starts: its id, its flow and context, the state that it enters.

    ``children`` are those of that state, when it is parallel itself.
    """

    token: str
    flow: Flow
    context: JsonText
    target: str
    children: tuple[ChildStart, ...] = ()


def plan_children(
    draft: Draft, parent: str, graph: str, state: State, visit: int, context: JsonText
) -> tuple[ChildStart, ...] | Untaken:
    """The children of ``parent``, with ``context``, in this visit of the parallel ``state``."""
    starts = _plan(draft, parent, graph, state, visit, context)
    if isinstance(starts, Untaken):
        return starts
    # All are asked for, so that those that nobody has looked up are looked up together.
    taken = [start.token for start in _all(starts) if draft.is_taken(start.token)]
    return Untaken(f"the child id {taken[0]!r} is taken") if taken else starts


def _plan(
    draft: Draft, parent: str, graph: str, state: State, visit: int, context: JsonText
) -> tuple[ChildStart, ...] | Untaken:
    work = state.work
    if not isinstance(work, ParallelWork):
        return ()
    inputs = {key: context.value[key] for key in work.inputs if key in context.value}
    machine = draft.situation.machines[graph]
    starts = []
    for name in work.workflows:
        child = child_token_id(parent, state.name, visit, name)
        start = _plan_one(draft, child, graph, machine.flow(name), inputs)
        if isinstance(start, Untaken):
            return start
        starts.append(start)
    return tuple(starts)


def _plan_one(
    draft: Draft, child: str, graph: str, flow: Flow, inputs: JsonObject
) -> ChildStart | Untaken:
    if len(child) > MAX_TOKEN_ID:
        return Untaken(
            f"the child id {child!r} would have {len(child)} characters, "
            f"and {MAX_TOKEN_ID} are allowed"
        )
    context = starting_context(flow, JsonText.of(inputs))
    if isinstance(context, Misfit):
        return Untaken(f"the child workflow {flow.name!r} cannot start: {context.reason}")
    chosen = choose_start(flow, context)
    if not isinstance(chosen, Transition):
        return Untaken(f"the child workflow {flow.name!r} cannot start: {chosen.reason}")
    if chosen.target == END:
        return ChildStart(child, flow, context, chosen.target)
    nested = _plan(draft, child, graph, flow.states[chosen.target], 1, context)
    if isinstance(nested, Untaken):
        return nested
    return ChildStart(child, flow, context, chosen.target, nested)


def _all(starts: Iterable[ChildStart]) -> Iterator[ChildStart]:
    for start in starts:
        yield start
        yield from _all(start.children)
