"""Bodies of requests: their length, their type, and their JSON (`docs/spec/wire.md` 1.3)."""

from __future__ import annotations

import re
from typing import Final

from starlette.types import Receive

from stateous.errors import JsonError
from stateous.json import Json, JsonObject, read_json
from stateous.wire.problems import Code, Refusal

_PLAIN: Final = b"application/json"
_BLANK: Final = b" \t\r\n"
_CHARSET = re.compile(r';\s*charset\s*=\s*("?)([^";\s]*)\1\s*(?=;|$)', re.IGNORECASE)
_ANY_CHARSET = re.compile(r";\s*charset\s*=", re.IGNORECASE)
_UTF8: Final = frozenset({"utf-8", "utf8"})


class CallerGone(Exception):
    """The connection was closed before the request had arrived; there is nobody to answer."""


def too_long(limit: int) -> Refusal:
    """413: the body is longer than ``limit`` bytes."""
    return Refusal(Code.BAD_REQUEST, f"the body is longer than {limit} bytes", status_override=413)


async def read_body(receive: Receive, limit: int) -> bytes | Refusal:
    """The whole body, or 413 as soon as it is longer than ``limit`` bytes.

    Raises:
        CallerGone: the connection was closed before.
    """
    message = await receive()
    if message["type"] == "http.disconnect":
        raise CallerGone
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        return body if len(body) <= limit else too_long(limit)
    parts = [body]
    length = len(body)
    while length <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise CallerGone
        part: bytes = message.get("body", b"")
        parts.append(part)
        length += len(part)
        if not message.get("more_body", False):
            break
    return b"".join(parts) if length <= limit else too_long(limit)


def wrong_type(body: bytes, content_type: bytes | None) -> Refusal | None:
    """415 when the type of a body that is not empty is not JSON in UTF-8."""
    if content_type is None or content_type == _PLAIN or not body:
        return None
    text = content_type.decode("latin-1")
    media_type = text.partition(";")[0].strip().lower()
    if media_type == "application/json":
        charsets = [match[2].lower() for match in _CHARSET.finditer(text)]
        if len(charsets) == len(_ANY_CHARSET.findall(text)) and _UTF8.issuperset(charsets):
            return None
    shown = text if len(text) <= 100 else text[:99] + "…"
    return Refusal(
        Code.UNSUPPORTED_MEDIA_TYPE,
        f"the body must be application/json in UTF-8, and {shown!r} is not",
    )


def read_value(body: bytes) -> Json | Refusal:
    """The JSON value that ``body`` holds, any; an empty or blank body is null."""
    if not body.strip(_BLANK):
        return None
    try:
        return read_json(body)
    except JsonError as error:
        return Refusal(Code(error.problem), str(error))


def read_object(body: bytes) -> JsonObject | Refusal:
    """The JSON object that ``body`` holds; an empty or blank body is an empty one."""
    if not body or (len(body) < 100 and not body.strip(_BLANK)):
        return {}
    try:
        value = read_json(body)
    except JsonError as error:
        if not body.strip(_BLANK):
            return {}
        return Refusal(Code(error.problem), str(error))
    if isinstance(value, dict):
        return value
    return Refusal(Code.INVALID_BODY, f"the body must be a JSON object, not {_kind(value)}")


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "a number"
