"""From an answer's bytes to a value, or to the error that it is (`docs/spec/wire.md` 7, 2.8).

The readers look only as far as callers rely on an answer, so that a control plane of another
version may add keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar, cast

from stateous.errors import JsonError
from stateous.json import read_json
from stateous.wire import headers
from stateous_client.errors import BadAnswer, Refused, refusal
from stateous_client.protocol.address import without_credentials
from stateous_client.protocol.exchange import Answer, Request
from stateous_client.values import Duplicate, Entry, Grant, Health, Task, Token

T = TypeVar("T")

# Contexts nest up to 64 levels, and histories, grants and schemas hold them deeper.
_MAX_DEPTH: Final = 190
_MAX_MESSAGE: Final = 200


class Mismatch(Exception):
    """An answer below 400 that is not what was asked for. Its text says what it is."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list, and where the next one begins; None after the last."""

    items: list[T]
    cursor: str | None


def value_of(request: Request[T], answer: Answer, url: str) -> T:
    """The value that ``answer`` gives ``request``; ``url`` is for the errors' texts.

    Raises:
        Refused: the status is from 400 on.
        BadAnswer: a redirect, or something that no control plane answers.
    """
    if answer.status >= 400 and answer.status not in request.also_read:
        raise _refusal(answer, url)
    if 300 <= answer.status < 400:
        to = without_credentials(answer.headers.get("location", "nowhere"))
        why = f"it redirects ({answer.status}) to {to[:_MAX_MESSAGE]}"
        raise BadAnswer(url, answer.status, why)
    try:
        return request.read(answer)
    except Mismatch as mismatch:
        raise BadAnswer(url, answer.status, str(mismatch)) from None


def _refusal(answer: Answer, url: str) -> Refused:
    try:
        problem = read_json(answer.body)
    except JsonError:
        problem = None
    members = problem if isinstance(problem, dict) else {}
    code, message = members.get("code"), members.get("error")
    if not isinstance(message, str):
        message = _text(answer)[:_MAX_MESSAGE] or _phrase(answer.status)
    return refusal(url, answer.status, message, code if isinstance(code, str) else None)


def _text(answer: Answer) -> str:
    return answer.body.decode(errors="replace").strip()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "it gives no reason"


def _json(answer: Answer) -> Any:
    try:
        return read_json(answer.body, max_depth=_MAX_DEPTH)
    except JsonError:
        raise mismatch(answer, "JSON") from None


def mismatch(answer: Answer, expected: str) -> Mismatch:
    """The mismatch of an answer that is not ``expected``."""
    text = _text(answer)
    came = f"{text[:80]!r}{'…' if len(text) > 80 else ''}" if text else "nothing"
    return Mismatch(f"it answered {answer.status} with {came}, which is not {expected}")


def has(value: object, /, **kinds: type) -> bool:
    """Whether it is an object that has these members, each of exactly this type."""
    return isinstance(value, dict) and all(
        type(value.get(key)) is kind for key, kind in kinds.items()
    )


def _is_token(value: object) -> bool:
    return has(value, token=str, state=str, status=str, visit=int, context=dict)


def _is_task(value: object) -> bool:
    return has(value, task=int, token=str, status=str)


def _is_entry(value: object) -> bool:
    return has(value, seq=int, at=str, kind=str, data=dict)


def _is_grant(value: object) -> bool:
    if not has(value, task=int, token=str, state=str, visit=int, attempt=int, memory=dict):
        return False
    return has(value, context=dict) or _is_job(value)


def _is_job(value: object) -> bool:
    if not has(value, machine=str) or not isinstance(value, dict) or "input" not in value:
        return False
    return has(value, routine=str) or has(value.get("script"), path=str, source=str)


def nothing(_answer: Answer) -> None:
    """Any success: a supervisor takes each as an acceptance (2.8)."""


def document(answer: Answer) -> dict[str, Any]:
    """A graph document."""
    value = any_object(answer)
    if not has(value, workflow=str):
        raise mismatch(answer, "a graph document")
    return value


def any_object(answer: Answer) -> dict[str, Any]:
    """A JSON object."""
    value = _json(answer)
    if not isinstance(value, dict):
        raise mismatch(answer, "a JSON object")
    return value


def token(answer: Answer) -> Token:
    """A token."""
    value = _json(answer)
    if not _is_token(value):
        raise mismatch(answer, "a token")
    return cast("Token", value)


def token_if_any(answer: Answer) -> Token | None:
    """The token that the answer holds; None when it holds no JSON object (2.8)."""
    try:
        return cast("Token", any_object(answer))
    except Mismatch:
        return None


def fired(answer: Answer) -> Token | Duplicate:
    """A token, or the duplicate that holds it."""
    value = _json(answer)
    if _is_token(value):
        return cast("Token", value)
    if has(value, duplicate=bool, token=dict) and _is_token(value["token"]):
        return cast("Duplicate", value)
    raise mismatch(answer, "a token")


def tokens(answer: Answer) -> Page[Token]:
    """One page of tokens."""
    value = _json(answer)
    if not isinstance(value, list) or not all(map(_is_token, value)):
        raise mismatch(answer, "a list of tokens")
    return Page(cast("list[Token]", value), _cursor(answer))


def tasks(answer: Answer) -> Page[Task]:
    """One page of tasks."""
    value = _json(answer)
    if not isinstance(value, list) or not all(map(_is_task, value)):
        raise mismatch(answer, "a list of tasks")
    return Page(cast("list[Task]", value), _cursor(answer))


def _cursor(answer: Answer) -> str | None:
    return answer.headers.get(headers.NEXT_CURSOR.lower()) or None


def entries(answer: Answer) -> list[Entry]:
    """Entries of a history."""
    value = _json(answer)
    if not isinstance(value, list) or not all(map(_is_entry, value)):
        raise mismatch(answer, "a history")
    return cast("list[Entry]", value)


def health(answer: Answer) -> Health:
    """What is served; it tells a control plane from any other server."""
    value = _json(answer)
    if not isinstance(value, dict) or not {"workflow", "checksum"} <= value.keys():
        raise mismatch(answer, "the health of a control plane")
    return cast("Health", value)


def ready(answer: Answer) -> bool:
    """True for ``{"ready": true}``, False for 503."""
    if answer.status == HTTPStatus.SERVICE_UNAVAILABLE:
        return False
    if any_object(answer).get("ready") is not True:
        raise mismatch(answer, '{"ready": true}')
    return True


def grant(answer: Answer) -> Grant | None:
    """A grant, or None for 204."""
    if answer.status == HTTPStatus.NO_CONTENT:
        return None
    value = _json(answer)
    if not _is_grant(value):
        raise mismatch(answer, "a grant")
    return cast("Grant", value)


def grants(answer: Answer) -> list[Grant]:
    """The grants of a claim with ``max``."""
    if answer.status == HTTPStatus.NO_CONTENT:
        return []
    value = any_object(answer).get("tasks")
    if not isinstance(value, list) or not all(map(_is_grant, value)):
        raise mismatch(answer, "a list of grants")
    return cast("list[Grant]", value)


def lost(answer: Answer) -> list[int]:
    """The lost tasks of a heartbeat."""
    value = any_object(answer).get("lost")
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise mismatch(answer, "a list of lost tasks")
    return cast("list[int]", value)
