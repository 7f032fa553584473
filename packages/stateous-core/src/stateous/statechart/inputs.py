"""A chart's declared input, and how a given one fits it (`docs/spec/statechart.md` 1.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from stateous.json import Json
from stateous.statechart.document import InputSpec, InputType


@dataclass(frozen=True, slots=True)
class BadInput:
    """An input that does not fit, and all that is wrong with it, as one sentence."""

    reason: str


class InputShape:
    """The names and types that a chart declares."""

    def __init__(self, declared: Mapping[str, InputSpec]) -> None:
        self._declared = tuple(declared.values())

    def fit(self, given: Json) -> Json | BadInput:
        """``given`` with null for each optional name that is absent; further names are kept."""
        if not isinstance(given, dict):
            return BadInput("the input is no object, and the chart declares names")
        problems = [words for each in self._declared if (words := _problem(each, given))]
        if problems:
            return BadInput("; ".join(problems))
        absent = {each.name: None for each in self._declared if each.name not in given}
        return {**given, **absent} if absent else given


def _problem(declared: InputSpec, given: Mapping[str, Json]) -> str | None:
    name = declared.name
    if name not in given:
        return None if declared.optional else f"the input {name!r} is missing"
    value = given[name]
    if value is None and declared.optional:
        return None
    if _FITS[declared.type](value):
        return None
    return f"the input {name!r} is {_kind(value)}, and should be {_A[declared.type]}"


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Json) -> bool:
    return _is_number(value) and (not isinstance(value, float) or value.is_integer())


_FITS: Final[Mapping[InputType, Callable[[Json], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "any": lambda value: True,
}
_A: Final[Mapping[InputType, str]] = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "a boolean",
    "list": "a list",
    "object": "an object",
    "any": "anything",
}


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return f"the number {value}"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            assert_never(value)
