"""The OpenAPI document: every route, and every answer that one can give.

It is written by hand, from the tables of `docs/spec/wire.md` 1.4 and 2: the hot routes know no
models that it could be made of. A test holds it against the routes of the app.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from stateous.limits import (
    MAX_ID,
    MAX_IDEMPOTENCY_KEY,
    MAX_NAME,
    MAX_QUEUE_NAME,
    MAX_READ_WAIT,
    MAX_TOKEN_ID,
)
from stateous.wire.headers import IDEMPOTENCY_KEY, LEASE, NEXT_CURSOR
from stateous.wire.problems import STATUS, Code
from stateous_controlplane.api.queries import DEFAULT_PAGE, MAX_HISTORY, MAX_PAGE
from stateous_controlplane.api.schemas import (
    OBJECT,
    SCHEMAS,
    Schema,
    list_of,
    ref,
    text,
    whole,
)
from stateous_controlplane.engine.rows import Status, TaskStatus

#: What any request can be answered.
_ALWAYS: Final = (400, 403, 404, 408, 413, 421, 500, 503)
#: And one whose body is read.
_WITH_BODY: Final = (415, 422)

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
_EVENT: Final = {"name": "event", "in": "path", "required": True, "schema": text(1)}
_TASK: Final = {
    "name": "task",
    "in": "path",
    "required": True,
    "schema": whole(1, MAX_ID),
}
_KEY: Final = {
    "name": IDEMPOTENCY_KEY,
    "in": "header",
    "description": "An event with a key that the token knows is not applied twice.",
    "schema": text(1, MAX_IDEMPOTENCY_KEY, pattern=r"^[^\u0000-\u001f\u007f]*$"),
}
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


def _query(name: str, schema: Schema) -> Schema:
    return {"name": name, "in": "query", "schema": schema}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _success(what: str, schema: Schema, headers: Schema | None = None) -> Schema:
    return {
        "description": what,
        "content": _json(schema),
        **({"headers": headers} if headers else {}),
    }


def _refusal(status: int) -> Schema:
    codes = sorted(code.value for code in Code if STATUS[code] == status)
    if status == 413:
        codes = [Code.BAD_REQUEST.value]
    schema = {"allOf": [ref("Refusal"), {"properties": {"code": {"enum": codes}}}]}
    return {"description": "Refused: " + ", ".join(codes), "content": _json(schema)}


def _operation(
    name: str,
    summary: str,
    answers: dict[int, Schema],
    *,
    body: str | None = None,
    needs_body: bool = True,
    parameters: tuple[Schema, ...] = (),
    refusals: tuple[int, ...] = (),
) -> Schema:
    statuses = {*_ALWAYS, *refusals, *(_WITH_BODY if body else ())}
    if any(parameter["in"] == "query" for parameter in parameters):
        statuses.add(422)
    responses = {str(status): answer for status, answer in answers.items()}
    for status in sorted(statuses):
        responses[str(status)] = {"$ref": f"#/components/responses/Refused{status}"}
    operation: Schema = {"operationId": name, "summary": summary, "responses": responses}
    if parameters:
        operation["parameters"] = list(parameters)
    if body:
        operation["requestBody"] = {"required": needs_body, "content": _json(ref(body))}
    return operation


def _token_paths() -> Schema:
    token = _success("The token.", ref("Token"))
    return {
        "/tokens": {
            "get": _operation(
                "list_tokens",
                "The tokens that fit the filters, most recently moved first",
                {200: _success("A page.", list_of(ref("Token"), MAX_PAGE), _NEXT_HEADER)},
                parameters=(
                    _query("status", {"enum": [status.value for status in Status]}),
                    _query("state", text(1, MAX_NAME)),
                    _query("workflow", text(1, MAX_NAME)),
                    _query("parent", text(1, MAX_TOKEN_ID)),
                    _query("prefix", text(1, MAX_TOKEN_ID)),
                    _query("moved_after", _MOMENT),
                    _query("moved_before", _MOMENT),
                    *_PAGE,
                ),
            ),
            "post": _operation(
                "start_token",
                "Start a token, or find it as it is",
                {200: _success("It exists.", ref("Token")), 201: _success("New.", ref("Token"))},
                body="Start",
                refusals=(409,),
            ),
        },
        "/tokens/{token}": {
            "get": _operation(
                "get_token",
                "One token; with wait, as soon as it has ended or moved",
                {200: token},
                parameters=(
                    _TOKEN,
                    _query("wait", whole(0, MAX_READ_WAIT, default=0)),
                    _query("until", {"enum": ["ended", "moved"], "default": "ended"}),
                ),
            )
        },
        "/tokens/{token}/history": {
            "get": _operation(
                "get_history",
                "What happened to a token, oldest first",
                {200: _success("The entries.", list_of(ref("Entry")))},
                parameters=(
                    _TOKEN,
                    _query("after", whole(0, default=0)),
                    _query("limit", whole(1, MAX_HISTORY)),
                    _query("wait", whole(0, MAX_READ_WAIT, default=0)),
                ),
            )
        },
        "/tokens/{token}/events/{event}": {
            "post": _operation(
                "fire_event",
                "An event from outside",
                {
                    200: _success(
                        "The token after the event, or that the key was used before.",
                        {"oneOf": [ref("Token"), ref("Duplicate")]},
                    )
                },
                body="Fire",
                needs_body=False,
                parameters=(_TOKEN, _EVENT, _KEY),
                refusals=(409,),
            )
        },
        **{
            f"/tokens/{{token}}/{verb}": {
                "post": _operation(
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
            "get": _operation(
                "list_tasks",
                "The tasks that fit the filters, ascending by id",
                {200: _success("A page.", list_of(ref("Task"), MAX_PAGE), _NEXT_HEADER)},
                parameters=(
                    _query("status", {"enum": [status.value for status in TaskStatus]}),
                    _query("state", text(1, MAX_QUEUE_NAME)),
                    _query("token", text(1, MAX_TOKEN_ID)),
                    *_PAGE,
                ),
            )
        },
        "/tasks/claim": {
            "post": _operation(
                "claim_task",
                "Take the task that was queued first",
                {
                    200: _success(
                        "A grant; with max, a list of grants.",
                        {"oneOf": [ref("Grant"), ref("Grants")]},
                        _LEASE_HEADER,
                    ),
                    204: {"description": "Nothing to claim.", "headers": _LEASE_HEADER},
                },
                body="Claim",
            )
        },
        "/tasks/heartbeat": {
            "post": _operation(
                "renew_leases",
                "Keep tasks",
                {200: _success("What is lost.", ref("Lost"), _LEASE_HEADER)},
                body="Heartbeat",
            )
        },
        "/tasks/{task}/report": {
            "post": _operation(
                "report_outcome",
                "What came of an attempt",
                {200: _success("The task's token.", ref("Token"))},
                body="Outcome",
                parameters=(_TASK,),
                refusals=(409,),
            )
        },
        "/tasks/{task}/note": {
            "post": _operation(
                "add_note",
                "A note for the history",
                {204: nothing},
                body="Note",
                parameters=(_TASK,),
                refusals=(409,),
            )
        },
        "/tasks/{task}/memory": {
            "put": _operation(
                "write_memory",
                "Set or delete one key of a routine's memory",
                {204: nothing},
                body="MemoryWrite",
                parameters=(_TASK,),
                refusals=(409,),
            )
        },
    }


def _own_paths() -> Schema:
    return {
        "/workflow": {
            "get": _operation(
                "get_workflow",
                "The graph document that is served",
                {200: _success("The document as the file has it.", OBJECT)},
            )
        },
        "/health": {
            "get": _operation(
                "get_health",
                "What is served; never touches the database",
                {200: _success("Alive.", ref("Health"), _LEASE_HEADER)},
            )
        },
        "/ready": {
            "get": _operation(
                "get_ready",
                "Whether the database answers, and is held",
                {200: _success("Ready.", ref("Ready"))},
            )
        },
        "/openapi.json": {
            "get": _operation(
                "get_openapi", "This document", {200: _success("The document.", OBJECT)}
            )
        },
    }


_PAGE: Final = (
    _query("limit", whole(1, MAX_PAGE, default=DEFAULT_PAGE)),
    _query("cursor", text(1, description=f"what {NEXT_CURSOR} said, with the same filters")),
)


@cache
def document(title: str, version: str) -> dict[str, Any]:
    """The document. It is made once, and shared: nobody may change it."""
    statuses = sorted({*_ALWAYS, *_WITH_BODY, 409})
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": _token_paths() | _task_paths() | _own_paths(),
        "components": {
            "schemas": SCHEMAS,
            "responses": {f"Refused{status}": _refusal(status) for status in statuses},
        },
    }
