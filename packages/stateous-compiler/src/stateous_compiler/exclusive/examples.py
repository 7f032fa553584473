"""How the values of an example are written (`docs/spec/authoring.md` 4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from stateous.guards import Guard
from stateous.guards.nodes import Constant, ContextKey, Count, ListOf, PayloadField, walk
from stateous.guards.values import equal
from stateous.json import Json
from stateous_compiler.exclusive.answers import Example
from stateous_compiler.exclusive.digits import decimal
from stateous_compiler.exclusive.world import Reading

_SHORTENED = "…"


def written(example: Example) -> str:
    """The values of an example in guard syntax; ``always`` when the guards read nothing."""
    told = list(_told_apart(example))
    parts = (
        f"{_named(reading)} is missing"
        if reading in example.missing
        else f"{_named(reading)} = {_spelled(value, told)}"
        for reading, value in example.values
    )
    return ", ".join(parts) or "always"


def _named(reading: Reading) -> str:
    match reading:
        case Count(event):
            return f"count({_text(event)})"
        case ContextKey(key):
            return f"ctx[{_text(key)}]"
        case PayloadField(name):
            return f"payload.{name}"


def _told_apart(example: Example) -> Iterator[Json]:
    """The values that the guards tell from others: those written in them, and those read."""
    for guard in example.question.guards:
        yield from _written_in(guard)
    for reading, value in example.values:
        if reading not in example.missing and not isinstance(value, list | dict):
            yield value


def _written_in(guard: Guard) -> Iterator[Json]:
    for node in walk(guard.tree):
        match node:
            case Constant(value):
                yield value
            case ListOf(elements):
                yield [each.value for each in elements if isinstance(each, Constant)]


def _spelled(value: Json, told: list[Json]) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return decimal(value)
        case float():
            return repr(value)
        case str():
            return _text(value)
        case list():
            members = (
                _spelled(member, told) if _is_among(member, told) else _SHORTENED
                for member in value
            )
            return f"[{', '.join(_without_repeated_gaps(members))}]"
        case dict():
            keys = (f"{_text(key)}: {_SHORTENED}" for key in value if _is_among(key, told))
            more = [_SHORTENED] if any(not _is_among(key, told) for key in value) else []
            return f"{{{', '.join([*keys, *more])}}}"


def _without_repeated_gaps(members: Iterator[str]) -> Iterator[str]:
    for member, same in groupby(members):
        yield from [member] if member == _SHORTENED else same


def _is_among(value: Json, told: list[Json]) -> bool:
    return any(equal(value, other) for other in told)


def _text(text: str) -> str:
    # With a double quote at its end Python spells every text in single quotes.
    return repr(f'{text}"')[:-2] + "'"
