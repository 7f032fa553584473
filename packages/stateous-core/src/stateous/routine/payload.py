"""An occurrence's payload: does it fit its event, and what does it read as JSON (8.5).

The rules are those of `docs/spec/authoring.md` 8.5. A field that is None and has the default None
is left out, at every depth: the contract writes every optional property as ``T | None = None``,
and the workflow's own schema may not let it be null.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from pydantic import BaseModel, RootModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from stateous.errors import OutcomeError
from stateous.json import JsonObject
from stateous.routine.jsonable import as_json
from stateous.routine.occurrence import Occurrence


def payload_of(occurrence: Occurrence[Any]) -> JsonObject | None:
    """What is reported as the payload of ``occurrence``; None for an event without one.

    An instance of the event's model is dumped as it is. A dict, or an instance of another model,
    is validated against the event's model first.

    Raises:
        OutcomeError: the payload does not fit the event. The sentence names the first bad field.
    """
    event = type(occurrence)
    payload: Any = occurrence.payload
    if event.payload_type() is None:
        if payload is None:
            return None
        raise OutcomeError(f"{event.name!r} carries no payload, and got {payload!r:.100}")
    try:
        dumped = as_json(f"the payload of {event.name!r}", _dump(event, payload))
    except TypeError as error:
        raise OutcomeError(str(error)) from None
    if not isinstance(dumped, dict):
        raise OutcomeError(f"the payload of {event.name!r} is no JSON object: {payload!r:.100}")
    return dumped


def validated(event: type[Occurrence[Any]], payload: object) -> Any:
    """``payload``, a dict, as an instance of the event's model.

    Raises:
        OutcomeError: it does not fit. The sentence names the first bad field.
    """
    if not isinstance(payload, dict):
        raise OutcomeError(
            f"the payload of {event.name!r} must be an object of its fields, not {payload!r:.100}"
        )
    try:
        return TypeAdapter(event.payload_type()).validate_python(payload)
    except ValidationError as error:
        raise OutcomeError(f"{event.name!r} got a bad payload: {_first_problem(error)}") from None


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, chain(("payload",), first["loc"])))
    return f"{field}: {first['msg']}"


def _dump(event: type[Occurrence[Any]], payload: object) -> object:
    model = event.payload_model()
    try:
        if model is None or not isinstance(payload, model):
            if isinstance(payload, BaseModel):
                payload = payload.model_dump(mode="json", by_alias=True, warnings=False)
            payload = validated(event, payload)
        if not isinstance(payload, BaseModel):
            return TypeAdapter(event.payload_type()).dump_python(
                payload, mode="json", warnings=False
            )
        dumped = payload.model_dump(mode="json", by_alias=True, warnings=False)
    except (PydanticSerializationError, RecursionError, ValueError, TypeError) as error:
        if isinstance(error, OutcomeError):
            raise
        raise OutcomeError(f"the payload of {event.name!r} cannot be written: {error}") from None
    _leave_out_nulls(payload, dumped)
    return dumped


def _leave_out_nulls(value: object, dumped: Any) -> None:
    """Take the fields that are None by default out of ``dumped``, which was made from ``value``.

    A custom serializer may have given ``dumped`` another shape; what does not match is left alone.
    """
    if isinstance(value, RootModel):
        _leave_out_nulls(value.root, dumped)
    elif isinstance(value, BaseModel) and isinstance(dumped, dict):
        for name, field in type(value).model_fields.items():
            key = field.serialization_alias or name
            if key not in dumped:
                continue
            member = getattr(value, name, None)
            if member is None and dumped[key] is None and field.default is None:
                del dumped[key]
            else:
                _leave_out_nulls(member, dumped[key])
    elif isinstance(value, dict) and isinstance(dumped, dict) and len(value) == len(dumped):
        for member, written in zip(value.values(), dumped.values(), strict=True):
            _leave_out_nulls(member, written)
    elif isinstance(value, list | tuple) and isinstance(dumped, list):
        for member, written in zip(value, dumped, strict=False):
            _leave_out_nulls(member, written)
