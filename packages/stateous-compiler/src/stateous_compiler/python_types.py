"""JSON Schemas as Python types, and JSON values as Python literals (`authoring.md` 7.1).

Whatever a schema says, the text imports: a type that Python's parser or pydantic could not take is
widened to ``Any``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Final, TypeGuard

from stateous.graph.positions import reference_key
from stateous.graph.references import in_definition_order
from stateous.json import Json

# Python's parser and pydantic recurse over a type's text; no model of a person goes this far.
_DEEPEST: Final = 20
_WIDEST: Final = 100
# Larger whole numbers may be no float, and some validators take none.
_LARGEST: Final = 2**63

_SCALARS: Final[Mapping[str, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
}


@dataclass(frozen=True, slots=True)
class PythonType:
    """A type as text: the members of its union, and the names that stand in them."""

    members: tuple[str, ...]
    names: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return " | ".join(self.members)

    def or_none(self) -> PythonType:
        """The same, or None."""
        return union([self, _NONE])


_ANY: Final = PythonType(("Any",), frozenset({"Any"}))
_NONE: Final = PythonType(("None",))


def union(types: Iterable[PythonType]) -> PythonType:
    """The union in order, no member twice."""
    types = list(types)
    members = tuple(dict.fromkeys(member for each in types for member in each.members))
    if not members or len(members) > _WIDEST:
        return _ANY
    return PythonType(members, frozenset().union(*(each.names for each in types)))


def is_class(schema: Json) -> TypeGuard[dict[str, Json]]:
    """Whether a schema of a document becomes a class; any other becomes an alias."""
    return (
        isinstance(schema, dict)
        and schema.get("type") == "object"
        and ("properties" in schema or "additionalProperties" not in schema)
    )


def literal(value: Json) -> str:
    """``value`` as Python writes it: double quotes, non-ASCII kept."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{', '.join(map(literal, value))}]"
        case dict():
            return f"{{{', '.join(f'{literal(k)}: {literal(v)}' for k, v in value.items())}}}"
        case _:
            return repr(value)


class Types:
    """The types of one document's schemas."""

    def __init__(self, schemas: Mapping[str, Json]) -> None:
        self._schemas = schemas
        self._nulls = _null_keys(schemas)

    def of(self, schema: Json, level: int = 0) -> PythonType:
        """The type of the values that ``schema`` admits."""
        if not isinstance(schema, dict) or level > _DEEPEST:
            return _ANY
        if "$ref" in schema:
            return self._named(reference_key(schema["$ref"]))
        members = _members(schema)
        if members is not None:
            return union(self.of(member, level + 1) for member in members)
        values = _values(schema)
        if values and all(map(_is_literal, values)):
            text = f"Literal[{', '.join(map(literal, values))}]"
            return PythonType((text,), frozenset({"Literal"}))
        named = schema.get("type")
        if isinstance(named, list):
            return union(self._of_type(schema, name, level) for name in named)
        return self._of_type(schema, named, level)

    def fits(self, schema: Json, value: Json, level: int = 0) -> bool:
        """Whether pydantic surely takes ``value`` for that type; in doubt it does not."""
        if not isinstance(schema, dict) or level > _DEEPEST:
            return False
        if "$ref" in schema:
            key = reference_key(schema["$ref"])
            return key is not None and self.fits(self._schemas.get(key), value, level + 1)
        members = _members(schema)
        if members is not None:
            return any(self.fits(member, value, level + 1) for member in members)
        values = _values(schema)
        if values is not None:
            return any(type(value) is type(each) and value == each for each in values)
        match schema.get("type"), value:
            case ("string", str()) | ("boolean", bool()) | ("null", None) | ("number", float()):
                return True
            case "integer" | "number", int():
                return not isinstance(value, bool) and abs(value) < _LARGEST
            case "array", list():
                items = schema.get("items")
                return "prefixItems" not in schema and (
                    items is None or all(self.fits(items, each, level + 1) for each in value)
                )
            case "object", dict():
                return self._fits_object(schema, value, level)
            case _:
                return False

    def _fits_object(self, schema: dict[str, Json], value: dict[str, Json], level: int) -> bool:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        extra = schema.get("additionalProperties")
        if not isinstance(properties, dict) or not isinstance(required, list):
            return False
        return all(name in value for name in required if name in properties) and all(
            self.fits(properties[name], each, level + 1)
            if name in properties
            else not isinstance(extra, dict) or self.fits(extra, each, level + 1)
            for name, each in value.items()
        )

    def _of_type(self, schema: dict[str, Json], name: Json, level: int) -> PythonType:
        match name:
            case "array":
                items = None if "prefixItems" in schema else schema.get("items")
                member = self.of(items, level + 1)
                return PythonType((f"list[{member}]",), member.names | {"list"})
            case "object":
                value = self.of(schema.get("additionalProperties"), level + 1)
                return PythonType((f"dict[str, {value}]",), value.names | {"dict", "str"})
            case "null":
                return _NONE
            case str() if name in _SCALARS:
                return PythonType((_SCALARS[name],), frozenset({_SCALARS[name]}))
            case _:
                return _ANY

    def _named(self, key: str | None) -> PythonType:
        if key is None or key not in self._schemas:
            return _ANY
        # Two aliases of None cannot be united with `|`, so such a one is written out.
        return _NONE if key in self._nulls else PythonType((key,), frozenset({key}))


def _members(schema: dict[str, Json]) -> list[Json] | None:
    for keyword in ("anyOf", "oneOf", "allOf"):
        members = schema.get(keyword)
        if isinstance(members, list) and (keyword != "allOf" or len(members) == 1):
            return members
    return None


def _values(schema: dict[str, Json]) -> list[Json] | None:
    values = schema.get("enum")
    if isinstance(values, list):
        return values
    return [schema["const"]] if "const" in schema else None


def _is_literal(value: Json) -> bool:
    return value is None or isinstance(value, str | bool | int)


def _null_keys(schemas: Mapping[str, Json]) -> frozenset[str]:
    """The keys whose values are null and nothing else."""
    found: set[str] = set()
    for key in in_definition_order(schemas):
        if _is_null(schemas[key], found):
            found.add(key)
    return frozenset(found)


def _is_null(schema: Json, known: Set[str]) -> bool:
    if not isinstance(schema, dict):
        return False
    if "$ref" in schema:
        return reference_key(schema["$ref"]) in known
    members = _members(schema)
    if members is not None:
        return bool(members) and all(_is_null(member, known) for member in members)
    return _values(schema) is None and schema.get("type") in ("null", ["null"])
