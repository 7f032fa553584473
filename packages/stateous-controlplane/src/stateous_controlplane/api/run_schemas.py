"""JSON Schemas of runs, tickets and documents (`docs/spec/statechart.md` 10.4, 16)."""

from __future__ import annotations

from typing import Any, Final

from stateous.limits import MAX_ID, MAX_RUN_KEY, MAX_SUPERVISOR_NAME
from stateous_controlplane.api.queries import MAX_PAGE
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
from stateous_controlplane.engine.replies import Result
from stateous_controlplane.engine.rows import Status

_ANY: Final[dict[str, Any]] = {"description": "any JSON"}
_CHECKSUM: Final[Schema] = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_ID: Final = whole(1, MAX_ID)

_RUN: Final[Schema] = {
    "id": text(1),
    "machine": text(1),
    "graph": _CHECKSUM,
    "key": or_null(text(1)),
    "parent": or_null(text(1)),
    "job": or_null(text(1)),
    "status": {"enum": [status.value for status in Status]},
    "configuration": list_of(answered({"state": text(1), "visit": whole(1), "entered_at": MOMENT})),
    "error": or_null(answered({"code": text(1), "message": text()})),
    "started_at": MOMENT,
    "ended_at": or_null(MOMENT),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Run": answered(_RUN, {"starter": text(1)}),
    "RunInFull": answered(
        _RUN
        | {
            "input": _ANY,
            "output": _ANY,
            "jobs": list_of(
                answered(
                    {
                        "job": text(1),
                        "state": text(1),
                        "kind": {"enum": ["script", "routine", "machine"]},
                        "status": {"enum": ["queued", "claimed", "running", "done", "failed"]},
                    },
                    {"attempt": whole(0), "task": _ID, "run": text(1)},
                )
            ),
            "timers": list_of(
                answered({"timer": text(1), "state": text(1), "text": text(1), "due_at": MOMENT})
            ),
            "tickets": list_of(
                answered({"ticket": text(1), "state": text(1), "id": text(1), "issued_at": MOMENT})
            ),
            "kept": list_of(answered({"event": text(1), "from": text(1), "at": MOMENT})),
        },
        {"outputs": OBJECT},
    ),
    "Runs": answered({"runs": list_of(ref("Run"), MAX_PAGE), "next": or_null(text(1))}),
    "Tickets": answered(
        {
            "tickets": list_of(
                answered(
                    {
                        "ticket": text(1),
                        "state": text(1),
                        "visit": whole(1),
                        "id": text(1),
                        "issued_at": MOMENT,
                        "value": {"type": "string", "pattern": "^tk_[A-Za-z0-9_-]{43}$"},
                    }
                )
            )
        }
    ),
    "Taken": answered(
        {"result": {"enum": [result.value for result in Result]}}, {"duplicate": {"const": True}}
    ),
    "GraphPut": answered({"graph": _CHECKSUM, "machine": text(1)}),
    "Graphs": answered(
        {
            "graphs": list_of(
                answered(
                    {
                        "graph": _CHECKSUM,
                        "kind": {"enum": ["statechart", "workflow"]},
                        "name": text(1),
                        "machines": list_of(text(1)),
                        "added_at": MOMENT,
                        "live": whole(0),
                    }
                ),
                MAX_PAGE,
            ),
            "next": or_null(text(1)),
        }
    ),
    "JobGrant": answered(
        {
            "task": _ID,
            "token": text(1),
            "machine": text(1),
            "state": text(1),
            "job": text(1),
            "visit": whole(1),
            "attempt": whole(1),
            "input": _ANY,
            "timeout": whole(1),
            "memory": OBJECT,
        },
        {"routine": text(1), "script": answered({"path": text(1), "source": text()})},
    ),
    "Document": OBJECT,
    "Answer": _ANY,
    "Submit": taken(
        {"graph": {"anyOf": [text(), OBJECT]}},
        {"input": _ANY, "key": or_null(text(1, MAX_RUN_KEY)), "id": or_null(TOKEN_ID)},
    ),
    "Event": taken({}, {"data": _ANY}),
    "Emits": taken(
        {
            "supervisor": text(1, MAX_SUPERVISOR_NAME),
            "attempt": _ID,
            "first": _ID,
            "values": list_of(taken({"event": text()}, {"data": _ANY})),
        }
    ),
}
