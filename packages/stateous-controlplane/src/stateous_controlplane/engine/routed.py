"""The conduct of tokens whose events are routed: what cannot move the token is refused or fails it.

`docs/spec/wire.md` 3.11, 3.14, 3.15.
"""

from __future__ import annotations

from typing import assert_never

from stateous.names import ERROR
from stateous_controlplane.engine.choosing import Ambiguous, Untaken
from stateous_controlplane.engine.conduct import AttemptFailure
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.enter import take
from stateous_controlplane.engine.fire import refuse_event
from stateous_controlplane.engine.holding import hold_error
from stateous_controlplane.engine.leave import drop, fail, flow_of, held_of
from stateous_controlplane.engine.replay import replay
from stateous_controlplane.engine.routing import Taken, route
from stateous_controlplane.engine.rows import Held, Status, Task, Timer, TimerKind, Token


class Routed:
    """Events are routed by the group of the state."""

    def timer_due(self, draft: Draft, timer: Timer) -> None:
        """Let the timer's event move its token; a timeout that cannot fails it."""
        draft.record(timer.token, "timer_fired", event=timer.event)
        flow = flow_of(draft, timer.token)
        token = draft.seen(timer.token)
        chosen = route(draft, flow, token, timer.event, timer.payload, token.context)
        match chosen:
            case Taken():
                take(draft, flow, timer.token, timer.event, timer.payload, chosen)
            case Ambiguous(reason):
                fail(draft, timer.token, reason)
            case Untaken(reason) if timer.kind is TimerKind.TIMEOUT:
                fail(draft, timer.token, f"{timer.state!r} timed out: {reason}")
            case Untaken(reason):
                refuse_event(draft, timer.token, timer.event, reason)
            case _:
                assert_never(chosen)

    def attempt_failed(self, draft: Draft, task: Task, failure: AttemptFailure) -> None:
        """Record that an attempt failed."""
        draft.record(task.token, "task_failed", task=task.id, error=failure.error)

    def given_up(self, draft: Draft, task: Task, failure: AttemptFailure) -> None:
        """Let ``error`` move the token, or fail it."""
        error = failure.error
        if draft.seen(task.token).status is Status.PAUSED:
            hold_error(draft, task)
            return
        flow = flow_of(draft, task.token)
        if ERROR not in flow.states[task.state].groups:
            fail(
                draft,
                task.token,
                f"{task.state!r} failed, and has no transition on 'error': {error}",
            )
            return
        token = draft.seen(task.token)
        chosen = route(draft, flow, token, ERROR, None, token.context)
        match chosen:
            case Taken():
                take(draft, flow, task.token, ERROR, None, chosen)
            case Untaken(reason) | Ambiguous(reason):
                fail(draft, task.token, f"{task.state!r} failed, and {reason}: {error}")
            case _:
                assert_never(chosen)

    def replay(self, draft: Draft, held: Held) -> None:
        """Apply a held event, or drop it and say why."""
        replay(draft, held)

    def drop_waiting(self, draft: Draft, token: Token) -> None:
        """A paused token drops what it holds.

        One that a resume has just let go has its held events dropped in their turn.
        """
        if token.status is Status.PAUSED:
            for held in held_of(draft, token.token):
                drop(draft, held, f"the token {token.token!r} was cancelled")
