"""The OpenAPI document: every route, and every answer that one can give.

It is written by hand, from the tables of `docs/spec/wire.md` 1.4 and 2: the hot routes know no
models that it could be made of. A test holds it against the routes of the app.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from stateous.limits import MAX_NAME, MAX_QUEUE_NAME, MAX_READ_WAIT, MAX_TOKEN_ID
from stateous.wire.headers import LEASE, NEXT_CURSOR
from stateous_controlplane.api import run_schemas, schemas
from stateous_controlplane.api.openapi_parts import (
    ALWAYS,
    EVENT,
    KEY,
    TASK,
    WITH_BODY,
    operation_of,
    query,
    refusal,
    success,
)
from stateous_controlplane.api.openapi_runs import run_paths
from stateous_controlplane.api.queries import DEFAULT_PAGE, MAX_HISTORY, MAX_PAGE
from stateous_controlplane.api.schema_parts import OBJECT, Schema, list_of, ref, text, whole
from stateous_controlplane.engine.rows import Status, TaskStatus

_LEASE_HEADER: Final[Schema] = {
    LEASE: {
        "description": "The length of a lease in seconds.",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
    }
}
_NEXT_HEADER: Final[Schema] = {
    NEXT_CURSOR: {
        "description": "The cursor of the next page, when there is more.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
    }
}

_TOKEN: Final = {"name": "token", "in": "path", "required": True, "schema": text(1)}
_MOMENT: Final[Schema] = {
    "type": "string",
    "format": "date-time",
    "description": "with Z or an offset",
}


_STEERING: Final = {
    "pause": "Pause a top token with all below it",
    "resume": "Let a paused token go on, and apply the events that were held",
    "cancel": "Cancel a top token with all below it",
}


def _token_paths() -> Schema:
    token = success("The token.", ref("Token"))
    return {
        "/tokens": {
            "get": operation_of(
                "list_tokens",
                "The tokens that fit the filters, most recently moved first",
                {200: success("A page.", list_of(ref("Token"), MAX_PAGE), _NEXT_HEADER)},
                parameters=(
                    query("status", {"enum": [status.value for status in Status]}),
                    query("state", text(1, MAX_NAME)),
                    query("workflow", text(1, MAX_NAME)),
                    query("parent", text(1, MAX_TOKEN_ID)),
                    query("prefix", text(1, MAX_TOKEN_ID)),
                    query("moved_after", _MOMENT),
                    query("moved_before", _MOMENT),
                    *_PAGE,
                ),
            ),
            "post": operation_of(
                "start_token",
                "Start a token, or find it as it is",
                {200: success("It exists.", ref("Token")), 201: success("New.", ref("Token"))},
                body="Start",
                refusals=(409,),
            ),
        },
        "/tokens/{token}": {
            "get": operation_of(
                "get_token",
                "One token; with wait, as soon as it has ended or moved",
                {200: token},
                parameters=(
                    _TOKEN,
                    query("wait", whole(0, MAX_READ_WAIT, default=0)),
                    query("until", {"enum": ["ended", "moved"], "default": "ended"}),
                ),
            )
        },
        "/tokens/{token}/history": {
            "get": operation_of(
                "get_history",
                "What happened to a token, oldest first",
                {200: success("The entries.", list_of(ref("Entry")))},
                parameters=(
                    _TOKEN,
                    query("after", whole(0, default=0)),
                    query("limit", whole(1, MAX_HISTORY)),
                    query("wait", whole(0, MAX_READ_WAIT, default=0)),
                ),
            )
        },
        "/tokens/{token}/events/{event}": {
            "post": operation_of(
                "fire_event",
                "An event from outside",
                {
                    200: success(
                        "The token after the event, or that the key was used before.",
                        {"oneOf": [ref("Token"), ref("Duplicate")]},
                    )
                },
                body="Fire",
                needs_body=False,
                parameters=(_TOKEN, EVENT, KEY),
                refusals=(409,),
            )
        },
        **{
            f"/tokens/{{token}}/{verb}": {
                "post": operation_of(
                    f"{verb}_token",
                    summary,
                    {200: token},
                    parameters=(_TOKEN,),
                    refusals=(409, 415),
                )
            }
            for verb, summary in _STEERING.items()
        },
    }


def _task_paths() -> Schema:
    nothing = {"description": "Done."}
    return {
        "/tasks": {
            "get": operation_of(
                "list_tasks",
                "The tasks that fit the filters, ascending by id",
                {200: success("A page.", list_of(ref("Task"), MAX_PAGE), _NEXT_HEADER)},
                parameters=(
                    query("status", {"enum": [status.value for status in TaskStatus]}),
                    query("state", text(1, MAX_QUEUE_NAME)),
                    query("token", text(1, MAX_TOKEN_ID)),
                    *_PAGE,
                ),
            )
        },
        "/tasks/claim": {
            "post": operation_of(
                "claim_task",
                "Take the task that was queued first",
                {
                    200: success(
                        "A grant; with max, a list of grants.",
                        {"oneOf": [ref("Grant"), ref("JobGrant"), ref("Grants")]},
                        _LEASE_HEADER,
                    ),
                    204: {"description": "Nothing to claim.", "headers": _LEASE_HEADER},
                },
                body="Claim",
            )
        },
        "/tasks/heartbeat": {
            "post": operation_of(
                "renew_leases",
                "Keep tasks",
                {200: success("What is lost.", ref("Lost"), _LEASE_HEADER)},
                body="Heartbeat",
            )
        },
        "/tasks/{task}/report": {
            "post": operation_of(
                "report_outcome",
                "What came of an attempt",
                {200: success("The task's token or run.", {"oneOf": [ref("Token"), ref("Run")]})},
                body="Outcome",
                parameters=(TASK,),
                refusals=(409,),
            )
        },
        "/tasks/{task}/note": {
            "post": operation_of(
                "add_note",
                "A note for the history",
                {204: nothing},
                body="Note",
                parameters=(TASK,),
                refusals=(409,),
            )
        },
        "/tasks/{task}/memory": {
            "put": operation_of(
                "write_memory",
                "Set or delete one key of a routine's memory",
                {204: nothing},
                body="MemoryWrite",
                parameters=(TASK,),
                refusals=(409,),
            )
        },
    }


def _own_paths() -> Schema:
    return {
        "/workflow": {
            "get": operation_of(
                "get_workflow",
                "The graph document that is served",
                {200: success("The document as the file has it.", OBJECT)},
            )
        },
        "/health": {
            "get": operation_of(
                "get_health",
                "What is served; never touches the database",
                {200: success("Alive.", ref("Health"), _LEASE_HEADER)},
            )
        },
        "/ready": {
            "get": operation_of(
                "get_ready",
                "Whether the database answers, and is held",
                {200: success("Ready.", ref("Ready"))},
            )
        },
        "/openapi.json": {
            "get": operation_of(
                "get_openapi", "This document", {200: success("The document.", OBJECT)}
            )
        },
    }


_PAGE: Final = (
    query("limit", whole(1, MAX_PAGE, default=DEFAULT_PAGE)),
    query("cursor", text(1, description=f"what {NEXT_CURSOR} said, with the same filters")),
)


@cache
def document(title: str, version: str) -> dict[str, Any]:
    """The document. It is made once, and shared: nobody may change it."""
    statuses = sorted({*ALWAYS, *WITH_BODY, 409})
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": _token_paths() | _task_paths() | run_paths() | _own_paths(),
        "components": {
            "schemas": schemas.SCHEMAS | run_schemas.SCHEMAS,
            "responses": {f"Refused{status}": refusal(status) for status in statuses},
        },
    }
