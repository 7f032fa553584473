"""A request on its way through the writer, and the time that commands are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from stateous_controlplane.answers import Answer
from stateous_controlplane.engine.commands import Command, Request
from stateous_controlplane.engine.family import Family

_TICK = timedelta(microseconds=1)


@dataclass(slots=True, eq=False)
class Submission:
    """A request that waits for its answer.

    ``withdrawn`` is set, from any thread, when the caller has gone away: nothing is assigned to it
    then. ``deadline`` (of the clock's monotonic time) is when a waiting claim is answered empty.
    """

    request: Request | Command
    deadline: float = 0.0
    withdrawn: bool = field(default=False)


class Deliver(Protocol):
    """Takes the answers of a batch once they are durable, and the tokens that it changed."""

    def __call__(self, answers: list[tuple[Submission, Answer]], tokens: set[str]) -> None:
        """Called on the writer's thread."""
        ...


class Clock(Protocol):
    """Time, injected: the tests and the simulation drive one of their own."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...


class CommandTime:
    """Gives each command a time later than all that came before it (`docs/spec/wire.md` 3.1)."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._last = now()

    def next(self, family: Family) -> datetime:
        """A time later than the last command's, and than the family's last entries."""
        earliest = self._last
        for token in family.tokens.values():
            if token.at > earliest:
                earliest = token.at
        self._last = max(self._now(), earliest + _TICK)
        return self._last

    def current(self) -> datetime:
        """Now, but not before the last command."""
        return max(self._now(), self._last)
