"""What callers hand in: checked before anything is sent, and written as path, query or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from stateous.json import write_json
from stateous.limits import MAX_IDEMPOTENCY_KEY
from stateous_client.errors import InvalidArgument


def body(value: Any) -> bytes:
    """``value`` as the JSON of a request.

    Raises:
        InvalidArgument: NaN or Infinity, a lone surrogate, a key that is no text, a value within
            itself, or anything that JSON does not have, such as a model or a datetime.
    """
    try:
        text = write_json(value).encode()
    except UnicodeEncodeError:
        raise InvalidArgument("a text holds a lone surrogate, which is no Unicode") from None
    except RecursionError:
        raise InvalidArgument("the value nests too deep for JSON") from None
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"the value is not JSON: {error}") from None
    _only_text_keys(value)
    return text


def _only_text_keys(value: object) -> None:
    # The encoder would turn a key like 1 or None into text, so that another key came back.
    # It has walked through all of this before, so nothing holds itself here.
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            for key, member in item.items():
                if not isinstance(key, str):
                    raise InvalidArgument(f"the value is not JSON: the key {key!r} is no text")
                stack.append(member)
        elif isinstance(item, list | tuple):
            stack.extend(item)


def text(name: str, value: object) -> str:
    """``value``, when it is a text."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{name} is {value!r}, not a text")
    return value


def identity(name: str, value: object) -> str:
    """``value``, when it is a text that is not empty."""
    if not text(name, value):
        raise InvalidArgument(f"{name} is empty")
    return str(value)


def segment(name: str, value: object) -> str:
    """An id as one segment of a path, percent-encoded whole: ``.`` and ``..`` too."""
    given = identity(name, value)
    if given in (".", ".."):
        return given.replace(".", "%2E")
    return percent_encoded(name, given)


def percent_encoded(name: str, value: str) -> str:
    """``value`` with everything but unreserved characters percent-encoded."""
    try:
        return quote(value, safe="")
    except UnicodeEncodeError:
        raise InvalidArgument(f"{name} holds a lone surrogate, which is no Unicode") from None


def whole(name: str, value: object) -> int:
    """``value``, when it is a whole number; its range is the control plane's to judge."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidArgument(f"{name} is {value!r}, not a whole number")
    return value


def digits(name: str, value: object) -> str:
    """A whole number as it stands in a path or query."""
    try:
        return str(whole(name, value))
    except ValueError:  # more digits than Python writes
        raise InvalidArgument(f"{name} has too many digits") from None


def task_segment(value: object) -> str:
    """A task's number as one segment of a path."""
    if whole("task", value) < 0:
        raise InvalidArgument(f"task is {value}; tasks have numbers from 1")
    return digits("task", value)


def names(name: str, values: Sequence[str]) -> list[str]:
    """``values`` as a list of texts. One text alone is not taken for its characters."""
    if isinstance(values, str):
        raise InvalidArgument(f"{name} is the text {values!r}, not a list of texts")
    return [text(name, value) for value in _listed(name, values)]


def numbers(name: str, values: Iterable[int]) -> list[int]:
    """``values`` as a list of whole numbers."""
    return [whole(name, value) for value in _listed(name, values)]


def _listed(name: str, values: Iterable[Any]) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise InvalidArgument(f"{name} is {values!r}, not a list") from None


def moment(name: str, value: str | datetime) -> str:
    """A moment as a query has it: ISO 8601 with its offset."""
    if not isinstance(value, datetime):
        return text(name, value)
    if value.utcoffset() is None:
        raise InvalidArgument(f"{name} is {value!r}, which has no time zone")
    return value.isoformat()


def idempotency_key(value: object) -> bytes:
    """The header's bytes of a caller's key (`docs/spec/wire.md` 2.3).

    White space at its ends is refused too: HTTP would drop it, and another key would arrive.
    """
    key = identity("key", value)
    if len(key) > MAX_IDEMPOTENCY_KEY:
        raise InvalidArgument(f"key has {len(key)} characters; {MAX_IDEMPOTENCY_KEY} are allowed")
    if any(char < " " or char == "\x7f" for char in key):
        raise InvalidArgument(f"key {key!r} holds a control character")
    if key != key.strip(" "):
        raise InvalidArgument(f"key {key!r} begins or ends with a space")
    try:
        return key.encode()
    except UnicodeEncodeError:
        raise InvalidArgument("key holds a lone surrogate, which is no Unicode") from None
