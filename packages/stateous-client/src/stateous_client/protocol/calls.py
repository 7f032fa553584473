"""One request for each method of a client (`docs/spec/wire.md` 2, 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeVar

from stateous.wire import headers
from stateous_client.errors import InvalidArgument
from stateous_client.protocol import answers
from stateous_client.protocol.answers import Page
from stateous_client.protocol.arguments import (
    body,
    digits,
    idempotency_key,
    identity,
    moment,
    names,
    numbers,
    percent_encoded,
    segment,
    task_segment,
    text,
    whole,
)
from stateous_client.protocol.exchange import Answer, Request
from stateous_client.values import Duplicate, Entry, Grant, Health, Task, Token, Until

T = TypeVar("T")

_JSON: Final = (("Content-Type", b"application/json"),)


def _read(
    path: str,
    read: Callable[[Answer], T],
    *,
    query: dict[str, str | None] | None = None,
    held: int = 0,
    announces_lease: bool = False,
    also_read: frozenset[int] = frozenset(),
) -> Request[T]:
    pairs = tuple((key, value) for key, value in (query or {}).items() if value is not None)
    if held:
        pairs += (("wait", str(held)),)
    return Request(
        "GET",
        path,
        read,
        query=pairs,
        repeatable=True,
        held=held,
        announces_lease=announces_lease,
        also_read=also_read,
    )


def _write(
    path: str,
    read: Callable[[Answer], T],
    members: dict[str, Any],
    *,
    method: Literal["POST", "PUT"] = "POST",
    repeatable: bool = False,
    key: str | None = None,
    held: float = 0,
    announces_lease: bool = False,
) -> Request[T]:
    keyed = () if key is None else ((headers.IDEMPOTENCY_KEY, idempotency_key(key)),)
    return Request(
        method,
        path,
        read,
        body=body(members),
        headers=_JSON + keyed,
        repeatable=repeatable or key is not None,
        held=held,
        announces_lease=announces_lease,
    )


def _given(**members: Any) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}


def _number_if_given(name: str, value: int | None) -> int | None:
    return None if value is None else whole(name, value)


def _text_if_given(name: str, value: str | None) -> str | None:
    return None if value is None else text(name, value)


def _digits_if_given(name: str, value: int | None) -> str | None:
    return None if value is None else digits(name, value)


def _moment_if_given(name: str, value: str | datetime | None) -> str | None:
    return None if value is None else moment(name, value)


# Tokens


def start(token: str, context: dict[str, Any] | None) -> Request[Token]:
    """``POST /tokens``; a token is started once, however often it is asked for."""
    members = _given(token=identity("token", token), context=context)
    return _write("/tokens", answers.token, members, repeatable=True)


def get(token: str, *, held: int = 0, until: Until = "ended") -> Request[Token]:
    """``GET /tokens/{token}``, answered after ``held`` seconds at the latest."""
    path = f"/tokens/{segment('token', token)}"
    query: dict[str, str | None] = {"until": until} if held else {}
    return _read(path, answers.token, query=query, held=held)


def tokens(
    *,
    status: str | None,
    state: str | None,
    workflow: str | None,
    parent: str | None,
    prefix: str | None,
    moved_after: str | datetime | None,
    moved_before: str | datetime | None,
    limit: int | None,
) -> Request[Page[Token]]:
    """``GET /tokens``: one page."""
    query = {
        "status": _text_if_given("status", status),
        "state": _text_if_given("state", state),
        "workflow": _text_if_given("workflow", workflow),
        "parent": _text_if_given("parent", parent),
        "prefix": _text_if_given("prefix", prefix),
        "moved_after": _moment_if_given("moved_after", moved_after),
        "moved_before": _moment_if_given("moved_before", moved_before),
        "limit": _digits_if_given("limit", limit),
    }
    return _read("/tokens", answers.tokens, query=_encodable(query))


def history(
    token: str, *, after: int = 0, limit: int | None = None, held: int = 0
) -> Request[list[Entry]]:
    """``GET /tokens/{token}/history``."""
    path = f"/tokens/{segment('token', token)}/history"
    query = {
        "after": digits("after", after) if whole("after", after) else None,
        "limit": _digits_if_given("limit", limit),
    }
    return _read(path, answers.entries, query=query, held=held)


def fire(
    token: str, event: str, payload: dict[str, Any] | None, *, key: str | None
) -> Request[Token | Duplicate]:
    """``POST /tokens/{token}/events/{event}``; repeatable with a key."""
    path = f"/tokens/{segment('token', token)}/events/{segment('event', event)}"
    return _write(path, answers.fired, _given(payload=payload), key=key)


def steer(token: str, how: Literal["pause", "resume", "cancel"]) -> Request[Token]:
    """``POST /tokens/{token}/pause``, ``/resume`` or ``/cancel``."""
    return Request("POST", f"/tokens/{segment('token', token)}/{how}", answers.token)


# Tasks


def report(
    task: int,
    event: str,
    payload: dict[str, Any] | None,
    *,
    context: dict[str, Any] | None,
    attempt: int | None,
) -> Request[Token]:
    """``POST /tasks/{task}/report`` of an event, from outside."""
    members = _given(
        kind="event",
        event=identity("event", event),
        payload=payload,
        context=context,
        attempt=_number_if_given("attempt", attempt),
    )
    return _write(f"/tasks/{task_segment(task)}/report", answers.token, members)


def report_failed(task: int, error: str, *, attempt: int | None) -> Request[Token]:
    """``POST /tasks/{task}/report`` of a failure, from outside."""
    members = _given(
        kind="failed", error=text("error", error), attempt=_number_if_given("attempt", attempt)
    )
    return _write(f"/tasks/{task_segment(task)}/report", answers.token, members)


def send_report(task: int, outcome: dict[str, Any]) -> Request[Token | None]:
    """``POST /tasks/{task}/report`` of an outcome as a supervisor has it."""
    if not isinstance(outcome, dict):
        raise InvalidArgument(f"outcome is {outcome!r}, not a dict")
    return _write(f"/tasks/{task_segment(task)}/report", answers.token_if_any, outcome)


def note(task: int, note_text: str, *, attempt: int | None, number: int | None) -> Request[None]:
    """``POST /tasks/{task}/note``."""
    members = _given(
        text=text("text", note_text),
        attempt=_number_if_given("attempt", attempt),
        number=_number_if_given("number", number),
    )
    return _write(f"/tasks/{task_segment(task)}/note", answers.nothing, members)


def memory(
    task: int, key: str, value: Any, *, attempt: int | None, number: int | None
) -> Request[None]:
    """``PUT /tasks/{task}/memory``; a value of None deletes the key."""
    members = {"key": text("key", key), "value": value} | _given(
        attempt=_number_if_given("attempt", attempt), number=_number_if_given("number", number)
    )
    path = f"/tasks/{task_segment(task)}/memory"
    return _write(path, answers.nothing, members, method="PUT", repeatable=True)


def tasks(
    *, status: str | None, state: str | None, token: str | None, limit: int | None
) -> Request[Page[Task]]:
    """``GET /tasks``: one page."""
    query = {
        "status": _text_if_given("status", status),
        "state": _text_if_given("state", state),
        "token": _text_if_given("token", token),
        "limit": _digits_if_given("limit", limit),
    }
    return _read("/tasks", answers.tasks, query=_encodable(query))


# Supervisors


def claim(
    supervisor: str, states: Sequence[str], jobs: Sequence[str], *, request: str | None, wait: int
) -> Request[Grant | None]:
    """``POST /tasks/claim`` of one task."""
    members = _claim(supervisor, states, jobs, request, wait)
    return _claiming(answers.grant, members)


def claim_many(
    supervisor: str,
    states: Sequence[str],
    jobs: Sequence[str],
    *,
    request: str | None,
    wait: int,
    max: int,
) -> Request[list[Grant]]:
    """``POST /tasks/claim`` of up to ``max`` tasks."""
    members = _claim(supervisor, states, jobs, request, wait) | {"max": whole("max", max)}
    return _claiming(answers.grants, members)


def _claim(
    supervisor: str, states: Sequence[str], jobs: Sequence[str], request: str | None, wait: int
) -> dict[str, Any]:
    # What is not used is left out, so that a control plane which does not know it answers too.
    return _given(
        supervisor=identity("supervisor", supervisor),
        states=names("states", states),
        jobs=names("jobs", jobs) or None,
        request=_text_if_given("request", request),
        wait=whole("wait", wait) or None,
    )


def _claiming(read: Callable[[Answer], T], members: dict[str, Any]) -> Request[T]:
    return _write(
        "/tasks/claim",
        read,
        members,
        repeatable="request" in members,
        held=max(0, members.get("wait", 0)),
        announces_lease=True,
    )


def heartbeat(supervisor: str, tasks: Iterable[int]) -> Request[list[int]]:
    """``POST /tasks/heartbeat``."""
    members = {
        "supervisor": identity("supervisor", supervisor),
        "tasks": numbers("tasks", tasks),
    }
    return _write("/tasks/heartbeat", answers.lost, members, repeatable=True, announces_lease=True)


# The control plane itself


def workflow() -> Request[dict[str, Any]]:
    """``GET /workflow``."""
    return _read("/workflow", answers.document)


def health() -> Request[Health]:
    """``GET /health``."""
    return _read("/health", answers.health, announces_lease=True)


def ready() -> Request[bool]:
    """``GET /ready``; 503 is an answer, which is not asked for again."""
    return _read("/ready", answers.ready, also_read=frozenset({503}))


def _encodable(query: dict[str, str | None]) -> dict[str, str | None]:
    for name, value in query.items():
        if value is not None:
            percent_encoded(name, value)
    return query
