"""What a refused message comes to (`docs/spec/authoring.md` 8.5, 8.6; pure).

::

    refused with                            note, memory    emitted value   report
    404 task_not_found, 409 attempt_over    drop            stop            drop
    409, anything else                      drop            ask a heartbeat: lost → stop, drop
                                                                             held → drop, fail instead
    any other status                        drop            drop            fail instead

An acceptance drops the message too; no answer, and 502, 503, 504, say nothing about it.

*Stop* ends the work: the run has no use for it, and the messages of the attempt are dropped.

*Fail instead* puts one `failed` report in the place of the refused one. When that one is refused
too it is dropped: the lease's end settles the attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias, assert_never

from stateous_supervisor.messages import Draft, Message
from stateous_supervisor.outcome import failed

#: How the error of the report begins that stands in for a refused one.
REFUSED: Final = "the control plane refused the report: "


@dataclass(frozen=True, slots=True)
class Accepted:
    """The control plane took the message. ``token`` is the token afterwards, if it was answered."""

    token: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The control plane answered, and did not take the message.

    ``status`` is 0 for what cannot even be sent. ``text`` is the refusal's sentence.
    """

    status: int
    code: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Nobody answered, or something in front of the control plane did (502, 503, 504)."""

    reason: str


Answer: TypeAlias = Accepted | Refused | Unanswered


class Verdict(Enum):
    """What is to be done with a refused message."""

    DROP = "drop"
    STOP = "stop the work"
    ASK = "ask a heartbeat"
    FAIL = "fail instead"


_OVER: Final = frozenset({"task_not_found", "attempt_over"})


def judge(message: Message, refused: Refused) -> Verdict:
    """What is to be done with ``message``, by the table above."""
    over = refused.code in _OVER
    match message.kind:
        case "note" | "memory":
            return Verdict.DROP
        case "emit":
            if over:
                return Verdict.STOP
            return Verdict.ASK if refused.status == 409 else Verdict.DROP
        case "report":
            if over or _stands_in(message):
                return Verdict.DROP
            return Verdict.ASK if refused.status == 409 else Verdict.FAIL
        case _:
            assert_never(message.kind)


def verdict_if_held(message: Message) -> Verdict:
    """What follows :attr:`Verdict.ASK` when the task is still ours."""
    return Verdict.FAIL if message.kind == "report" else Verdict.DROP


def verdict_if_lost(message: Message) -> Verdict:
    """What follows :attr:`Verdict.ASK` when the task is not ours any more."""
    return Verdict.DROP if message.kind == "report" else Verdict.STOP


def failed_instead(message: Message, refusal: Refused) -> Draft:
    """The report that takes the place of a refused one."""
    body = failed(REFUSED + refusal.text, message.attempt.number)
    return Draft(message.attempt, message.token, "report", body)


def _stands_in(message: Message) -> bool:
    error = message.body.get("error")
    return isinstance(error, str) and error.startswith(REFUSED)
