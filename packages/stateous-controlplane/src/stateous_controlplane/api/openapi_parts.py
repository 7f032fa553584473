"""Parts of the OpenAPI document that its operations are made of."""

from __future__ import annotations

from typing import Final

from stateous.limits import MAX_ID, MAX_IDEMPOTENCY_KEY
from stateous.wire.headers import IDEMPOTENCY_KEY
from stateous.wire.problems import STATUS, Code
from stateous_controlplane.api.schema_parts import Schema, ref, text, whole

#: What any request can be answered.
ALWAYS: Final = (400, 403, 404, 408, 413, 421, 500, 503)
#: And one whose body is read.
WITH_BODY: Final = (415, 422)

EVENT: Final = {"name": "event", "in": "path", "required": True, "schema": text(1)}
TASK: Final = {
    "name": "task",
    "in": "path",
    "required": True,
    "schema": whole(1, MAX_ID),
}
KEY: Final = {
    "name": IDEMPOTENCY_KEY,
    "in": "header",
    "description": "An event with a key that the token knows is not applied twice.",
    "schema": text(1, MAX_IDEMPOTENCY_KEY, pattern=r"^[^\u0000-\u001f\u007f]*$"),
}


def query(name: str, schema: Schema) -> Schema:
    """A parameter of the query."""
    return {"name": name, "in": "query", "schema": schema}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def success(what: str, schema: Schema, headers: Schema | None = None) -> Schema:
    """An answer that is no refusal."""
    return {
        "description": what,
        "content": _json(schema),
        **({"headers": headers} if headers else {}),
    }


def refusal(status: int) -> Schema:
    """The refusals with a status, by their codes."""
    codes = sorted(code.value for code in Code if STATUS[code] == status)
    if status == 413:
        codes = [Code.BAD_REQUEST.value]
    schema = {"allOf": [ref("Refusal"), {"properties": {"code": {"enum": codes}}}]}
    return {"description": "Refused: " + ", ".join(codes), "content": _json(schema)}


def operation_of(
    name: str,
    summary: str,
    answers: dict[int, Schema],
    *,
    body: str | None = None,
    needs_body: bool = True,
    parameters: tuple[Schema, ...] = (),
    refusals: tuple[int, ...] = (),
) -> Schema:
    """An operation: its answers, and the refusals that any request can get."""
    statuses = {*ALWAYS, *refusals, *(WITH_BODY if body else ())}
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
