"""Outcomes as data: their JSON Schema, and the occurrence that such data makes (8.5).

A routine that lets a language model decide hands it the schema and turns the answer into an
occurrence, without knowing the events (`docs/spec/authoring.md` 8.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import TypeAdapter

from stateous.errors import OutcomeError
from stateous.routine.occurrence import Occurrence
from stateous.routine.payload import payload_of, validated

Events = Sequence[type[Occurrence[Any]]]

_REF: Final = "#/$defs/"
# Where schemas stand in a schema; whatever stands elsewhere (default, enum, const) is data.
_MAPS_OF_SCHEMAS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_LISTS_OF_SCHEMAS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SCHEMAS: Final = frozenset(
    {"items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"}
)


def names_of(events: Events) -> str:
    """The events for a sentence: ``'approved', 'rejected'``."""
    return ", ".join(repr(event.name) for event in events) or "none"


def reported_payload(
    state: str, events: Events, occurrence: Occurrence[Any]
) -> Mapping[str, Any] | None:
    """The payload of ``occurrence``, see :func:`stateous.routine.payload.payload_of`.

    Raises:
        OutcomeError: the payload does not fit, or the class of ``occurrence`` is none of
            ``events``. The sentence names these.
    """
    if type(occurrence) not in events:
        raise OutcomeError(
            f"{occurrence!r:.100} is no event of the state {state!r}: {names_of(events)}"
        )
    return payload_of(occurrence)


def schema_of_outcomes(state: str, events: Events) -> dict[str, Any]:
    """A ``oneOf`` with a branch per event; see :meth:`StateRef.outcome_schema`."""
    if not events:
        raise OutcomeError(f"the state {state!r} emits no events, so it has no outcomes")
    return {"oneOf": [_branch(event) for event in events]}


def _branch(event: type[Occurrence[Any]]) -> dict[str, Any]:
    properties: dict[str, Any] = {"event": {"const": event.name}}
    if event.payload_type() is not None:
        schema = TypeAdapter(event.payload_type()).json_schema()
        definitions = schema.pop("$defs", {})
        properties["payload"] = _inlined(schema, definitions, event, ())
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _inlined(
    schema: Any,
    definitions: Mapping[str, Any],
    event: type[Occurrence[Any]],
    inside: tuple[str, ...],
) -> Any:
    if not isinstance(schema, dict):
        return schema

    def each(inner: Any) -> Any:
        return _inlined(inner, definitions, event, inside)

    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str) and value.startswith(_REF):
            name = value.removeprefix(_REF)
            if name in inside:
                raise OutcomeError(
                    f"the payload of {event.name!r} has no schema without references: "
                    f"{name} refers to itself"
                )
            made |= _inlined(definitions[name], definitions, event, (*inside, name))
        elif key in _MAPS_OF_SCHEMAS:
            made[key] = {name: each(inner) for name, inner in value.items()}
        elif key in _LISTS_OF_SCHEMAS:
            made[key] = [each(inner) for inner in value]
        elif key in _SCHEMAS:
            made[key] = each(value)
        elif key != "discriminator":  # it names definitions, and only tells how to read faster
            made[key] = value
    return made


def make_occurrence(state: str, events: Events, data: object) -> Occurrence[Any]:
    """The occurrence that ``data`` describes; see :meth:`StateRef.outcome`."""
    allowed = f"the events of {state!r} are: {names_of(events)}"
    if not isinstance(data, dict):
        raise OutcomeError(
            f"an outcome is an object with 'event' and 'payload', not {data!r:.100}; {allowed}"
        )
    chosen = data.get("event")
    event = next((each for each in events if each.name == chosen), None)
    if event is None:
        what = f"unknown event {chosen!r:.100}" if "event" in data else "'event' is missing"
        raise OutcomeError(f"event: {what}; {allowed}")
    for key in data:
        if key not in ("event", "payload"):
            raise OutcomeError(f"{key!r:.100}: an outcome has no such field; {allowed}")
    if event.payload_type() is None:
        if "payload" in data:
            raise OutcomeError(f"payload: {event.name!r} carries none; {allowed}")
        return event()
    if "payload" not in data:
        raise OutcomeError(f"payload: {event.name!r} needs one; {allowed}")
    try:
        return event(validated(event, data["payload"]))
    except OutcomeError as error:
        raise OutcomeError(f"{error}; {allowed}") from None
