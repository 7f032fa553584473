"""Contexts and payloads held against the models of a workflow."""

from __future__ import annotations

from dataclasses import dataclass

from stateous.graph.machine import EventShape, Flow
from stateous.json import JsonObject, JsonText, depth_of
from stateous.limits import MAX_CONTEXT_BYTES, MAX_JSON_DEPTH


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that its model or a limit refuses, and why, as one sentence."""

    reason: str


def fit_context(flow: Flow, context: JsonObject) -> JsonText | Misfit:
    """``context`` as text, or why it cannot be one of ``flow`` (`docs/spec/wire.md` 1.3)."""
    text = JsonText.of(context)
    if _may_be_too_deep(text.text) and depth_of(context) > MAX_JSON_DEPTH:
        return Misfit(f"{flow.name}: the context nests more than {MAX_JSON_DEPTH} levels deep")
    size = len(text.text) if text.text.isascii() else len(text.text.encode())
    if size > MAX_CONTEXT_BYTES:
        return Misfit(
            f"{flow.name}: the context has {size} bytes, which is more than {MAX_CONTEXT_BYTES}"
        )
    if flow.context is not None:
        problems = flow.context.problems(context)
        if problems:
            return Misfit(f"{flow.name}: {'; '.join(problems)}")
    return text


def _may_be_too_deep(text: str) -> bool:
    # Most contexts have so few brackets that they need no walk.
    return text.count("{") + text.count("[") > MAX_JSON_DEPTH


def starting_context(flow: Flow, given: JsonText | None) -> JsonText | Misfit:
    """The context that a token starts with: ``given`` with the model's defaults."""
    context: JsonObject = {} if given is None else given.value
    if flow.context is not None:
        context = flow.context.with_defaults(context)
    return fit_context(flow, context)


def changed_context(flow: Flow, context: JsonText, changes: JsonText | None) -> JsonText | Misfit:
    """``context`` with ``changes`` merged in by top-level key."""
    if changes is None or not changes.value:
        return context
    return fit_context(flow, {**context.value, **changes.value})


def check_payload(event: EventShape, payload: JsonText | None) -> Misfit | None:
    """Why ``payload`` is none of ``event``; none at all is checked as ``{}``."""
    value: JsonObject = {} if payload is None else payload.value
    if event.payload is None:
        return Misfit(f"{event.name}: {event.name!r} carries no payload") if value else None
    problems = event.payload.problems(value)
    return Misfit(f"{event.name}: {'; '.join(problems)}") if problems else None
