"""What pydantic says of the models of a workflow: schemas, property names, field types.

All schemas of a document are written in one go (`docs/spec/authoring.md` 6.2), because only then
two nested models of one name get different keys. One model that has no JSON Schema would spoil that
for all, so each is tried alone first; those that fail take no part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import AliasChoices, AliasPath, BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from stateous.errors import GraphError, JsonError
from stateous.graph.positions import (
    properties_of,
    reference_key,
    required_of,
    without_keywords,
)
from stateous.graph.schemas import validators_of
from stateous.json import Json, read_json
from stateous.limits import MAX_GRAPH_DEPTH
from stateous_compiler.set_order import in_one_order

_TEMPLATE: Final = "#/schemas/{model}"
_TITLE: Final = frozenset({"title"})


class _Quiet(GenerateJsonSchema):
    # A default that JSON cannot hold is no default of the schema; nobody is warned of it.
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def encode_default(self, dft: Any) -> Any:
        return in_one_order(dft, super().encode_default(dft))


@dataclass(frozen=True, slots=True)
class Shape:
    """What guards, ``into`` and ``inputs`` may name of one model: its properties in JSON.

    The schema of a property is None when the model has no JSON Schema.
    """

    name: str
    properties: Mapping[str, Json]
    required: frozenset[str]
    #: The fields as Python has them, by property.
    fields: Mapping[str, FieldInfo]
    #: The property of each field whose name in Python is another one.
    renamed: Mapping[str, str]

    def lacks(self, key: str) -> str | None:
        """Why ``key`` is not a property, to stand behind what reads it; None when it is one."""
        if key in self.properties:
            return None
        if key in self.renamed:
            return f"the field {key} of {self.name} is called {self.renamed[key]!r} in JSON"
        return f"{self.name} has no {key!r}"


@dataclass(frozen=True, slots=True)
class Models:
    """The schemas of all models that can be written, and why the others cannot."""

    #: Without titles, by key, in the order of the keys.
    schemas: Mapping[str, Json]
    keys: Mapping[type[BaseModel], str]
    failures: Mapping[type[BaseModel], str]
    shapes: Mapping[type[BaseModel], Shape]


def write_models(models: Iterable[type[BaseModel]]) -> Models:
    """The JSON Schemas of ``models`` and of everything that they refer to."""
    models = list(models)
    failures = {}
    for model in models:
        try:
            keys, schemas = _write([model])
            validators_of(schemas, keys.values())
        except _Unwritable as error:
            failures[model] = str(error)
        except GraphError as error:
            failures[model] = f"{model.__name__}: {error}"
    keys, schemas = _write([model for model in models if model not in failures])
    shapes = {model: _shape(model, schemas, keys.get(model)) for model in models}
    return Models(schemas, keys, failures, shapes)


class _Unwritable(Exception):
    """A model has no JSON Schema; the text is the first line of the reason."""


def _write(models: list[type[BaseModel]]) -> tuple[dict[type[BaseModel], str], dict[str, Json]]:
    try:
        places, written = models_json_schema(
            [(model, "validation") for model in models],
            by_alias=True,
            ref_template=_TEMPLATE,
            schema_generator=_Quiet,
        )
    except Exception as error:  # also what a model's own hooks raise
        raise _Unwritable(_first_line(error)) from None
    definitions = _as_json(written.get("$defs", {}))
    schemas = {key: without_keywords(definitions[key], _TITLE) for key in sorted(definitions)}
    keys = {}
    for model in models:
        key = reference_key(places[model, "validation"].get("$ref"))
        if key is None or key not in schemas:
            raise _Unwritable(f"{model.__name__} writes a schema of its own instead of a model's")
        keys[model] = key
    return keys, schemas


def _as_json(definitions: Any) -> dict[str, Json]:
    try:
        text = json.dumps(definitions, allow_nan=False)
    except ValueError:
        raise _Unwritable("a default or a bound is NaN or infinite, which JSON lacks") from None
    except (TypeError, RecursionError) as error:
        raise _Unwritable(_first_line(error)) from None
    try:
        value = read_json(text.encode(), max_depth=MAX_GRAPH_DEPTH)
    except JsonError as error:
        raise _Unwritable(str(error)) from None
    assert isinstance(value, dict)
    return value


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _shape(model: type[BaseModel], schemas: Mapping[str, Json], key: str | None) -> Shape:
    named = {_property(field, name): name for name, field in model.model_fields.items()}
    fields = {prop: model.model_fields[name] for prop, name in named.items()}
    if key is None:  # a model without a schema still has names
        properties: Mapping[str, Json] = dict.fromkeys(fields)
        required = frozenset(prop for prop, field in fields.items() if field.is_required())
    else:
        properties = properties_of(schemas, key)
        required = required_of(schemas, key)
    renamed = {name: prop for prop, name in named.items() if name != prop}
    return Shape(model.__name__, properties, required, fields, renamed)


def _property(field: FieldInfo, name: str) -> str:
    """The name of a field in JSON, as pydantic's schemas have it."""
    match field.validation_alias:
        case str() as alias:
            return alias
        case AliasPath(path=[str() as alias]):
            return alias
        case AliasChoices(choices=choices):
            for choice in choices:
                match choice:
                    case str() | AliasPath(path=[str()]):
                        return choice if isinstance(choice, str) else str(choice.path[0])
    return name
