"""What the end of a job is reported as (`docs/spec/statechart.md` 10.3, 10.4; pure).

An outcome is the body of a report without the supervisor's name. It carries neither context nor timers:
a run has none that a job could change.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from stateous.errors import JsonError
from stateous.json import Json, JsonObject, read_json, write_json
from stateous.limits import MAX_RUN_VALUE_BYTES
from stateous.routine.jsonable import as_json
from stateous_supervisor import outcome

#: Why an attempt failed, where it is not simply `failed` (5.1).
Status: TypeAlias = Literal["failed", "timeout", "denied"]

_WHAT: Final = "the output"


def returned(value: object, attempt: int) -> JsonObject:
    """The outcome of a routine that returned ``value``.

    Raises:
        BaseException: whatever code of the author's raises that is run for it.
    """
    try:
        output = as_json(_WHAT, value)
    except TypeError as error:
        return failed(str(error), attempt)
    return done(output, attempt)


def done(output: Json, attempt: int) -> JsonObject:
    """The outcome of a job that gave ``output``, as far as that can be sent."""
    size = len(write_json(output).encode())
    if size > MAX_RUN_VALUE_BYTES:
        return failed(f"{_WHAT} has {size} bytes as JSON, more than {MAX_RUN_VALUE_BYTES}", attempt)
    body: JsonObject = {"kind": "done", "output": output, "attempt": attempt}
    try:
        read_json(write_json(body).encode())
    except JsonError as error:
        return failed(f"{_WHAT} cannot be sent: {error}", attempt)
    return body


def raised(error: BaseException, attempt: int) -> JsonObject:
    """The outcome of a routine that raised ``error``, of whatever class."""
    return failed(str(outcome.raised(error, attempt)["error"]), attempt)


def failed(error: str, attempt: int, status: Status = "failed") -> JsonObject:
    """The outcome of an attempt that failed. What it emitted, noted and remembered stays."""
    return {
        "kind": "failed",
        "error": outcome.storable(error),
        "status": status,
        "attempt": attempt,
    }


def timed_out(seconds: float, attempt: int) -> JsonObject:
    """The outcome of an attempt that ran for longer than its job may."""
    return failed(f"it ran for longer than its timeout of {seconds:g} s", attempt, "timeout")
