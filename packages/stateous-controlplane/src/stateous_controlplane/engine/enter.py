"""Entering a state, and taking a transition as a whole (`docs/spec/wire.md` 3.7)."""

from __future__ import annotations

from typing import assert_never

from stateous.graph.machine import Flow, JobsWork, NoWork, ParallelWork, RoutineWork, State
from stateous.json import JsonText
from stateous.names import END, START, STARTED, TIMEOUT
from stateous.wire.moments import write_moment
from stateous_controlplane.engine.children import ChildStart
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.leave import leave_on
from stateous_controlplane.engine.routing import Taken
from stateous_controlplane.engine.rows import Active, KeyUse, Status, Timer, TimerKind, Token


def take(
    draft: Draft,
    flow: Flow,
    token: str,
    event: str,
    payload: JsonText | None,
    route: Taken,
    key: str | None = None,
) -> None:
    """The event is accepted: keep its payload, leave the state, enter the target or complete."""
    row = draft.token(token)
    accept(draft, token, event, payload, row.state, key)
    if route.kept is not None:
        row.context = route.context
        draft.record(token, "context_changed", keys=[route.kept])
    leave_on(draft, flow, token, event)
    cause = entered_by(event, payload)
    arrive(draft, flow, token, route.transition.target, cause, route.children)


def accept(
    draft: Draft, token: str, event: str, payload: JsonText | None, state: str, key: str | None
) -> None:
    """Record the event, count it, and keep what its key was used for."""
    row = draft.token(token)
    draft.record(token, "event_accepted", key, event=event, payload=payload, state=state)
    row.counts[event] = row.counts.get(event, 0) + 1
    if key is not None:
        draft.use_key(token, key, KeyUse(event, payload))


def entered_by(event: str, payload: JsonText | None) -> JsonText:
    """How a grant names the event that entered its state; a payload of null is left out."""
    if payload is None:
        return JsonText.fields(name=event)
    return JsonText.fields(name=event, payload=payload)


def arrive(
    draft: Draft,
    flow: Flow,
    token: str,
    target: str,
    cause: JsonText,
    children: tuple[ChildStart, ...],
) -> None:
    """Enter ``target`` by ``cause`` and start its children, or complete the token at END.

    A token that completes keeps the ``entered_by`` of its last state: a parent reads it there
    (`docs/spec/authoring.md` 2.7).
    """
    if target == END:
        draft.record(token, "completed")
        draft.end(token, Status.COMPLETED)
        draft.tell_parent(token)
        return
    state = flow.states[target]
    row = _enter(draft, state, token, cause)
    match state.work:
        case RoutineWork(queue=queue):
            task = draft.add_task(row, queue)
            draft.record(token, "task_queued", task=task.id, state=state.name)
        case ParallelWork():
            pass  # its children start last, behind the timeout
        case JobsWork() | NoWork():
            raise AssertionError("a state of a chart, whose events are offered and not routed")
        case _:
            assert_never(state.work)
    if state.timeout is not None:
        record_timer(draft, draft.add_timer(row, TimerKind.TIMEOUT, TIMEOUT, state.timeout))
    for child in children:
        _start_child(draft, row, child)


def _enter(draft: Draft, state: State, token: str, cause: JsonText) -> Token:
    row = draft.token(token)
    visit = row.visits.get(state.name, 0) + 1
    row.visits[state.name] = visit
    row.configuration = (Active(state.name, visit),)
    row.entered_by = cause
    row.entered_at = draft.now
    draft.record(token, "entered", state=state.name, visit=visit)
    return row


def begin(
    draft: Draft, token: Token, flow: Flow, target: str, children: tuple[ChildStart, ...]
) -> None:
    """Make ``token``, which is at START, and let it enter its first state."""
    draft.add_token(token)
    if token.parent is None:
        draft.record(token.token, "started", context=token.context)
    else:
        draft.record(token.token, "started", context=token.context, parent=token.parent)
    accept(draft, token.token, STARTED, None, START, None)
    arrive(draft, flow, token.token, target, token.entered_by, children)


def new_token(draft: Draft, token: str, graph: str, context: JsonText) -> Token:
    """A row of a top token at START."""
    return Token(
        token=token,
        top=token,
        graph=graph,
        status=Status.ACTIVE,
        context=context,
        entered_by=entered_by(STARTED, None),
        started_at=draft.now,
        entered_at=draft.now,
        at=draft.now,
    )


def _start_child(draft: Draft, parent: Token, start: ChildStart) -> None:
    draft.record(parent.token, "branch_started", workflow=start.flow.name, token=start.token)
    child = new_token(draft, start.token, parent.graph, start.context)
    child.top = parent.top
    child.workflow = start.flow.name
    child.parent, child.parent_state, child.parent_visit = (
        parent.token,
        parent.state,
        parent.visit,
    )
    begin(draft, child, start.flow, start.target, start.children)


def record_timer(draft: Draft, timer: Timer) -> None:
    """Say in the ledger that ``timer`` was set."""
    draft.record(timer.token, "timer_set", event=timer.event, due_at=write_moment(timer.due_at))
