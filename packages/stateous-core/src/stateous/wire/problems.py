"""The refusals of the HTTP API: each code, its status, and its form.

`docs/spec/wire.md` 1.4 has those of tokens and tasks, `docs/spec/statechart.md` 16 those of runs.

The code is the contract; the sentence is for people. ``docs/errors/<code>.md`` explains each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stateous.json import write_json


class Code(StrEnum):
    """The code of a refusal, as it stands in the answer."""

    BAD_REQUEST = "bad_request"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    REQUEST_TIMEOUT = "request_timeout"
    TOO_MANY_CONNECTIONS = "too_many_connections"
    CROSS_SITE = "cross_site"
    WRONG_HOST = "wrong_host"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    TOKEN_NOT_FOUND = "token_not_found"
    TASK_NOT_FOUND = "task_not_found"
    GRAPH_NOT_FOUND = "graph_not_found"
    RUN_NOT_FOUND = "run_not_found"
    NO_WORKFLOW = "no_workflow"
    INVALID_TOKEN_ID = "invalid_token_id"
    INVALID_CONTEXT = "invalid_context"
    INVALID_PAYLOAD = "invalid_payload"
    INVALID_ARGUMENT = "invalid_argument"
    INVALID_BODY = "invalid_body"
    INVALID_DEFINITION = "invalid_definition"
    INVALID_INPUT = "invalid_input"
    INVALID_RUN_ID = "invalid_run_id"
    CHECKSUM_MISMATCH = "checksum_mismatch"
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    NOT_STARTER = "not_starter"
    EVENT_NOT_ALLOWED = "event_not_allowed"
    TOKEN_NOT_ACTIVE = "token_not_active"
    RUN_NOT_ACTIVE = "run_not_active"
    RUN_EXISTS = "run_exists"
    KEY_TAKEN = "key_taken"
    TICKET_REFUSED = "ticket_refused"
    ANSWER_NOT_TAKEN = "answer_not_taken"
    CHILD_TOKEN = "child_token"
    TASK_NOT_HELD = "task_not_held"
    ATTEMPT_OVER = "attempt_over"
    DATABASE_BUSY = "database_busy"
    NOT_SERVING = "not_serving"
    UNEXPECTED = "unexpected"


#: The HTTP status of each code. ``bad_request`` is 413 where a body is too large.
STATUS: dict[Code, int] = {
    Code.BAD_REQUEST: 400,
    Code.UNSUPPORTED_MEDIA_TYPE: 415,
    Code.REQUEST_TIMEOUT: 408,
    Code.TOO_MANY_CONNECTIONS: 503,
    Code.CROSS_SITE: 403,
    Code.WRONG_HOST: 421,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.TOKEN_NOT_FOUND: 404,
    Code.TASK_NOT_FOUND: 404,
    Code.GRAPH_NOT_FOUND: 404,
    Code.RUN_NOT_FOUND: 404,
    Code.NO_WORKFLOW: 409,
    Code.INVALID_TOKEN_ID: 422,
    Code.INVALID_CONTEXT: 422,
    Code.INVALID_PAYLOAD: 422,
    Code.INVALID_ARGUMENT: 422,
    Code.INVALID_BODY: 422,
    Code.INVALID_DEFINITION: 422,
    Code.INVALID_INPUT: 422,
    Code.INVALID_RUN_ID: 422,
    Code.CHECKSUM_MISMATCH: 422,
    Code.IDEMPOTENCY_MISMATCH: 422,
    Code.NOT_STARTER: 403,
    Code.EVENT_NOT_ALLOWED: 409,
    Code.TOKEN_NOT_ACTIVE: 409,
    Code.RUN_NOT_ACTIVE: 409,
    Code.RUN_EXISTS: 409,
    Code.KEY_TAKEN: 409,
    Code.TICKET_REFUSED: 409,
    Code.ANSWER_NOT_TAKEN: 409,
    Code.CHILD_TOKEN: 409,
    Code.TASK_NOT_HELD: 409,
    Code.ATTEMPT_OVER: 409,
    Code.DATABASE_BUSY: 503,
    Code.NOT_SERVING: 503,
    Code.UNEXPECTED: 500,
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A command or request that is not done, and why: a value, not an exception."""

    code: Code
    sentence: str
    #: Overrides the status of the code; only ``bad_request`` has two (400 and 413).
    status_override: int | None = None
    #: All problems of a definition (``invalid_definition``), each `{"code", "where", "text"}`.
    problems: tuple[Mapping[str, str], ...] = ()

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return self.status_override or STATUS[self.code]

    def body(self) -> bytes:
        """The answer's JSON: ``{"error": <sentence>, "code": <code>}``, and the problems if any."""
        told: dict[str, Any] = {"error": self.sentence, "code": self.code.value}
        if self.problems:
            told["problems"] = self.problems
        return write_json(told).encode()
