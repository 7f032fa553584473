"""Reads and writes: how a method's arguments become a request (`docs/spec/wire.md` 2, 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, TypeVar

from stateous.wire import headers
from stateous_client.protocol.arguments import (
    body,
    digits,
    idempotency_key,
    moment,
    percent_encoded,
    text,
    whole,
)
from stateous_client.protocol.exchange import Answer, Request

T = TypeVar("T")

Headers: TypeAlias = tuple[tuple[str, bytes], ...]

_JSON: Final = (("Content-Type", b"application/json"),)


def read(
    path: str,
    of: Callable[[Answer], T],
    *,
    query: Mapping[str, str | None] | None = None,
    more: Headers = (),
    held: int = 0,
    announces_lease: bool = False,
    also_read: frozenset[int] = frozenset(),
) -> Request[T]:
    """A GET, whose answer ``of`` reads. Members of ``query`` that are None are left out."""
    pairs = tuple((key, value) for key, value in (query or {}).items() if value is not None)
    for name, value in pairs:
        percent_encoded(name, value)
    if held:
        pairs += (("wait", str(held)),)
    return Request(
        "GET",
        path,
        of,
        query=pairs,
        headers=more,
        repeatable=True,
        held=held,
        announces_lease=announces_lease,
        also_read=also_read,
    )


def write(
    path: str,
    of: Callable[[Answer], T],
    value: Any,
    *,
    method: Literal["POST", "PUT"] = "POST",
    query: tuple[tuple[str, str], ...] = (),
    more: Headers = (),
    repeatable: bool = False,
    key: str | None = None,
    held: float = 0,
    announces_lease: bool = False,
) -> Request[T]:
    """A POST or PUT of ``value`` as JSON. With a ``key`` it may be sent again."""
    keyed = () if key is None else ((headers.IDEMPOTENCY_KEY, idempotency_key(key)),)
    return Request(
        method,
        path,
        of,
        query=query,
        body=body(value),
        headers=_JSON + keyed + more,
        repeatable=repeatable or key is not None,
        held=held,
        announces_lease=announces_lease,
    )


def given(**members: Any) -> dict[str, Any]:
    """The members that are not None."""
    return {key: value for key, value in members.items() if value is not None}


def number_if_given(name: str, value: int | None) -> int | None:
    """A whole number, or None."""
    return None if value is None else whole(name, value)


def text_if_given(name: str, value: str | None) -> str | None:
    """A text, or None."""
    return None if value is None else text(name, value)


def digits_if_given(name: str, value: int | None) -> str | None:
    """A whole number as a query has it, or None."""
    return None if value is None else digits(name, value)


def moment_if_given(name: str, value: str | datetime | None) -> str | None:
    """A moment as a query has it, or None."""
    return None if value is None else moment(name, value)
