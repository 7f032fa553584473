"""One request for each method of a client (`docs/spec/wire.md` 2, 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

from stateous_client.errors import InvalidArgument
from stateous_client.protocol import answers
from stateous_client.protocol.answers import Page
from stateous_client.protocol.arguments import (
    digits,
    identity,
    names,
    numbers,
    segment,
    task_segment,
    text,
    whole,
)
from stateous_client.protocol.exchange import Answer, Request
from stateous_client.protocol.requests import (
    digits_if_given,
    given,
    moment_if_given,
    number_if_given,
    read,
    text_if_given,
    write,
)
from stateous_client.values import Duplicate, Entry, Grant, Health, Task, Token, Until

T = TypeVar("T")


# Tokens


def start(token: str, context: dict[str, Any] | None) -> Request[Token]:
    """``POST /tokens``; a token is started once, however often it is asked for."""
    members = given(token=identity("token", token), context=context)
    return write("/tokens", answers.token, members, repeatable=True)


def get(token: str, *, held: int = 0, until: Until = "ended") -> Request[Token]:
    """``GET /tokens/{token}``, answered after ``held`` seconds at the latest."""
    path = f"/tokens/{segment('token', token)}"
    query: dict[str, str | None] = {"until": until} if held else {}
    return read(path, answers.token, query=query, held=held)


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
        "status": text_if_given("status", status),
        "state": text_if_given("state", state),
        "workflow": text_if_given("workflow", workflow),
        "parent": text_if_given("parent", parent),
        "prefix": text_if_given("prefix", prefix),
        "moved_after": moment_if_given("moved_after", moved_after),
        "moved_before": moment_if_given("moved_before", moved_before),
        "limit": digits_if_given("limit", limit),
    }
    return read("/tokens", answers.tokens, query=query)


def history(
    token: str, *, after: int = 0, limit: int | None = None, held: int = 0
) -> Request[list[Entry]]:
    """``GET /tokens/{token}/history``."""
    path = f"/tokens/{segment('token', token)}/history"
    query = {
        "after": digits("after", after) if whole("after", after) else None,
        "limit": digits_if_given("limit", limit),
    }
    return read(path, answers.entries, query=query, held=held)


def fire(
    token: str, event: str, payload: dict[str, Any] | None, *, key: str | None
) -> Request[Token | Duplicate]:
    """``POST /tokens/{token}/events/{event}``; repeatable with a key."""
    path = f"/tokens/{segment('token', token)}/events/{segment('event', event)}"
    return write(path, answers.fired, given(payload=payload), key=key)


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
    members = given(
        kind="event",
        event=identity("event", event),
        payload=payload,
        context=context,
        attempt=number_if_given("attempt", attempt),
    )
    return write(f"/tasks/{task_segment(task)}/report", answers.token, members)


def report_failed(task: int, error: str, *, attempt: int | None) -> Request[Token]:
    """``POST /tasks/{task}/report`` of a failure, from outside."""
    members = given(
        kind="failed", error=text("error", error), attempt=number_if_given("attempt", attempt)
    )
    return write(f"/tasks/{task_segment(task)}/report", answers.token, members)


def send_report(task: int, outcome: dict[str, Any]) -> Request[Token | None]:
    """``POST /tasks/{task}/report`` of an outcome as a supervisor has it."""
    if not isinstance(outcome, dict):
        raise InvalidArgument(f"outcome is {outcome!r}, not a dict")
    return write(f"/tasks/{task_segment(task)}/report", answers.token_if_any, outcome)


def note(task: int, note_text: str, *, attempt: int | None, number: int | None) -> Request[None]:
    """``POST /tasks/{task}/note``."""
    members = given(
        text=text("text", note_text),
        attempt=number_if_given("attempt", attempt),
        number=number_if_given("number", number),
    )
    return write(f"/tasks/{task_segment(task)}/note", answers.nothing, members)


def memory(
    task: int, key: str, value: Any, *, attempt: int | None, number: int | None
) -> Request[None]:
    """``PUT /tasks/{task}/memory``; a value of None deletes the key."""
    members = {"key": text("key", key), "value": value} | given(
        attempt=number_if_given("attempt", attempt), number=number_if_given("number", number)
    )
    path = f"/tasks/{task_segment(task)}/memory"
    return write(path, answers.nothing, members, method="PUT", repeatable=True)


def tasks(
    *, status: str | None, state: str | None, token: str | None, limit: int | None
) -> Request[Page[Task]]:
    """``GET /tasks``: one page."""
    query = {
        "status": text_if_given("status", status),
        "state": text_if_given("state", state),
        "token": text_if_given("token", token),
        "limit": digits_if_given("limit", limit),
    }
    return read("/tasks", answers.tasks, query=query)


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
    return given(
        supervisor=identity("supervisor", supervisor),
        states=names("states", states),
        jobs=names("jobs", jobs) or None,
        request=text_if_given("request", request),
        wait=whole("wait", wait) or None,
    )


def _claiming(of: Callable[[Answer], T], members: dict[str, Any]) -> Request[T]:
    return write(
        "/tasks/claim",
        of,
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
    return write("/tasks/heartbeat", answers.lost, members, repeatable=True, announces_lease=True)


# The control plane itself


def workflow() -> Request[dict[str, Any]]:
    """``GET /workflow``."""
    return read("/workflow", answers.document)


def health() -> Request[Health]:
    """``GET /health``."""
    return read("/health", answers.health, announces_lease=True)


def ready() -> Request[bool]:
    """``GET /ready``; 503 is an answer, which is not asked for again."""
    return read("/ready", answers.ready, also_read=frozenset({503}))
