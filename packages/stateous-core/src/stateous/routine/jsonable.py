"""Python values as JSON keeps them: what routines write is checked and copied here."""

from __future__ import annotations

from typing import TypeVar, cast

from stateous.errors import JsonError
from stateous.json import Json, read_json, write_json

T = TypeVar("T")


def as_json(what: str, value: object) -> Json:
    """``value`` as it reads back: tuples as lists, keys of inner dicts as strings.

    Raises:
        TypeError: it is not JSON: a model, NaN, a text that UTF-8 or the database cannot hold, two
            keys that become one, more nesting than the control plane takes. ``what`` names it.
    """
    try:
        return read_json(write_json(value).encode())
    except JsonError as error:
        raise TypeError(f"{what} cannot be kept as JSON: {error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        hint = ": write what its model_dump(mode='json') gives" if is_model(value) else ""
        raise TypeError(f"{what} is not JSON: {error}{hint}") from None


def is_model(value: object) -> bool:
    """Whether ``value`` is an instance of a pydantic model, told without pydantic."""
    return hasattr(type(value), "model_dump")


def copied(value: T) -> T:
    """A deep copy of a JSON value."""
    if isinstance(value, dict):
        return cast(T, {key: copied(member) for key, member in value.items()})
    if isinstance(value, list):
        return cast(T, [copied(member) for member in value])
    return value


def fits_utf8(text: str) -> bool:
    """Whether ``text`` can be sent and stored: no lone surrogate, no U+0000."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in text
