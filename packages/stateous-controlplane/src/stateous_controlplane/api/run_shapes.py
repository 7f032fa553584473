"""Runs, tickets and emitted values: from a body to what is asked of the desk.

Pure. What is wrong is a refusal (`docs/spec/statechart.md` 10.4, 16).
"""

from __future__ import annotations

import hmac
import re
from hashlib import sha256
from typing import Final, NamedTuple

from stateous.json import Json, JsonObject, JsonText
from stateous.limits import MAX_ID, MAX_RUN_KEY
from stateous.names import is_token_id
from stateous.wire.headers import IDEMPOTENCY_KEY, STARTER
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.api.admission import Headers
from stateous_controlplane.api.commands import Parameters, key_of
from stateous_controlplane.api.shapes import is_whole, shown, supervisor_of, task_of
from stateous_controlplane.engine.commands import (
    Cancel,
    Emit,
    Pause,
    Resume,
    SendEvent,
    Subject,
)
from stateous_controlplane.writer.requests import Emits

_STARTER: Final = STARTER.lower().encode()
_SECRET: Final = re.compile(rb"[!-~]{32,256}")
_NULL: Final = JsonText("null")


class Submit(NamedTuple):
    """A submit as its body has it; ``graph`` is a checksum or a document."""

    graph: str | JsonObject
    input: JsonText | None
    key: str | None
    run: str | None


def submit_of(body: JsonObject) -> Submit | Refusal:
    """`POST /runs`."""
    graph = body.get("graph")
    if not isinstance(graph, str | dict):
        return Refusal(
            Code.INVALID_BODY,
            f"'graph' must be the checksum of a document, or a document, not {shown(graph)}",
        )
    key = body.get("key")
    if key is not None and not (isinstance(key, str) and 1 <= len(key) <= MAX_RUN_KEY):
        return Refusal(
            Code.INVALID_ARGUMENT,
            f"'key' must be a text of 1 to {MAX_RUN_KEY} characters, not {_shown_length(key)}",
        )
    run = body.get("id")
    if run is not None and not (isinstance(run, str) and is_token_id(run)):
        return Refusal(
            Code.INVALID_RUN_ID,
            f"{shown(run)} cannot be the id of a run: write 1 to 128 letters, digits, "
            "'.', '_' and '-', and begin with a letter or digit",
        )
    given = JsonText.of(body["input"]) if "input" in body else None
    return Submit(graph, given, key, run)


def event_of(body: JsonObject, parameters: Parameters, headers: Headers) -> SendEvent | Refusal:
    """`POST /runs/{id}/events/{event}`."""
    key = idempotency_key_of(headers)
    if isinstance(key, Refusal):
        return key
    data = body.get("data")
    text = _NULL if data is None else JsonText.of(data)
    return SendEvent(parameters["id"], parameters["event"], text, key)


def pause_run_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Pause:
    """`POST /runs/{id}/pause`."""
    return Pause(parameters["id"], Subject.RUN)


def resume_run_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Resume:
    """`POST /runs/{id}/resume`."""
    return Resume(parameters["id"], Subject.RUN)


def cancel_run_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Cancel:
    """`POST /runs/{id}/cancel`."""
    return Cancel(parameters["id"], Subject.RUN)


def emits_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Emits | Refusal:
    """`POST /tasks/{task}/emits`."""
    supervisor = supervisor_of(body.get("supervisor"))
    if isinstance(supervisor, Refusal):
        return supervisor
    attempt, first = body.get("attempt"), body.get("first")
    for name, value in (("attempt", attempt), ("first", first)):
        if not (is_whole(value) and 1 <= value <= MAX_ID):
            return Refusal(
                Code.INVALID_ARGUMENT,
                f"'{name}' must be a whole number from 1 to {MAX_ID}, not {shown(value)}",
            )
    values = body.get("values")
    if not isinstance(values, list):
        return Refusal(Code.INVALID_BODY, f"'values' must be a list, not {shown(values)}")
    task = task_of(parameters["task"])
    if isinstance(task, Refusal):
        return task
    assert is_whole(attempt)
    assert is_whole(first)
    emits: list[Emit] = []
    for number, value in enumerate(values, first):
        event = value.get("event") if isinstance(value, dict) else None
        if not isinstance(value, dict) or not isinstance(event, str):
            return Refusal(
                Code.INVALID_BODY, f"'values' holds {shown(value)}, which is no event with data"
            )
        data = JsonText.of(value.get("data"))
        emits.append(Emit(task, number, event, data, attempt, supervisor))
    return Emits(task, tuple(emits))


def idempotency_key_of(headers: Headers) -> str | Refusal | None:
    """The caller's key, when there is one."""
    given = headers.get(IDEMPOTENCY_KEY.lower().encode())
    return None if given is None else key_of(given)


def starter_of(headers: Headers) -> str | Refusal | None:
    """The digest of the secret that a client brings, when it brings one."""
    secret = headers.get(_STARTER)
    if secret is None:
        return None
    if not _SECRET.fullmatch(secret):
        return Refusal(
            Code.INVALID_ARGUMENT,
            f"the header {STARTER} must have 32 to 256 visible ASCII characters",
        )
    return sha256(secret).hexdigest()


def shows_starter(headers: Headers, starter: str | None) -> bool:
    """Whether who asks has started the run: ``starter`` is the digest on record."""
    secret = headers.get(_STARTER)
    if secret is None or starter is None:
        return False
    return hmac.compare_digest(sha256(secret).hexdigest(), starter)


def run_not_found(run: str) -> Refusal:
    """404: no run has this id."""
    return Refusal(Code.RUN_NOT_FOUND, f"there is no run {shown(run)}")


def _shown_length(value: Json) -> str:
    return f"one of {len(value)}" if isinstance(value, str) else shown(value)
