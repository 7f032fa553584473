"""Starting a token (`docs/spec/wire.md` 2.1, 3.4)."""

from __future__ import annotations

from stateous.graph.machine import Machine, ParallelWork
from stateous.names import is_token_id
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.commands import Start
from stateous_controlplane.engine.context import Misfit, starting_context
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.enter import begin, new_token
from stateous_controlplane.engine.family import Situation, Vicinity
from stateous_controlplane.engine.replies import Reply, TokenReply
from stateous_controlplane.engine.routing import Taken, route_start
from stateous_controlplane.engine.rows import Token


def start(draft: Draft, command: Start) -> Reply:
    """Start a top token, or answer the one that has the id already."""
    if not is_token_id(command.token):
        return _bad_id(
            f"{command.token[:130]!r} is no token id: write 1 to 128 of the characters "
            "A-Z a-z 0-9 . _ -, the first a letter or digit"
        )
    existing = draft.family.tokens.get(command.token)
    if existing is not None and existing.run is None:
        return TokenReply(existing)
    situation = draft.situation
    refusal = _already_used(command.token, situation.vicinity, existing)
    parent = kept_for_a_child(command.token, situation)
    if refusal is None and parent is not None:
        sentence = f"{command.token!r} is kept for a child of the token {parent!r}"
        refusal = _bad_id(sentence)
    if refusal is not None:
        return refusal
    if situation.served is None:
        return Refusal(
            Code.NO_WORKFLOW,
            "no workflow is served here; start the control plane with `stateous serve GRAPH`",
        )
    return _begin(draft, situation.served, command)


def _begin(draft: Draft, machine: Machine, command: Start) -> Reply:
    flow = machine.top
    context = starting_context(flow, command.context)
    if isinstance(context, Misfit):
        return Refusal(Code.INVALID_CONTEXT, context.reason)
    token = command.token
    chosen = route_start(draft, flow, token, machine.checksum, context)
    if not isinstance(chosen, Taken):
        return Refusal(Code.INVALID_CONTEXT, f"{flow.name}: {chosen.reason}")
    row = new_token(draft, token, machine.checksum, context)
    begin(draft, row, flow, chosen.transition.target, chosen.children)
    return TokenReply(draft.seen(token), created=True)


def possible_parent(token: str) -> str | None:
    """The id of which ``token`` could be a child's: what stands before its last three dots."""
    parts = token.rsplit(".", 3)
    return parts[0] if len(parts) == 4 else None


def _already_used(token: str, vicinity: Vicinity, existing: Token | None) -> Refusal | None:
    if vicinity.taken_by is None and existing is None:
        return None
    if existing is not None or vicinity.taken_by == token:
        return _bad_id(f"{token!r} is the id of a run")
    return _bad_id(f"{token!r} differs only in case from {vicinity.taken_by!r}")


def kept_for_a_child(token: str, situation: Situation) -> str | None:
    """The token that could have a child with the id ``token`` one day."""
    parent = situation.vicinity.possible_parent
    if parent is None:
        return None
    # Ids are unique without regard to case, so what a child will be called is kept in any case.
    _, state_name, visit, workflow = token.lower().rsplit(".", 3)
    if not (visit.isascii() and visit.isdigit() and visit.strip("0")):
        return None
    machine = situation.machines[parent.graph]
    state = machine.flow(parent.workflow).states.get(state_name)
    if state is None or not isinstance(state.work, ParallelWork):
        return None
    if workflow not in state.work.workflows:
        return None
    return parent.token


def _bad_id(sentence: str) -> Refusal:
    return Refusal(Code.INVALID_TOKEN_ID, sentence)
