"""Parts that the API's schemas are made of, as functions."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """A reference to one of :data:`SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


def text(least: int = 0, most: int | None = None, **more: Any) -> Schema:
    """A text of ``least`` to ``most`` characters."""
    bounds = {} if most is None else {"maxLength": most}
    return {"type": "string", **({"minLength": least} if least else {}), **bounds, **more}


def whole(least: int, most: int | None = None, **more: Any) -> Schema:
    """A whole number; validators also take ``1.0`` for one, which the API does not."""
    return {
        "type": "integer",
        "minimum": least,
        **({} if most is None else {"maximum": most}),
        **more,
    }


def or_null(schema: Schema) -> Schema:
    """``schema``, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def list_of(items: Schema, most: int | None = None) -> Schema:
    """A list of at most ``most`` items."""
    return {"type": "array", "items": items, **({} if most is None else {"maxItems": most})}


def answered(required: Schema, optional: Schema | None = None) -> Schema:
    """An object that we answer: it has exactly these keys."""
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def taken(required: Schema, optional: Schema | None = None) -> Schema:
    """An object that we take: keys beyond these are ignored."""
    return {
        "type": "object",
        "properties": required | (optional or {}),
        **({"required": list(required)} if required else {}),
    }


OBJECT: Final[Schema] = {"type": "object"}
MOMENT: Final[Schema] = {
    "type": "string",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z$",
}
TOKEN_ID: Final[Schema] = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"}
