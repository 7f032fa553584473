"""Applying what a pause has held, event by event (`docs/spec/wire.md` 3.15)."""

from __future__ import annotations

from typing import assert_never

from stateous.graph.machine import Flow
from stateous.json import JsonText
from stateous.names import ERROR
from stateous_controlplane.engine.choosing import Ambiguous, Untaken
from stateous_controlplane.engine.commands import Schedule
from stateous_controlplane.engine.conduct import AttemptFailure
from stateous_controlplane.engine.context import Misfit, changed_context
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.enter import take
from stateous_controlplane.engine.failures import fail_attempt
from stateous_controlplane.engine.leave import drop, fail, flow_of
from stateous_controlplane.engine.outcome import save_changes, save_schedules
from stateous_controlplane.engine.routing import Taken, route
from stateous_controlplane.engine.rows import Held, Status, Token


def replay(draft: Draft, held: Held) -> None:
    """Apply a held event, or drop it and say why."""
    token = draft.seen(held.token)
    if token.status is not Status.ACTIVE:
        drop(draft, held, f"the token {token.token!r} is {token.status.value}")
    elif held.state is not None and (token.state, token.visit) != (held.state, held.visit):
        drop(draft, held, f"the token left {held.state!r} meanwhile")
    else:
        _apply(draft, flow_of(draft, held.token), token, held)


def _apply(draft: Draft, flow: Flow, token: Token, held: Held) -> None:
    context = changed_context(flow, token.context, held.changes)
    if isinstance(context, Misfit):
        _refused(draft, held, context.reason)
        return
    chosen = route(draft, flow, token, held.event, held.payload, context)
    match chosen:
        case Taken():
            draft.record(held.token, "event_replayed", event=held.event)
            draft.release(held)
            save_changes(draft, held.token, context, held.changes)
            save_schedules(draft, held.token, _schedules(held))
            take(draft, flow, held.token, held.event, held.payload, chosen)
        case Ambiguous(reason):
            drop(draft, held, reason)
            fail(draft, held.token, reason)
        case Untaken(reason):
            _refused(draft, held, reason)
        case _:
            assert_never(chosen)


def _refused(draft: Draft, held: Held, reason: str) -> None:
    """What does not fit any more: an error fails the token, a report fails its attempt.

    So no token is left without work and without a way on.
    """
    drop(draft, held, reason)
    if held.task is None:
        return
    if held.event == ERROR:
        flow = flow_of(draft, held.token)
        if ERROR not in flow.states[draft.seen(held.token).state].groups:
            reason = "has no transition on 'error': it failed during the pause"
        fail(draft, held.token, f"{held.state!r} failed, and {reason}")
    else:
        fail_attempt(draft, draft.family.tasks[held.task], AttemptFailure(reason))


def _schedules(held: Held) -> tuple[Schedule, ...]:
    if held.schedules is None:
        return ()
    return tuple(
        Schedule(
            each["event"],
            each["after"],
            JsonText.of(each["payload"]) if "payload" in each else None,
        )
        for each in held.schedules.value
    )
