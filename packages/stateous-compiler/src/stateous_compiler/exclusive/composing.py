"""Lists and objects for examples: what the solver leaves open is filled with values that fit.

What is made here is a proposal, which the real validator looks at before it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Final

from stateous.graph.positions import resolve
from stateous.json import Json
from stateous_compiler.exclusive.readback import NotMadeError
from stateous_compiler.kinds import Kind

_DEEPEST: Final = 20
_MOST_PROPOSALS: Final = 50
_MOST_OTHERS: Final = 3

#: Values that fit a schema, as far as the solver can tell, each once.
Fill = Callable[[Json, int], Iterator[Json]]


@dataclass(slots=True)
class Shape:
    """What some schemas together say of an object."""

    properties: dict[str, list[Json]] = field(default_factory=dict)
    required: dict[str, None] = field(default_factory=dict)
    others: list[Json] = field(default_factory=list)
    least: int = 0

    def add(self, schema: Mapping[str, Json]) -> None:
        """Let it fit ``schema``, too; references and unions have been resolved."""
        properties = schema.get("properties")
        if isinstance(properties, dict):
            for name, part in properties.items():
                self.properties.setdefault(name, []).append(part)
        self.required.update(dict.fromkeys(map(str, _listed(schema.get("required")))))
        if "additionalProperties" in schema:
            self.others.append(schema["additionalProperties"])
        least = schema.get("minProperties", 0)
        if isinstance(least, int | float):
            self.least = max(self.least, int(least))

    def schema_of(self, key: str) -> Json:
        """What the value of ``key`` must fit."""
        return {"allOf": self.properties.get(key, self.others)}


class Composer:
    """Makes lists and objects for the schemas of one document."""

    def __init__(self, schemas: Mapping[str, Json], fill: Fill) -> None:
        self._schemas = schemas
        self._fill = fill

    def compose(
        self,
        kind: Kind,
        schemas: Sequence[Json],
        keys: Mapping[str, bool],
        others: Sequence[Json],
        level: int,
    ) -> Json:
        """A list or object that fits all ``schemas``, has the true ``keys``, is none of ``others``.

        Raises:
            NotMadeError: it finds none.
        """
        if level > _DEEPEST:
            raise NotMadeError
        proposals = (
            self._objects(schemas, keys, level)
            if kind == "object"
            else self._fill({"allOf": [{"type": "array"}, *schemas]}, level + 1)
        )
        for proposal in islice(proposals, _MOST_PROPOSALS):
            if proposal not in others:
                return proposal
        raise NotMadeError

    def _objects(
        self, schemas: Sequence[Json], keys: Mapping[str, bool], level: int
    ) -> Iterator[Json]:
        for parts in self._alternatives(list(schemas), frozenset()):
            shape = Shape()
            for part in parts:
                shape.add(part)
            if not any(keys.get(name) is False for name in shape.required):
                yield from self._of_shape(shape, keys, level)

    def _of_shape(self, shape: Shape, keys: Mapping[str, bool], level: int) -> Iterator[Json]:
        wanted = dict.fromkeys([*shape.required, *(key for key in keys if keys[key])])
        spare = [name for name in shape.properties if name not in wanted and name not in keys]
        extra = (
            name
            for number in count(1)
            if (name := f"k{number}") not in keys and name not in shape.properties
        )
        open_ended = False not in shape.others
        while len(wanted) < max(1, shape.least):
            if not spare and not open_ended:
                return
            wanted[spare.pop(0) if spare else next(extra)] = None
        values = {name: self._values(shape, name, level) for name in wanted}
        made: dict[str, Json] = {}
        for name, proposals in values.items():
            for value in islice(proposals, 1):
                made[name] = value
        if len(made) < len(wanted):
            return
        yield made
        # Then others, for a model in which it must differ from an object that it could be.
        more = [*(islice(extra, 2) if open_ended else ()), *spare]
        values.update({name: self._values(shape, name, level) for name in more})
        for name, proposals in values.items():
            for value in islice(proposals, _MOST_OTHERS):
                yield {**made, name: value}

    def _values(self, shape: Shape, name: str, level: int) -> Iterator[Json]:
        return self._fill(shape.schema_of(name), level + 1)

    def _alternatives(
        self, schemas: list[Json], references: frozenset[str]
    ) -> Iterator[list[Mapping[str, Json]]]:
        """The ways to fit all ``schemas``, each a list of schemas without references and unions.

        ``references`` have been followed.
        """
        if not schemas:
            yield []
            return
        schema, *rest = schemas
        if schema is True:
            yield from self._alternatives(rest, references)
        if not isinstance(schema, dict):
            return
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in references:
            rest = [resolve(self._schemas, reference), *rest]
            references |= {reference}
        rest = [*_listed(schema.get("allOf")), *rest]
        if not _may_be_object(schema):
            return
        for choice in _listed(schema.get("anyOf", schema.get("oneOf", [True]))):
            for others in self._alternatives([choice, *rest], references):
                yield [schema, *others]


def _may_be_object(schema: Mapping[str, Json]) -> bool:
    named = schema.get("type", "object")
    return "object" in (named if isinstance(named, list) else [named]) and "const" not in schema


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
