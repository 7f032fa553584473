"""A script's answers, read from frames by the runner (pure).

The process that wrote them is not trusted: whatever it has become, it can say no more than a script
may say, and a text that is none of that is a :class:`BadAnswer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from stateous.errors import JsonError
from stateous.json import Json, read_json
from stateous.limits import MAX_JSON_DEPTH, MAX_RUN_VALUE_BYTES, MAX_SCRIPT_ERROR
from stateous.statechart.tickets import cut
from stateous_supervisor.scripts import frames

#: How long the payload of an answer may be: a value, and the name of an event beside it.
MAX_ANSWER_BYTES: Final = MAX_RUN_VALUE_BYTES + 1024
# How deep a value may be, so that the body of the request that carries it is not too deep: that of
# emits is an object that has a list of objects, that of a report is an object.
_VALUE_DEPTH: Final = MAX_JSON_DEPTH - 3
_OUTPUT_DEPTH: Final = MAX_JSON_DEPTH - 1

Status: TypeAlias = Literal["failed", "denied"]


class BadAnswer(Exception):
    """An answer that cannot be passed on. Its text says why, as the job's error does."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """The script emitted a value."""

    event: str
    data: Json


@dataclass(frozen=True, slots=True)
class Done:
    """The script returned."""

    output: Json


@dataclass(frozen=True, slots=True)
class Failed:
    """The script failed. ``line`` is None where nobody knows it."""

    status: Status
    line: int | None
    message: str


Answer: TypeAlias = Emitted | Done | Failed


def read_answer(kind: bytes, payload: bytes) -> Answer:
    """What a frame says.

    Raises:
        BadAnswer: it is no answer, or holds what cannot be sent or stored.
    """
    match kind:
        case frames.EMITTED:
            pair = _read(payload, "an emitted value", _VALUE_DEPTH + 1)
            if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str):
                return Emitted(pair[0], pair[1])
        case frames.DONE:
            return Done(_read(payload, "the output", _OUTPUT_DEPTH))
        case frames.FAILED:
            told = _read(payload, "the failure", 2)
            if isinstance(told, dict) and isinstance(told.get("message"), str):
                status = "denied" if told.get("status") == "denied" else "failed"
                line = told.get("line")
                number = line if type(line) is int else None
                return Failed(cast("Status", status), number, str(told["message"]))
        case _:
            pass
    raise BadAnswer("the script's process said what nobody understands")


def error_text(path: str, line: int | None, message: str) -> str:
    """The error of a failed script (`docs/spec/statechart.md` 11)."""
    return cut(f"{path}:{line or 1}: {message}", MAX_SCRIPT_ERROR)


def _read(payload: bytes, what: str, depth: int) -> Json:
    try:
        return read_json(payload, max_depth=depth)
    except JsonError as error:
        raise BadAnswer(f"{what} cannot be sent: {error}") from None
