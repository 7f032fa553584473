"""What the guards of one group can read, and which values that can have (`authoring.md` 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from stateous.guards import Guard
from stateous.guards.nodes import ContextKey, Count, PayloadField
from stateous.json import Json

if TYPE_CHECKING:
    from stateous.graph.schemas import SchemaValidator

#: What a guard reads outside of quantifiers.
Reading: TypeAlias = Count | ContextKey | PayloadField

# No key of a document's schemas has a space.
_READ: Final = "as guards read it"


@dataclass(frozen=True)
class Record:
    """A model as guards read it: its properties, one by one."""

    schemas: Mapping[str, Json]
    properties: Mapping[str, Json]
    required: frozenset[str]

    def fits(self, name: str, value: Json) -> bool:
        """Whether ``value`` passes the run-time check of the property ``name``."""
        return not self._validator.problems({name: value})

    @cached_property
    def _validator(self) -> SchemaValidator:
        from stateous.graph.schemas import validators_of

        properties: Json = {"properties": dict(self.properties)}
        return validators_of({**self.schemas, _READ: properties}, [_READ])[_READ]


@dataclass(frozen=True, slots=True)
class World:
    """What there is to read. Without a model every key is there, with any value."""

    schemas: Mapping[str, Json]
    event: str
    context: Record | None = None
    payload: Record | None = None

    def is_known(self, *guards: Guard) -> bool:
        """Whether all that ``guards`` read has a schema, or no model: not so for a broken model."""
        return all(self.schema_of(reading) is not None for reading in readings_of(*guards))

    def schema_of(self, reading: Reading) -> Json:
        """The schema of its values. A count has one, too."""
        match reading:
            case Count(event):
                return {"type": "integer", "minimum": 1 if event == self.event else 0}
            case ContextKey(key):
                return True if self.context is None else self.context.properties.get(key, True)
            case PayloadField(name):
                return True if self.payload is None else self.payload.properties.get(name, True)

    def may_be_missing(self, reading: Reading) -> bool:
        """Whether it reads as null where its schema says nothing of null."""
        match reading:
            case Count():
                return False
            case ContextKey(key):
                return self.context is None or not (
                    key in self.context.required or _has_default(self.context.properties.get(key))
                )
            case PayloadField(name):
                return self.payload is None or name not in self.payload.required

    def admits(self, reading: Reading, value: Json) -> bool:
        """Whether ``value`` passes the run-time checks."""
        match reading:
            case Count():
                return True
            case ContextKey(key):
                return self.context is None or self.context.fits(key, value)
            case PayloadField(name):
                return self.payload is None or self.payload.fits(name, value)

    def can_be(self, reading: Reading, value: Json) -> bool:
        """Whether it can be read as ``value``: which is null, too, where nothing is."""
        is_missing = value is None and self.may_be_missing(reading)
        return is_missing or self.admits(reading, value)


def readings_of(*guards: Guard) -> list[Reading]:
    """What ``guards`` read, in the order in which examples tell it (`docs/spec/authoring.md` 4.3)."""
    events = {event for guard in guards for event in guard.events}
    keys = {key for guard in guards for key in guard.context_keys}
    fields = {field for guard in guards for field in guard.payload_fields}
    return [
        *map(Count, sorted(events)),
        *map(ContextKey, sorted(keys)),
        *map(PayloadField, sorted(fields)),
    ]


def _has_default(schema: Json) -> bool:
    return isinstance(schema, dict) and "default" in schema
