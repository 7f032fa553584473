"""JSON Schemas of what the API takes and answers (`docs/spec/wire.md` 1.5, 2), for its document."""

from __future__ import annotations

from typing import Any, Final

from stateous.limits import (
    MAX_CLAIM_WAIT,
    MAX_GRANTS_PER_CLAIM,
    MAX_ID,
    MAX_MEMORY_KEY,
    MAX_QUEUE_NAME,
    MAX_QUEUES_PER_CLAIM,
    MAX_REQUEST_ID,
    MAX_SUPERVISOR_NAME,
    MAX_TASKS_PER_HEARTBEAT,
)
from stateous_controlplane.engine.rows import Status, TaskStatus

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


def _number_with_attempt(schema: Schema) -> Schema:
    """``number`` counts the messages of one attempt, which must be named then."""
    both = {"type": "integer"}
    return schema | {
        "if": {"properties": {"number": both}, "required": ["number"]},
        "then": {"properties": {"attempt": both}, "required": ["attempt"]},
    }


OBJECT: Final[Schema] = {"type": "object"}
MOMENT: Final[Schema] = {
    "type": "string",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{6})?Z$",
}
TOKEN_ID: Final[Schema] = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"}
_HASH: Final[Schema] = or_null(text())
_ID: Final = whole(1, MAX_ID)
_SUPERVISOR: Final = text(1, MAX_SUPERVISOR_NAME)
_QUEUES: Final = list_of(text(1, MAX_QUEUE_NAME), MAX_QUEUES_PER_CLAIM)
_DURATION: Final[Schema] = {
    "type": "string",
    "pattern": "^[1-9][0-9]*[smhd]$",
    "description": "at most 3650 days",
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Refusal": answered({"error": text(1), "code": text(1)}),
    "Token": answered(
        {
            "token": text(1),
            "state": text(1),
            "status": {"enum": [status.value for status in Status]},
            "visit": whole(0),
            "context": OBJECT,
            "entered_at": MOMENT,
        },
        {"parent": text(1)},
    ),
    "Duplicate": answered(
        {"duplicate": {"const": True}, "token": ref("Token")}, {"matches": {"const": False}}
    ),
    "Entry": answered({"seq": whole(1), "at": MOMENT, "kind": text(1), "data": OBJECT}),
    "Grant": answered(
        {
            "task": _ID,
            "token": text(1),
            "state": text(1),
            "visit": whole(1),
            "attempt": whole(1),
            "context": OBJECT,
            "memory": OBJECT,
            "entered_by": answered({"name": text(1)}, {"payload": OBJECT}),
        }
    ),
    "Grants": answered({"tasks": list_of(ref("Grant"), MAX_GRANTS_PER_CLAIM)}),
    "Lost": answered({"lost": list_of(_ID)}),
    "Task": answered(
        {
            "task": _ID,
            "token": text(1),
            "state": text(1),
            "visit": whole(1),
            "status": {"enum": [status.value for status in TaskStatus]},
            "attempt": whole(0),
            "claimed_by": or_null(text(1)),
            "lease_until": or_null(MOMENT),
            "queued_at": MOMENT,
        }
    ),
    "Health": answered({"workflow": _HASH, "checksum": _HASH, "contract": _HASH}),
    "Ready": answered({"ready": {"const": True}}),
    "Start": taken({"token": TOKEN_ID}, {"context": or_null(OBJECT)}),
    "Fire": taken({}, {"payload": or_null(OBJECT)}),
    "Claim": taken(
        {"supervisor": _SUPERVISOR},
        {
            "states": _QUEUES,
            "jobs": _QUEUES,
            "request": or_null(
                {"type": "string", "pattern": f"^[A-Za-z0-9._-]{{1,{MAX_REQUEST_ID}}}$"}
            ),
            "wait": whole(0, MAX_CLAIM_WAIT, default=0),
            "max": whole(1, MAX_GRANTS_PER_CLAIM),
        },
    )
    | {"anyOf": [{"required": ["states"]}, {"required": ["jobs"]}]},
    "Heartbeat": taken({"supervisor": _SUPERVISOR, "tasks": list_of(_ID, MAX_TASKS_PER_HEARTBEAT)}),
    "Timer": taken({"event": text(), "after": _DURATION}, {"payload": or_null(OBJECT)}),
    "Outcome": taken(
        {"kind": {"enum": ["event", "waiting", "failed"]}},
        {
            "event": text(),
            "payload": or_null(OBJECT),
            "error": text(),
            "context": or_null(OBJECT),
            "schedules": list_of(ref("Timer")),
            "attempt": or_null(whole(1)),
            "supervisor": or_null(_SUPERVISOR),
        },
    )
    | {
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": "event"}}},
                "then": {"required": ["event"]},
            },
            {
                "if": {"properties": {"kind": {"const": "failed"}}},
                "then": {"required": ["error"]},
            },
        ]
    },
    "Note": _number_with_attempt(
        taken(
            {"text": text(1, description="1 to 500 characters, white space at both ends dropped")},
            {"attempt": or_null(_ID), "number": or_null(_ID)},
        )
    ),
    "MemoryWrite": _number_with_attempt(
        taken(
            {"key": text(1, MAX_MEMORY_KEY), "value": {"description": "any JSON; null deletes"}},
            {"attempt": or_null(_ID), "number": or_null(_ID)},
        )
    ),
}
