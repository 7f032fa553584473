"""The steps that a shell performs, and the schedule of retries.

A *course* is a generator. It yields a step; the shell performs it and sends back what came of it:

========  ==============================  =====================
step      the shell                       sends back
========  ==============================  =====================
Send      sends the request               an Answer or NoAnswer
Sleep     waits so many seconds           None
Items     hands them to the caller        None
========  ==============================  =====================

A course ends with its value, or raises the caller's error. A *walk* is a course that also yields
items, and ends without a value.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from stateous_client.protocol.exchange import Reply, Request

T = TypeVar("T")

#: Seconds before the first, the second, and each later retry.
_PAUSES: Final = (0.2, 0.5, 1.0)
#: By how much of itself a pause is shorter or longer, at most.
_JITTER: Final = 0.2


@dataclass(frozen=True, slots=True)
class Send:
    """Send this request, and send back its reply."""

    request: Request[Any]


@dataclass(frozen=True, slots=True)
class Sleep:
    """Let so many seconds pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Items(Generic[T]):
    """Hand these to the caller, in this order."""

    items: list[T]


Course: TypeAlias = Generator[Send | Sleep, Reply | None, T]
Walk: TypeAlias = Generator[Send | Sleep | Items[T], Reply | None, None]


def pause_before(retry: int, draw: float) -> float:
    """Seconds before the ``retry``-th retry, counted from 0.

    ``draw``, from 0 to 1, spreads callers that failed together: 0 is a fifth less, 1 a fifth more.
    """
    pause = _PAUSES[min(retry, len(_PAUSES) - 1)]
    return pause * (1 + _JITTER * (2 * draw - 1))
