"""Joins: what a parent does when its children end (`docs/spec/wire.md` 3.14).

A child that completes or fails tells its parent in the same command. With ``all`` the join is met
once every child of the visit has ended, with ``any`` at once; then ``joined`` is decided on the
parent. It fires once per visit, because whatever it decides leaves the state.
"""

from __future__ import annotations

from typing import Final, assert_never

from stateous.graph.machine import ParallelWork
from stateous.json import JsonText
from stateous.names import JOINED
from stateous_controlplane.engine.choosing import Ambiguous, Untaken
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.enter import take
from stateous_controlplane.engine.leave import fail, flow_of
from stateous_controlplane.engine.routing import Taken, route
from stateous_controlplane.engine.rows import Status, Token

_NULL: Final = JsonText("null")


def settle(draft: Draft) -> None:
    """Tell the parents of all children that ended, until none is left to tell."""
    while draft.ended:
        _tell_parent(draft, draft.seen(draft.ended.pop(0)))


def _tell_parent(draft: Draft, child: Token) -> None:
    assert child.parent is not None
    parent = draft.seen(child.parent)
    if parent.status is not Status.ACTIVE:
        return
    if (parent.state, parent.visit) != (child.parent_state, child.parent_visit):
        return
    branches = _branches_when_met(draft, parent, child)
    if branches is not None:
        _join(draft, parent, branches)


def _branches_when_met(draft: Draft, parent: Token, child: Token) -> JsonText | None:
    """The payload of ``joined``, or None while the join is not met."""
    work = flow_of(draft, parent.token).states[parent.state].work
    assert isinstance(work, ParallelWork)
    if work.join == "any":
        return _payload([child])
    by_workflow = {each.workflow: each for each in draft.children(parent)}
    children = [by_workflow[workflow] for workflow in work.workflows]
    if any(each.status.live for each in children):
        return None
    return _payload(children)


def _payload(children: list[Token]) -> JsonText:
    return JsonText('{"branches":[' + ",".join(_branch(each).text for each in children) + "]}")


def _branch(child: Token) -> JsonText:
    """One entry of ``joined``; its payload is that of the event that brought the child in."""
    payload = child.entered_by.value.get("payload")
    return JsonText.fields(
        workflow=child.workflow,
        token=child.token,
        status=child.status.value,
        final=child.state,
        payload=_NULL if payload is None else JsonText.of(payload),
        context=child.context,
    )


def _join(draft: Draft, parent: Token, branches: JsonText) -> None:
    flow = flow_of(draft, parent.token)
    chosen = route(draft, flow, parent, JOINED, branches, parent.context)
    match chosen:
        case Taken():
            take(draft, flow, parent.token, JOINED, branches, chosen)
        case Ambiguous(reason):
            fail(draft, parent.token, reason)
        case Untaken(reason):
            fail(
                draft,
                parent.token,
                f"the join of {parent.state!r} cannot move the token: {reason}",
            )
        case _:
            assert_never(chosen)
