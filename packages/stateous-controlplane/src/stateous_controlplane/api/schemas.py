"""JSON Schemas of what the API takes and answers (`docs/spec/wire.md` 1.5, 2), for its document."""

from __future__ import annotations

from typing import Final

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
from stateous_controlplane.api.schema_parts import (
    MOMENT,
    OBJECT,
    TOKEN_ID,
    Schema,
    answered,
    list_of,
    or_null,
    ref,
    taken,
    text,
    whole,
)
from stateous_controlplane.engine.rows import Status, TaskStatus


def _number_with_attempt(schema: Schema) -> Schema:
    """``number`` counts the messages of one attempt, which must be named then."""
    both = {"type": "integer"}
    return schema | {
        "if": {"properties": {"number": both}, "required": ["number"]},
        "then": {"properties": {"attempt": both}, "required": ["attempt"]},
    }


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
    "Refusal": answered(
        {"error": text(1), "code": text(1)},
        {"problems": list_of(answered({"code": text(1), "where": text(), "text": text(1)}))},
    ),
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
    "Grants": answered(
        {"tasks": list_of({"oneOf": [ref("Grant"), ref("JobGrant")]}, MAX_GRANTS_PER_CLAIM)}
    ),
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
        {"kind": {"enum": ["event", "waiting", "failed", "done"]}},
        {
            "output": {"description": "any JSON; of a job"},
            "status": or_null({"enum": ["failed", "timeout", "denied"]}),
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
            {
                "if": {"properties": {"kind": {"const": "done"}}},
                "then": {"required": ["output"]},
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
