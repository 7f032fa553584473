"""Which values a JSON Schema admits, as formulas (`docs/spec/authoring.md` 4.2).

A formula may admit values that the schema does not, and never leaves one out. Keywords that are
not looked at leave more in; some of them narrow the search for an example that is easily made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any, Final, TypeAlias

from stateous.graph.positions import every_schema, resolve
from stateous.json import Json
from stateous_compiler.exclusive.logic import (
    Formula,
    both,
    either,
    implies,
    is_whole,
    negation,
    number,
    size_of,
)
from stateous_compiler.exclusive.pattern_samples import samples
from stateous_compiler.exclusive.terms import Term, Terms
from stateous_compiler.exclusive.text_order import Lengths
from stateous_compiler.kinds import Kind, kinds_of

ALL_KINDS: Final[tuple[Kind, ...]] = ("null", "boolean", "number", "string", "list", "object")
_TYPES: Final[Mapping[str, Kind]] = {
    "null": "null",
    "boolean": "boolean",
    "number": "number",
    "integer": "number",
    "string": "string",
    "array": "list",
    "object": "object",
}
_Conditions: TypeAlias = Callable[[dict[str, Any], Term], Iterator[Formula]]
_NO_REFERENCES: Final[frozenset[str]] = frozenset()


class Admission:
    """Unknown values that fit schemas of one document."""

    def __init__(self, terms: Terms, schemas: Mapping[str, Json]) -> None:
        self._terms = terms
        self._schemas = schemas

    def value(self, schema: Json, *, may_be_missing: bool = False) -> Term:
        """An unknown value of ``schema``, or null for what may be missing."""
        kinds = self._kinds(schema)
        if may_be_missing and "null" not in kinds:
            kinds = ("null", *kinds)
        member = list(self._members(schema, _NO_REFERENCES))
        term = self._terms.unknown(kinds, schema, lambda: self._member(member))
        fits = self._admits(schema, term, _NO_REFERENCES)
        self._terms.laws.append(either(both(may_be_missing, term.is_("null")), fits))
        return term

    def _member(self, schemas: list[Json]) -> Term:
        """A member of a list, which fits one of ``schemas``. The list says where it must.

        Lists inside of lists have slots only where a schema speaks of them.
        """
        schema: Json = {"anyOf": schemas} if schemas else True
        kinds = self._kinds(schema)
        inner = list(self._members(schema, _NO_REFERENCES))
        has_slots = len(kinds) < len(ALL_KINDS)
        return self._terms.unknown(
            kinds, schema, (lambda: self._innermost(inner)) if has_slots else None
        )

    def _innermost(self, schemas: list[Json]) -> Term:
        schema: Json = {"anyOf": schemas} if schemas else True
        return self._terms.unknown(self._kinds(schema), schema, None)

    def _kinds(self, schema: Json) -> tuple[Kind, ...]:
        kinds = kinds_of(self._schemas, schema)
        return ALL_KINDS if "unknown" in kinds else tuple(k for k in ALL_KINDS if k in kinds)

    def _members(self, schema: Json, references: frozenset[str]) -> Iterator[Json]:
        """Schemas such that each member of a list that fits ``schema`` fits one of them."""
        if not isinstance(schema, dict):
            yield True
            return
        parts = [part for key in ("anyOf", "oneOf", "allOf") for part in _listed(schema.get(key))]
        if isinstance(reference := schema.get("$ref"), str):
            if reference in references:
                yield True
                return
            references |= {reference}
            parts.append(resolve(self._schemas, reference))
        for part in parts:
            yield from self._members(part, references)
        if "items" in schema and "prefixItems" not in schema:
            yield schema["items"]
        elif not parts and "list" in self._kinds(schema):
            yield True

    def _admits(self, schema: Json, term: Term, references: frozenset[str]) -> Formula:
        """Whether ``term`` fits. ``references`` lead to ``schema`` and say nothing new."""
        if not isinstance(schema, dict):
            return schema is not False
        return both(*self._conditions(schema, term, references))

    def _conditions(
        self, schema: dict[str, Json], term: Term, references: frozenset[str]
    ) -> Iterator[Formula]:
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in references:
            target = resolve(self._schemas, reference)
            yield self._admits(target, term, references | {reference})
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                members = _listed(schema[keyword])
                yield either(*(self._admits(member, term, references) for member in members))
        for member in _listed(schema.get("allOf")):
            yield self._admits(member, term, references)
        if "type" in schema:
            named = schema["type"]
            names = named if isinstance(named, list) else [named]
            yield either(*(_is_of_type(term, str(name)) for name in names))
        if "enum" in schema:
            yield either(*(self.exactly(term, value) for value in _listed(schema["enum"])))
        if "const" in schema:
            yield self.exactly(term, schema["const"])
        of_kind: dict[Kind, _Conditions] = {
            "number": self._of_number,
            "string": self._of_text,
            "list": self._of_list,
            "object": self._of_object,
        }
        for kind, conditions in of_kind.items():
            if kind in term.kinds:
                for condition in conditions(schema, term):
                    yield implies(term.kinds[kind], condition)

    def _of_number(self, schema: dict[str, Any], term: Term) -> Iterator[Formula]:
        if "minimum" in schema:
            yield term.number >= number(schema["minimum"])
        if "maximum" in schema:
            yield term.number <= number(schema["maximum"])
        if "exclusiveMinimum" in schema:
            yield term.number > number(schema["exclusiveMinimum"])
        if "exclusiveMaximum" in schema:
            yield term.number < number(schema["exclusiveMaximum"])
        if "multipleOf" in schema:
            steps = term.number * number(1 / Fraction(str(schema["multipleOf"])))
            yield implies(self._terms.easy, is_whole(steps))

    def _of_text(self, schema: dict[str, Any], term: Term) -> Iterator[Formula]:
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        if least or most is not None:
            lengths = Lengths(int(least), None if most is None else int(most))
            yield self._terms.texts.has_length(term.text, lengths)
        if "pattern" in schema:
            matching = samples(schema["pattern"], int(least))
            written = self._terms.texts.is_written(term.text, matching)
            yield implies(self._terms.easy, written)

    def _of_list(self, schema: dict[str, Any], term: Term) -> Iterator[Formula]:
        if term.length is None:
            return
        if "minItems" in schema:
            yield term.length >= int(schema["minItems"])
        if "maxItems" in schema:
            yield term.length <= int(schema["maxItems"])
        if "items" in schema and "prefixItems" not in schema:
            for place, member in term.members():
                yield implies(place, self._admits(schema["items"], member, _NO_REFERENCES))
        for slot, part in zip(term.slots, _listed(schema.get("prefixItems")), strict=False):
            yield implies(self._terms.easy, self._admits(part, slot, _NO_REFERENCES))
        if schema.get("uniqueItems") is True:
            for (_, one), (place, other) in combinations(list(term.members()), 2):
                differ = negation(self._terms.equal(one, other))
                yield implies(both(self._terms.easy, place), differ)

    def _of_object(self, schema: dict[str, Any], term: Term) -> Iterator[Formula]:
        required = set(_listed(schema.get("required")))
        for key in sorted(map(str, required)):
            yield self._terms.require_key(term, key)
        least = max(len(required), int(schema.get("minProperties", 0)))
        if least:
            yield size_of(term.identity) >= least
        if schema.get("additionalProperties") is False and "patternProperties" not in schema:
            yield self._terms.has_only(term, schema.get("properties", {}))

    def exactly(self, term: Term, value: Json) -> Formula:
        """Whether ``term`` is ``value``, where true is not 1. Of objects more may pass."""
        equal = self._terms.equal(term, self._terms.written(value))
        match value:
            case bool():
                return both(equal, term.is_("boolean"))
            case int() | float():
                return both(equal, term.is_("number"))
            case list():
                members = zip(term.slots, value, strict=False)
                return both(equal, *(self.exactly(slot, member) for slot, member in members))
            case _:
                return equal


def longest_lists(schemas: Mapping[str, Json], schema: Json) -> int:
    """How many members ``schema``, or one that it names directly, speaks of one by one."""
    named = [resolve(schemas, part["$ref"]) for part in every_schema(schema) if "$ref" in part]
    parts = [part for each in (schema, *named) for part in every_schema(each)]
    return max((length for part in parts for length in _lengths(part)), default=0)


def _lengths(schema: dict[str, Any]) -> Iterator[int]:
    yield int(schema.get("minItems", 0))
    yield len(_listed(schema.get("prefixItems")))
    for value in (schema.get("const"), *_listed(schema.get("enum"))):
        yield len(_listed(value))


def _is_of_type(term: Term, name: str) -> Formula:
    kind = _TYPES.get(name)
    if kind is None:
        return True
    if name == "integer" and kind in term.kinds:
        return both(term.is_(kind), is_whole(term.number))
    return term.is_(kind)


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
