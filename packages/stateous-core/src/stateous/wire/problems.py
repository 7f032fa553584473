"""The refusals of the HTTP API: each code, its status, and its form (`docs/spec/wire.md` 1.4).

The code is the contract; the sentence is for people. ``docs/errors/<code>.md`` explains each.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
    NO_WORKFLOW = "no_workflow"
    INVALID_TOKEN_ID = "invalid_token_id"
    INVALID_CONTEXT = "invalid_context"
    INVALID_PAYLOAD = "invalid_payload"
    INVALID_ARGUMENT = "invalid_argument"
    INVALID_BODY = "invalid_body"
    EVENT_NOT_ALLOWED = "event_not_allowed"
    TOKEN_NOT_ACTIVE = "token_not_active"
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
    Code.NO_WORKFLOW: 409,
    Code.INVALID_TOKEN_ID: 422,
    Code.INVALID_CONTEXT: 422,
    Code.INVALID_PAYLOAD: 422,
    Code.INVALID_ARGUMENT: 422,
    Code.INVALID_BODY: 422,
    Code.EVENT_NOT_ALLOWED: 409,
    Code.TOKEN_NOT_ACTIVE: 409,
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

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return self.status_override or STATUS[self.code]

    def body(self) -> bytes:
        """The answer's JSON: ``{"error": <sentence>, "code": <code>}``."""
        return write_json({"error": self.sentence, "code": self.code.value}).encode()
