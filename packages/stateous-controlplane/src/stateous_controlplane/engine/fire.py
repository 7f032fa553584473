"""An event from outside (`docs/spec/wire.md` 3.5), and what every refused event leaves behind."""

from __future__ import annotations

from typing import assert_never

from stateous.graph.machine import Flow
from stateous.json import Json, JsonText, same_json
from stateous.limits import MAX_NAME
from stateous.names import OWN_EVENTS
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.choosing import Ambiguous, Untaken
from stateous_controlplane.engine.commands import Fire
from stateous_controlplane.engine.context import check_payload
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.enter import take
from stateous_controlplane.engine.holding import hold_fired
from stateous_controlplane.engine.leave import fail, flow_of
from stateous_controlplane.engine.replies import DuplicateReply, Reply, TokenReply
from stateous_controlplane.engine.routing import Taken, route
from stateous_controlplane.engine.rows import KeyUse, Status


def fire(draft: Draft, command: Fire) -> Reply:
    """Let an event move a token, in the order of checks of the specification."""
    token = draft.family.tokens.get(command.token)
    if token is None or token.run is not None:
        return Refusal(Code.TOKEN_NOT_FOUND, f"there is no token {command.token!r}")
    use = None
    if command.key is not None:
        use = draft.family.keys.get((command.token, command.key))
    if use is not None:
        return DuplicateReply(token, matches=_same_use(use, command))
    event = shown_event(command.event)
    if not token.status.live:
        return refuse_event(
            draft,
            command.token,
            event,
            f"the token {token.token!r} is {token.status.value}",
            Code.TOKEN_NOT_ACTIVE,
        )
    flow = flow_of(draft, command.token)
    if command.event in OWN_EVENTS:
        return refuse_event(
            draft, command.token, event, f"{event!r} is an event that only Stateous fires"
        )
    shape = flow.events.get(command.event)
    if shape is None:
        return refuse_event(
            draft, command.token, event, f"the workflow {flow.name!r} has no event {event!r}"
        )
    misfit = check_payload(shape, command.payload)
    if misfit is not None:
        return Refusal(Code.INVALID_PAYLOAD, misfit.reason)
    if token.status is Status.PAUSED:
        hold_fired(draft, command.token, command.event, command.payload, command.key)
        return TokenReply(draft.seen(command.token))
    return _move(draft, flow, command)


def _move(draft: Draft, flow: Flow, command: Fire) -> Reply:
    token = draft.seen(command.token)
    chosen = route(draft, flow, token, command.event, command.payload, token.context)
    match chosen:
        case Untaken(reason):
            return refuse_event(draft, command.token, command.event, reason)
        case Ambiguous(reason):
            fail(draft, command.token, reason)
        case Taken():
            take(draft, flow, command.token, command.event, command.payload, chosen, command.key)
        case _:
            assert_never(chosen)
    return TokenReply(draft.seen(command.token))


def refuse_event(
    draft: Draft, token: str, event: str, reason: str, code: Code = Code.EVENT_NOT_ALLOWED
) -> Refusal:
    """Record that ``event`` was refused; the refusal says the same."""
    draft.record(token, "event_rejected", event=event, reason=reason)
    return Refusal(code, reason)


def shown_event(event: str) -> str:
    """An event's name as it is recorded: what is too long to be one is cut."""
    return event if len(event) <= MAX_NAME else event[:MAX_NAME] + "…"


def _same_use(use: KeyUse, command: Fire) -> bool:
    return use.event == command.event and same_json(_object(use.payload), _object(command.payload))


def _object(payload: JsonText | None) -> Json:
    value: Json = {} if payload is None else payload.value
    return value
