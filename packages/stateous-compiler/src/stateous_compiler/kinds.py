"""The kinds of JSON value that a schema admits (`docs/spec/authoring.md` 3.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from stateous.graph.positions import resolve
from stateous.json import Json

Kind: TypeAlias = Literal["null", "boolean", "number", "string", "list", "object", "unknown"]

UNKNOWN: Final[frozenset[Kind]] = frozenset({"unknown"})

_TYPES: Final[Mapping[str, Kind]] = {
    "null": "null",
    "boolean": "boolean",
    "integer": "number",
    "number": "number",
    "string": "string",
    "array": "list",
    "object": "object",
}
_DEEPEST: Final = 100


def kinds_of(schemas: Mapping[str, Json], schema: Json, level: int = 0) -> frozenset[Kind]:
    """The kinds of the values that ``schema`` admits; ``unknown`` where it does not say."""
    if not isinstance(schema, dict) or level > _DEEPEST:
        return UNKNOWN
    if "$ref" in schema:
        return kinds_of(schemas, resolve(schemas, schema["$ref"]), level + 1)
    for keyword in ("anyOf", "oneOf", "allOf"):
        members = schema.get(keyword)
        if isinstance(members, list) and members and (keyword != "allOf" or len(members) == 1):
            return _union(kinds_of(schemas, member, level + 1) for member in members)
    if "type" in schema:
        named = schema["type"]
        listed = named if isinstance(named, list) else [named]
        return frozenset(_TYPES.get(name, "unknown") for name in map(str, listed)) or UNKNOWN
    if isinstance(schema.get("enum"), list):
        return frozenset(map(kind_of, schema["enum"])) or UNKNOWN  # type: ignore[arg-type]
    if "const" in schema:
        return frozenset({kind_of(schema["const"])})
    return UNKNOWN


def kind_of(value: Json) -> Kind:
    """The kind of one value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "list"
        case dict():
            return "object"


def can_be_searched(kinds: frozenset[Kind]) -> bool:
    """Whether values of these kinds may stand behind ``in``: lists, objects, and null."""
    rest = kinds - {"null"}
    return bool(rest) and rest <= {"list", "object"}


def _union(members: Iterable[frozenset[Kind]]) -> frozenset[Kind]:
    return frozenset().union(*members)
