"""The one JSON reader and writer (`docs/spec/wire.md` 1.3).

Reading is strict: UTF-8 without a byte order mark, no NaN or Infinity, no key twice, no lone
surrogate, no U+0000, whole numbers kept to the last digit, nesting bounded. Writing is compact and
never makes what reading refuses.
"""

from __future__ import annotations

import json
import math
import re
from json.encoder import encode_basestring
from typing import Any, Final, TypeAlias

import jiter

from stateous.errors import JsonError
from stateous.limits import MAX_JSON_DEPTH

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = "dict[str, Json]"

# Up to this many bytes a search costs less than a walk over the values.
_SHORT: Final = 2048
# What may break a rule that the parser does not know: U+0000, or a number that no double fits, for
# which it needs an exponent of two digits, or very many before it. A number stands behind one of
# these characters, or is the whole text; found inside a text it is a false alarm, no more.
_NUL: Final = rb"\u0000"
_GREAT: Final = re.compile(rb"[\[:,\s]-?[0-9][0-9.]*[eE]\+?[0-9]{2}")
_LONG: Final = re.compile(rb"[0-9]{300}")

_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_roomy = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_canonical = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def read_json(data: bytes, *, max_depth: int = MAX_JSON_DEPTH) -> Json:
    """The value that ``data`` holds.

    Raises:
        JsonError: it is not strict JSON, nests deeper than ``max_depth``, holds a number that no
            double fits, or U+0000 in a key or text.
    """
    try:
        value: Json = jiter.from_json(data, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise JsonError(f"the body is not strict JSON: {error}") from None
    if _needs_a_walk(data, max_depth):
        _walk(value, max_depth)
    return value


def _needs_a_walk(data: bytes, max_depth: int) -> bool:
    # Most bodies are small and plain: a search through the bytes shows that they break no rule.
    return (
        len(data) > _SHORT
        or not data.startswith((b"{", b"["))
        or data.count(b"[") + data.count(b"{") > max_depth
        or _NUL in data
        or _GREAT.search(data) is not None
        or (len(data) >= 300 and _LONG.search(data) is not None)
    )


def _walk(value: Json, max_depth: int) -> None:
    stack: list[tuple[Json, int]] = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, str):
            _no_nul(item)
        elif isinstance(item, float):
            if not math.isfinite(item):
                raise JsonError("the body is not strict JSON: a number does not fit a double")
        elif isinstance(item, dict | list):
            if depth > max_depth:
                raise JsonError(f"the JSON nests more than {max_depth} levels deep")
            if isinstance(item, dict):
                for key in item:
                    _no_nul(key)
                stack.extend((member, depth + 1) for member in item.values())
            else:
                stack.extend((member, depth + 1) for member in item)


def _no_nul(text: str) -> None:
    if "\x00" in text:
        raise JsonError("a text holds U+0000, which cannot be stored", problem="invalid_body")


def write_json(value: Any) -> str:
    """``value`` as compact JSON text, non-ASCII as it is.

    Raises:
        ValueError: a NaN or Infinity in it.
        TypeError: something that JSON does not have.
    """
    return _compact.encode(value)


def roomy_json(value: Any) -> str:
    """As :func:`write_json`, with a blank behind each comma and colon: as people type it."""
    return _roomy.encode(value)


def canonical_json(value: Any) -> str:
    """The canonical text that hashes are made of (`docs/spec/authoring.md` 6.3)."""
    return _canonical.encode(value)


def depth_of(value: Json) -> int:
    """How many lists and objects stand inside one another, ``value`` itself being the first."""
    deepest = 0
    stack: list[tuple[Json, int]] = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, dict | list):
            deepest = max(deepest, depth)
            members = item.values() if isinstance(item, dict) else item
            stack.extend((member, depth + 1) for member in members)
    return deepest


def same_json(left: Json, right: Json) -> bool:
    """Deep equality in which ``1`` is ``1.0`` and ``true`` is neither."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(v, right[k]) for k, v in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return left == right


class JsonText:
    """A JSON value kept as its text, decoded on first use.

    The control plane stores values as text and pastes them into answers; most are never decoded.
    The decoded value is shared: nobody may change it.
    """

    __slots__ = ("_value", "text")

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def of(cls, value: Json) -> JsonText:
        """The text of ``value``, which is kept beside it."""
        made = cls(write_json(value))
        made._value = value
        return made

    @property
    def value(self) -> Any:
        """The decoded value."""
        try:
            return self._value
        except AttributeError:
            self._value: Any = jiter.from_json(self.text.encode())
            return self._value

    @classmethod
    def fields(cls, **fields: Json | JsonText) -> JsonText:
        """An object whose members may be texts themselves, which are pasted in as they are."""
        members = []
        # What ledger entries are made of comes first, without the encoder's set-up for each.
        for name, value in fields.items():
            kind = type(value)
            if kind is str:
                text = encode_basestring(value)  # type: ignore[arg-type]
            elif kind is int:
                text = str(value)
            elif isinstance(value, JsonText):
                text = value.text
            else:
                text = "null" if value is None else write_json(value)
            members.append(f'"{name}":{text}')
        return cls(f"{{{','.join(members)}}}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonText) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"JsonText({self.text!r})"
