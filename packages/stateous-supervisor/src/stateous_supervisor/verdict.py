"""What the answer to a message means for the message (`docs/spec/authoring.md` 8.5, 8.6; pure).

::

    answer                                  note, memory    report
    below 400                               drop            drop
    none, 502, 503, 504                     again           again
    404 task_not_found, 409 attempt_over    drop            drop
    409, anything else                      drop            ask a heartbeat: lost → drop
                                                                             held → fail instead
    any other                               drop            fail instead

*Fail instead* puts one `failed` report in the place of the refused one. When that one is refused
too it is dropped: the lease's end settles the attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from stateous_supervisor.messages import Draft, Message

#: How the error of the report begins that stands in for a refused one.
REFUSED: Final = "the control plane refused the report: "


@dataclass(frozen=True, slots=True)
class Accepted:
    """The control plane took the message."""


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
    """What is to be done with a message after its answer."""

    DROP = "drop"
    AGAIN = "again"
    ASK = "ask a heartbeat"
    FAIL = "fail instead"


_OVER: Final = frozenset({"task_not_found", "attempt_over"})


def judge(message: Message, answer: Answer) -> Verdict:
    """What is to be done with ``message``, by the table above."""
    if isinstance(answer, Unanswered):
        return Verdict.AGAIN
    if isinstance(answer, Accepted) or message.kind != "report" or _stands_in(message):
        return Verdict.DROP
    if answer.code in _OVER:
        return Verdict.DROP
    return Verdict.ASK if answer.status == 409 else Verdict.FAIL


def failed_instead(message: Message, refusal: Refused) -> Draft:
    """The report that takes the place of a refused one."""
    body = failed_body(REFUSED + refusal.text, message.attempt.number)
    return Draft(message.attempt, message.token, "report", body)


def _stands_in(message: Message) -> bool:
    error = message.body.get("error")
    return isinstance(error, str) and error.startswith(REFUSED)
