"""Checks of values that more than one endpoint takes; each gives the value or a refusal."""

from __future__ import annotations

from typing import Final, TypeGuard

from stateous.json import Json, JsonObject, JsonText
from stateous.limits import MAX_ID, MAX_SUPERVISOR_NAME
from stateous.wire.problems import Code, Refusal

_MAX_SHOWN: Final = 60


def shown(value: object) -> str:
    """``value`` as a sentence holds it: never long, whatever came in."""
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str() if len(value) > _MAX_SHOWN:
            return repr(value[: _MAX_SHOWN - 1] + "…")
        case int() if abs(value) >= 10**_MAX_SHOWN:
            return "a number of very many digits"
        case str() | int() | float():
            return repr(value)
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "nothing"


def is_whole(value: object) -> TypeGuard[int]:
    """Whether ``value`` is a whole number: neither ``true`` nor ``1.0`` is one."""
    return type(value) is int


def is_object_or_null(value: object) -> TypeGuard[JsonObject | None]:
    """Whether ``value`` is an object or null."""
    return value is None or isinstance(value, dict)


def text_of(value: JsonObject | None) -> JsonText | None:
    """An object as the text that is kept, null as None."""
    return None if value is None else JsonText.of(value)


def supervisor_of(value: Json) -> str | Refusal:
    """A supervisor's name."""
    if isinstance(value, str) and 1 <= len(value) <= MAX_SUPERVISOR_NAME:
        return value
    return Refusal(
        Code.INVALID_ARGUMENT,
        f"'supervisor' must be a text of 1 to {MAX_SUPERVISOR_NAME} characters, "
        f"not {_shown_length(value)}",
    )


def task_of(digits: str) -> int | Refusal:
    """The task that a path names; its digits are ASCII, maybe with zeros in front."""
    significant = digits.lstrip("0")
    if significant and len(significant) <= len(str(MAX_ID)):
        task = int(significant)
        if task <= MAX_ID:
            return task
    return task_not_found(digits)


def task_not_found(digits: str) -> Refusal:
    """404: no task has this id."""
    named = digits if len(digits) <= _MAX_SHOWN else digits[: _MAX_SHOWN - 1] + "…"
    return Refusal(Code.TASK_NOT_FOUND, f"there is no task {named}")


def token_not_found(token: str) -> Refusal:
    """404: no token has this id."""
    return Refusal(Code.TOKEN_NOT_FOUND, f"there is no token {shown(token)}")


def _shown_length(value: Json) -> str:
    if isinstance(value, str):
        return f"one of {len(value)}"
    return shown(value)
