"""Sets inside defaults, written in one order, so that a workflow has the same hashes each time.

Python iterates over a set of texts or of enum members in another order in each process. Pydantic
sorts a default that is itself a set of what can be compared; this is about all the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel, RootModel


def in_one_order(value: object, written: Any) -> Any:
    """``written``, the JSON made from ``value``, with the members of sets sorted at every depth.

    A custom serializer may have given ``written`` another shape; what does not match stays.
    """
    match value, written:
        case RootModel(), _:
            return in_one_order(value.root, written)
        case BaseModel(), dict():
            return _members(_fields_of(value), written)
        case Mapping(), dict() if len(value) == len(written):
            pairs = zip(value.values(), written.items(), strict=True)
            return {key: in_one_order(member, each) for member, (key, each) in pairs}
        case ((Set() | Sequence()), list()) if len(value) == len(written):
            members = [in_one_order(*pair) for pair in zip(value, written, strict=True)]
            return _sorted(members) if isinstance(value, Set) else members
        case _, dict() if is_dataclass(value):
            named = {field.name: getattr(value, field.name, None) for field in fields(value)}
            return _members(named, written)
        case _:
            return written


def _fields_of(model: BaseModel) -> dict[str, object]:
    named = {
        field.serialization_alias or name: getattr(model, name, None)
        for name, field in type(model).model_fields.items()
    }
    return {**named, **(model.model_extra or {})}


def _members(values: Mapping[str, object], written: dict[str, Any]) -> dict[str, Any]:
    return {key: in_one_order(values.get(key), each) for key, each in written.items()}


def _sorted(members: list[Any]) -> list[Any]:
    try:
        return sorted(members)
    except TypeError:  # of several kinds, or objects
        return sorted(members, key=lambda member: json.dumps(member, sort_keys=True))
