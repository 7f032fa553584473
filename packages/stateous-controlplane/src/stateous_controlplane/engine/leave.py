"""Leaving a state: what ends its work (`docs/spec/wire.md` 3.7, 3.13, 3.15)."""

from __future__ import annotations

from dataclasses import replace

from stateous.graph.machine import Flow
from stateous_controlplane.engine.conduct import Conduct
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.rows import (
    Held,
    Status,
    TaskStatus,
    TicketStatus,
    TimerKind,
    TimerStatus,
    Token,
)


def flow_of(draft: Draft, token: str) -> Flow:
    """The flow of a token, in the document that it is pinned to."""
    row = draft.seen(token)
    return draft.situation.machines[row.graph].flow(row.workflow)


def conduct_of(draft: Draft, token: str) -> Conduct:
    """The conduct that the token's flow asks for."""
    return draft.conducts[flow_of(draft, token).policy.delivery]


def leave_on(draft: Draft, flow: Flow, token: str, event: str) -> None:
    """Leave the state on an accepted event: a task that was worked on is done by its own event."""
    row = draft.seen(token)
    _close_tasks(draft, token, done=event in flow.states[row.state].emits)
    cancel_timers(draft, token)
    _cancel_children(draft, row, f"the parent left {row.state!r} on {event!r}")


def fail(draft: Draft, token: str, reason: str) -> None:
    """The token fails: it leaves its state without an event, and its memory goes."""
    end_work(draft, token, f"the parent failed: {reason}")
    draft.record(token, "failed", reason=reason)
    draft.end(token, Status.FAILED)
    draft.tell_parent(token)


def cancel(draft: Draft, token: str, reason: str | None = None) -> None:
    """The token is cancelled, with all below it; a child is told why."""
    row = draft.seen(token)
    conduct_of(draft, token).drop_waiting(draft, row)
    end_work(draft, token, f"the parent {token!r} was cancelled")
    if reason is None:
        draft.record(token, "cancelled")
    else:
        draft.record(token, "cancelled", reason=reason)
    draft.end(token, Status.CANCELLED)


def end_work(draft: Draft, token: str, reason: str) -> None:
    """End all work of a token that ends: its tasks, timers, tickets and children."""
    _close_tasks(draft, token, done=False)
    cancel_timers(draft, token)
    for ticket in draft.open_tickets(token):
        draft.put_ticket(replace(ticket, status=TicketStatus.VOID))
    _cancel_children(draft, draft.seen(token), reason)


def live_children(draft: Draft, token: Token) -> list[Token]:
    """The live children of the token's current visit, in the order in which they started.

    They belong to the innermost state, the only one that can have work.
    """
    if not token.configuration:
        return []
    branches = flow_of(draft, token.token).states[token.state].branches
    if not branches:
        return []
    by_branch = {child.branch: child for child in draft.children(token)}
    ordered = (by_branch.get(branch) for branch in branches)
    return [child for child in ordered if child is not None and child.status.live]


def held_of(draft: Draft, token: str) -> list[Held]:
    """The events of a token that the pause still holds, in order of arrival."""
    return sorted(
        (
            held
            for place, held in draft.family.held.items()
            if held.token == token and place not in draft.effects.released
        ),
        key=lambda held: held.arrival,
    )


def drop(draft: Draft, held: Held, reason: str) -> None:
    """The held event is dropped, and the ledger says why. Its key stays used."""
    draft.record(held.token, "event_dropped", event=held.event, reason=reason)
    draft.release(held)


def cancel_timers(draft: Draft, token: str, *, kind: TimerKind | None = None) -> None:
    """Cancel the token's pending timers, or those of one kind. No entry says so."""
    for timer in draft.pending_timers(token):
        if kind is None or timer.kind is kind:
            row = draft.timer(timer.id)
            row.status = TimerStatus.CANCELLED
            row.ready = False


def _cancel_children(draft: Draft, token: Token, reason: str) -> None:
    for child in live_children(draft, token):
        cancel(draft, child.token, reason)


def _close_tasks(draft: Draft, token: str, *, done: bool) -> None:
    for task in draft.open_tasks(token):
        if done and task.status.worked_on:
            draft.close_task(task.id, TaskStatus.DONE)
            draft.record(token, "task_done", task=task.id)
        else:
            draft.close_task(task.id, TaskStatus.CANCELLED)
            draft.record(token, "task_cancelled", task=task.id)
