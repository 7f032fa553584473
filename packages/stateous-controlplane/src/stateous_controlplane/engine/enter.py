"""Entering a state, and taking a transition as a whole (`docs/spec/wire.md` 3.7)."""

from __future__ import annotations

from typing import assert_never

from stateous.graph.machine import Flow, ParallelWork, RoutineWork, State
from stateous.json import JsonText
from stateous.names import END, TIMEOUT
from stateous.wire.moments import write_moment
from stateous_controlplane.engine.effects import Draft
from stateous_controlplane.engine.leave import leave_on
from stateous_controlplane.engine.routing import Taken
from stateous_controlplane.engine.rows import Active, KeyUse, Status, Timer, TimerKind


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
    arrive(draft, flow, token, route.transition.target, entered_by(event, payload))


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


def arrive(draft: Draft, flow: Flow, token: str, target: str, cause: JsonText) -> None:
    """Enter ``target`` by ``cause``, or complete the token at END.

    A token that completes keeps the ``entered_by`` of its last state: a parent reads it there
    (`docs/spec/authoring.md` 2.7).
    """
    if target == END:
        draft.record(token, "completed")
        draft.end(token, Status.COMPLETED)
    else:
        _enter(draft, flow.states[target], token, cause)


def _enter(draft: Draft, state: State, token: str, cause: JsonText) -> None:
    row = draft.token(token)
    visit = row.visits.get(state.name, 0) + 1
    row.visits[state.name] = visit
    row.configuration = (Active(state.name, visit),)
    row.entered_by = cause
    row.entered_at = draft.now
    draft.record(token, "entered", state=state.name, visit=visit)
    match state.work:
        case RoutineWork(queue=queue):
            task = draft.add_task(row, queue)
            draft.record(token, "task_queued", task=task.id, state=state.name)
        case ParallelWork():
            raise AssertionError(f"{state.name!r} is parallel, and `serve` refuses such documents")
        case _:
            assert_never(state.work)
    if state.timeout is not None:
        record_timer(draft, draft.add_timer(row, TimerKind.TIMEOUT, TIMEOUT, state.timeout))


def record_timer(draft: Draft, timer: Timer) -> None:
    """Say in the ledger that ``timer`` was set."""
    draft.record(timer.token, "timer_set", event=timer.event, due_at=write_moment(timer.due_at))
