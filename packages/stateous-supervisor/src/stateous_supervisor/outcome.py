"""What a routine's end is reported as (`docs/spec/authoring.md` 8.5; pure).

An outcome is the body of a report without the supervisor's name (`docs/spec/wire.md` 1.5). Here the
author's code is met for the last time: a payload's validators and serializers, the `repr` of what
was returned, the text of an exception. Whatever these raise makes the outcome a failed one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from stateous.errors import JsonError, OutcomeError
from stateous.json import Json, JsonObject, read_json, write_json
from stateous.routine import Context, StateRef, reported_payload
from stateous.statechart.tickets import cut

_MOST_OF_A_VALUE: Final = 100
# A text of this length is for nobody to read; a report must stay below a body's limit.
_MOST_OF_AN_ERROR: Final = 100_000


def returned(ref: StateRef[Any], value: object, ctx: Context[Any]) -> JsonObject:
    """The outcome of a routine of ``ref`` that returned ``value``.

    Raises:
        BaseException: whatever code of the author's raises that is run for it; see :func:`raised`.
    """
    if value is None:
        return _checked({"kind": "waiting"}, ctx)
    if not ref.may_emit(value):
        return failed(
            f"the routine of {ref.name!r} returned {_shown(value)}; {_what_may_be(ref)}",
            ctx.attempt,
        )
    try:
        payload = reported_payload(ref.name, ref.emits, value)  # type: ignore[arg-type]
    except OutcomeError as error:
        return failed(f"{error}; {_what_may_be(ref)}", ctx.attempt)
    event: JsonObject = {"kind": "event", "event": value.name}  # type: ignore[attr-defined]
    if payload is not None:
        event["payload"] = dict(payload)
    return _checked(event, ctx)


def raised(error: BaseException, attempt: int) -> JsonObject:
    """The outcome of a routine that raised ``error``, of whatever class."""
    kind = type(error).__name__
    try:
        text = str(error)
    except BaseException as worse:
        text = f"(its text cannot be made: {type(worse).__name__})"
    return failed(f"{kind}: {text}" if text else kind, attempt)


def failed(error: str, attempt: int) -> JsonObject:
    """A failed outcome. The routine's writes and timers are dropped, its notes and memory stay."""
    return {
        "kind": "failed",
        "error": storable(error),
        "context": {},
        "schedules": [],
        "attempt": attempt,
    }


def told(outcome: Mapping[str, Json]) -> str:
    """An outcome in a word, for the log: the event's name, or `waiting`, `done`, `failed`."""
    return str(outcome["event"] if outcome["kind"] == "event" else outcome["kind"])


def idle_timers(outcome: Mapping[str, Json]) -> list[str]:
    """The events of timers that stand beside a reported event: its move cancels them."""
    schedules = outcome.get("schedules")
    if outcome["kind"] != "event" or not isinstance(schedules, list):
        return []
    return [str(timer["event"]) for timer in schedules if isinstance(timer, dict)]


def _checked(outcome: JsonObject, ctx: Context[Any]) -> JsonObject:
    schedules: list[Any] = [dict(timer) for timer in ctx.schedules()]
    outcome |= {"context": ctx.writes(), "schedules": schedules, "attempt": ctx.attempt}
    try:
        read_json(write_json(outcome).encode())
    except (JsonError, ValueError, RecursionError) as error:
        return failed(f"the outcome cannot be sent: {error}", ctx.attempt)
    return outcome


def _what_may_be(ref: StateRef[Any]) -> str:
    if not ref.emits:
        return "it may return None only: the state has no events"
    return f"it may return {', '.join(event.name for event in ref.emits)}, or None to wait"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_OF_A_VALUE else text[: _MOST_OF_A_VALUE - 1] + "…"


def storable(text: str) -> str:
    """``text`` as UTF-8 and the databases can hold it, cut where nobody reads on."""
    text = cut(text, _MOST_OF_AN_ERROR)
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
