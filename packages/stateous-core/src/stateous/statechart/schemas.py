"""The schemas of a chart's declared events (`docs/spec/statechart.md` 1.1, 5.5).

JSON Schema 2020-12, formats not checked, references only inside the schema itself. jsonschema-rs is
imported on use: who only reads a chart's values does without it.
"""

from __future__ import annotations

from typing import Final

from stateous.errors import GraphError
from stateous.graph.positions import every_schema
from stateous.graph.references import levels_of
from stateous.graph.schemas import SchemaValidator, validator_of
from stateous.json import Json
from stateous.limits import MAX_SCHEMA_LEVELS

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_REFERENCES: Final = ("$ref", "$dynamicRef")
_DEFINITION: Final = "#/$defs/"
_ROOT: Final = "root"


def schema_problem(schema: Json) -> str | None:
    """Why ``schema`` cannot be the schema of an event, as a sentence; None when it can.

    An empty schema, which takes anything, is null too.
    """
    if schema is None:
        return None
    if not isinstance(schema, dict | bool):
        return "the schema of an event must be a mapping"
    for part in every_schema(schema):
        for keyword in _REFERENCES:
            reference = part.get(keyword)
            if isinstance(reference, str) and not reference.startswith("#"):
                return f"the reference {reference!r:.80} leads out of the schema of the event"
        dialect = part.get("$schema", _DIALECT)
        if dialect != _DIALECT:
            return f"the schema of an event is JSON Schema 2020-12, not {dialect!r:.80}"
    if levels_of(_for_counting(schema)) > MAX_SCHEMA_LEVELS:
        return "the schema's definitions refer to one another in too long a chain"
    try:
        compile_event_schema("event", schema)
    except GraphError as error:
        return str(error).replace("the schema 'event' is", "the schema of an event is")
    return None


def compile_event_schema(event: str, schema: dict[str, Json] | bool) -> SchemaValidator:
    """What checks the data of ``event``; ``schema`` has passed :func:`schema_problem`.

    Raises:
        GraphError: it is no JSON Schema.
    """
    return validator_of(event, schema)


def _for_counting(schema: Json) -> dict[str, Json]:
    """The schema and its definitions side by side, as the counter of levels knows them.

    What does not refer to a definition as a whole is taken for a reference to all of it, which
    counts more levels than there are, never fewer.
    """
    if not isinstance(schema, dict):
        return {}
    definitions = schema.get("$defs")
    parts = dict(definitions) if isinstance(definitions, dict) else {}
    own = {key: value for key, value in schema.items() if key != "$defs"}
    named = {f"d:{key}": _renamed(value) for key, value in parts.items()}
    return {_ROOT: _renamed(own), **named}


def _renamed(value: Json) -> Json:
    if isinstance(value, list):
        return [_renamed(member) for member in value]
    if not isinstance(value, dict):
        return value
    renamed = {key: _renamed(member) for key, member in value.items()}
    for keyword in _REFERENCES:
        if isinstance(reference := value.get(keyword), str):
            renamed["$ref"] = _counted(reference)
    return renamed


def _counted(reference: str) -> str:
    if reference.startswith(_DEFINITION):
        return f"#/schemas/d:{reference.removeprefix(_DEFINITION).split('/')[0]}"
    return f"#/schemas/{_ROOT}"
