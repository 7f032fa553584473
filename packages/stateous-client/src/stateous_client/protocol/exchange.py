"""One request and its answer, as values (`docs/spec/wire.md` 7)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Generic, Literal, TypeAlias, TypeVar
from urllib.parse import urlencode

from stateous.wire import headers

T = TypeVar("T")

#: The statuses of an answer that may be another one soon.
PASSING: Final = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. The names of ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Nothing came back, or not all of it: whether it was done is unknown.

    ``refused``: nobody listens there, so nothing was sent.
    """

    why: str
    refused: bool = False


Reply: TypeAlias = Answer | NoAnswer


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One request, and how its answer is read."""

    method: Literal["GET", "POST", "PUT"]
    #: Below the control plane's URL, percent-encoded.
    path: str
    #: The value of a success. Raises ``Mismatch`` for what no control plane answers.
    read: Callable[[Answer], T]
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    #: Sent twice, it does what it does once.
    repeatable: bool = False
    #: Seconds for which the control plane may hold the answer back.
    held: float = 0.0
    #: The answer to a request that is asked for its lease.
    announces_lease: bool = False
    #: Statuses from 400 on that are a value of this request, neither refused nor tried again.
    also_read: frozenset[int] = frozenset()

    @property
    def target(self) -> str:
        """Path and query as they are sent."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    def from_cursor(self, cursor: str) -> Request[T]:
        """The same request for the page that begins at ``cursor``."""
        return replace(self, query=(*self.query, ("cursor", cursor)))

    def may_pass(self, reply: Reply) -> bool:
        """Whether asking again may help, and harms nothing."""
        if not self.repeatable:
            return False
        if isinstance(reply, NoAnswer):
            return True
        return reply.status in PASSING and reply.status not in self.also_read

    def lease_after(self, reply: Reply, lease: float | None) -> float | None:
        """The announced lease, in seconds, that is known once ``reply`` has come."""
        if not self.announces_lease or isinstance(reply, NoAnswer) or reply.status >= 300:
            return lease
        return announced_lease(reply)


def announced_lease(answer: Answer) -> float | None:
    """The seconds in the header ``Stateous-Lease``; None without it, or when it is none."""
    try:
        seconds = float(answer.headers.get(headers.LEASE.lower(), ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None
