"""Where schemas stand inside a JSON Schema, and where its references lead.

A *schema position* (`docs/spec/authoring.md` 6.2) is a place whose value is a schema again. Below
``default``, ``const``, ``enum``, ``examples`` and ``discriminator`` stands data: keywords there
are not keywords. Everything here takes schemas of any origin, also such as break their own rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Final
from urllib.parse import quote, unquote

from stateous.json import Json

_REFERENCE: Final = "#/schemas/"

_MAPS: Final = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_LISTS: Final = frozenset({"anyOf", "allOf", "oneOf", "prefixItems"})
_SINGLES: Final = frozenset(
    {
        "items", "additionalProperties", "not", "if", "then", "else", "contains",
        "propertyNames", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip


def subschemas(schema: Json) -> Iterator[Json]:
    """The schemas directly inside ``schema``."""
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword in _MAPS and isinstance(value, dict):
            yield from value.values()
        elif keyword in _LISTS and isinstance(value, list):
            yield from value
        elif keyword in _SINGLES:
            yield value


def every_schema(schema: Json) -> Iterator[dict[str, Json]]:
    """``schema`` and all schemas inside it, those that are ``true`` or ``false`` left out."""
    stack = [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(subschemas(item))


def without_keywords(schema: Json, keywords: Set[str]) -> Json:
    """A copy of ``schema`` in which no schema has one of ``keywords``; data stays as it is."""
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Json] = {}
    for keyword, value in schema.items():
        if keyword in keywords:
            continue
        if keyword in _MAPS and isinstance(value, dict):
            kept[keyword] = {name: without_keywords(sub, keywords) for name, sub in value.items()}
        elif keyword in _LISTS and isinstance(value, list):
            kept[keyword] = [without_keywords(sub, keywords) for sub in value]
        elif keyword in _SINGLES:
            kept[keyword] = without_keywords(value, keywords)
        else:
            kept[keyword] = value
    return kept


def reference_key(reference: Json) -> str | None:
    """The key of ``schemas`` that ``reference`` names as a whole, else None."""
    if not isinstance(reference, str) or not reference.startswith(_REFERENCE):
        return None
    rest = reference.removeprefix(_REFERENCE)
    return None if "/" in rest else _unescape(rest)


def resolve(schemas: Mapping[str, Json], reference: Json) -> Json:
    """The schema that ``reference`` leads to; None when it leads to none.

    Only references into the document count (``#/schemas/<Key>``, or a schema inside that one):
    nothing is ever fetched from elsewhere.
    """
    if not isinstance(reference, str) or not reference.startswith(_REFERENCE):
        return None
    key, *steps = map(_unescape, reference.removeprefix(_REFERENCE).split("/"))
    found: Json = schemas.get(key)
    for step in steps:
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list) and step.isascii() and step.isdigit():
            found = found[int(step)] if len(step) < 10 and int(step) < len(found) else None
        else:
            return None
    return found if isinstance(found, dict | bool) else None


def reference_to(key: str) -> str:
    """The reference that names ``key``, with what a JSON pointer in a URI must escape."""
    return _REFERENCE + quote(key.replace("~", "~0").replace("/", "~1"))


def follow(schemas: Mapping[str, Json], schema: Json) -> Json:
    """``schema`` itself, or what its bare ``$ref`` or ``allOf`` of one leads to in the end."""
    for _ in range(len(schemas) + 100):  # a circle of references leads nowhere
        if not isinstance(schema, dict):
            return schema
        members = schema.get("allOf")
        if "$ref" in schema:
            schema = resolve(schemas, schema["$ref"])
        elif isinstance(members, list) and len(members) == 1 and "properties" not in schema:
            schema = members[0]
        else:
            return schema
    return None


def properties_of(schemas: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    """The top-level properties of the schema ``key``, by their names in JSON."""
    schema = follow(schemas, schemas.get(key))
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def required_of(schemas: Mapping[str, Json], key: str) -> frozenset[str]:
    """The names that the schema ``key`` requires of an object."""
    schema = follow(schemas, schemas.get(key))
    required = schema.get("required") if isinstance(schema, dict) else None
    return frozenset(map(str, required)) if isinstance(required, list) else frozenset()


def _unescape(step: str) -> str:
    return unquote(step).replace("~1", "/").replace("~0", "~")
