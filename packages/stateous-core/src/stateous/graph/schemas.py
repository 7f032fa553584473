"""Contexts and payloads checked against the schemas of a graph document.

JSON Schema 2020-12, formats not checked, references resolved inside the document and never
fetched. The validators are compiled once per document. jsonschema-rs (the extra ``charts``) is
imported on use, because a client that only reads documents does without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

from stateous.errors import GraphError
from stateous.graph.document import GraphDocument
from stateous.graph.positions import properties_of, reference_to
from stateous.json import Json, JsonObject, write_json

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

_BASE: Final = "stateous:graph"
_METASCHEMA: Final = "https://json-schema.org/draft/2020-12/schema"

# jsonschema-rs writes this where a sentence would hold the value; no text of a document has it.
_MASK: Final = "\x00"

_MOST_PROBLEMS: Final = 20
#: Members of lists and objects, in all.
_SMALL: Final = 500
_LONGEST_VALUE: Final = 80
_LONGEST_SENTENCE: Final = 400


class SchemaValidator:
    """One schema of a document, ready to check values and to fill in defaults."""

    def __init__(
        self, name: str, validator: Draft202012Validator, defaults: Mapping[str, Json]
    ) -> None:
        self.name = name
        self._validator = validator
        self._defaults = defaults

    def problems(self, value: Json) -> list[str]:
        """What is wrong with ``value``, as ``<dotted path, or the model's name>: <why>``.

        Empty when it fits. At most 20 problems are told, of a large value only the first, and
        long values are cut (`docs/spec/wire.md` 2.1).
        """
        if self._validator.is_valid(value):
            return []
        return list(self._tell(value)) or [f"{self.name}: the value does not fit"]

    def with_defaults(self, context: JsonObject) -> JsonObject:
        """``context`` with the defaults of its missing top-level properties.

        `docs/spec/authoring.md` 2.6. Payloads get none.
        """
        missing = {
            key: deepcopy(default) for key, default in self._defaults.items() if key not in context
        }
        return {**missing, **context}

    def _tell(self, value: Json) -> Iterator[str]:
        errors = self._errors(value)
        for error in islice(errors, _MOST_PROBLEMS):
            where = ".".join(map(str, error.instance_path)) or self.name
            yield f"{_cut(where, _LONGEST_VALUE)}: {_reason(error, value)}"
        if next(errors, None) is not None:
            yield f"{self.name}: there are more problems"

    def _errors(self, value: Json) -> Iterator[ValidationError]:
        # jsonschema-rs makes all errors before it hands out the first: half a million of them fit
        # into one request, and would take seconds.
        if _is_small(value):
            yield from self._validator.iter_errors(value)
        else:
            try:
                self._validator.validate(value)
            except ValueError as error:
                yield cast("ValidationError", error)


def compile_schemas(document: GraphDocument) -> Mapping[str, SchemaValidator]:
    """A validator for each context and payload model of the document.

    Raises:
        GraphError: a schema of the document, used or not, is no JSON Schema.
    """
    used = {flow.context for flow in document.flows}
    used |= {event.payload for flow in document.flows for event in flow.events.values()}
    return validators_of(document.schemas, [key for key in document.schemas if key in used])


def validators_of(
    schemas: Mapping[str, Json], used: Iterable[str]
) -> Mapping[str, SchemaValidator]:
    """A validator for each key in ``used``; the other schemas are only looked at.

    Raises:
        GraphError: one of ``schemas`` is no JSON Schema.
    """
    from jsonschema_rs import Draft202012, Draft202012Validator, Registry

    _check(schemas)
    try:
        registry = Registry(
            [(_BASE, {"schemas": dict(schemas)})], draft=Draft202012, retriever=_fetch_nothing
        )
    except ValueError as error:
        raise GraphError(f"the schemas cannot be used: {_first_line(error)}") from None
    validators = {}
    for key in used:
        try:
            validator = Draft202012Validator(
                {"$ref": _BASE + reference_to(key)},
                registry=registry,
                retriever=_fetch_nothing,
                validate_formats=False,
                mask=_MASK,
            )
        except ValueError as error:
            raise _not_a_schema(key, error) from None
        validators[key] = SchemaValidator(key, validator, _defaults(schemas, key))
    return validators


def validator_of(name: str, schema: dict[str, Json] | bool) -> SchemaValidator:
    """A validator for a schema that stands alone: its references begin at itself.

    Raises:
        GraphError: it is no JSON Schema.
    """
    from jsonschema_rs import Draft202012Validator

    _check({name: schema})
    try:
        validator = Draft202012Validator(
            schema, retriever=_fetch_nothing, validate_formats=False, mask=_MASK
        )
    except ValueError as error:
        raise _not_a_schema(name, error) from None
    return SchemaValidator(name, validator, {})


@lru_cache(1)
def _metaschema() -> Draft202012Validator:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator({"$ref": _METASCHEMA}, retriever=_fetch_nothing)


def _check(schemas: Mapping[str, Json]) -> None:
    for key, schema in schemas.items():
        wrong = next(iter(_metaschema().iter_errors(schema)), None)
        if wrong is not None:
            raise _not_a_schema(key, wrong)


def _defaults(schemas: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    return {
        name: schema["default"]
        for name, schema in properties_of(schemas, key).items()
        if isinstance(schema, dict) and "default" in schema
    }


def _is_small(value: Json) -> bool:
    count = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict | list):
            count += len(item)
            if count > _SMALL:
                return False
            stack.extend(item.values() if isinstance(item, dict) else item)
    return True


def _fetch_nothing(uri: str) -> Any:
    raise ValueError(f"{uri} lies outside the document")


def _not_a_schema(key: str, error: ValueError) -> GraphError:
    return GraphError(f"the schema {key!r} is not a JSON Schema: {_first_line(error)}")


def _first_line(error: ValueError) -> str:
    return _cut(str(error).partition("\n")[0].replace(_MASK, "a value"), _LONGEST_SENTENCE)


def _reason(error: ValidationError, value: Any) -> str:
    sentence = error.message
    if error.kind.name in ("type", "required"):
        sentence = sentence.replace('"', "'")
    if _MASK in sentence:
        for step in error.instance_path:
            value = value[step]
        sentence = sentence.replace(_MASK, _cut(write_json(value), _LONGEST_VALUE))
    return _cut(sentence, _LONGEST_SENTENCE)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
