"""A request on its way through the writer, and what it needs of the world outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from stateous_controlplane.answers import Answer
from stateous_controlplane.writer.requests import Submitted


@dataclass(slots=True, eq=False)
class Submission:
    """A request that waits for its answer.

    ``withdrawn`` is set, from any thread, when the caller has gone away: nothing is assigned to it
    then. ``deadline`` (of the clock's monotonic time) is when a waiting claim is answered empty.
    ``asked`` is false for what the clock hands in itself: nobody waits for an answer.
    """

    request: Submitted
    deadline: float = 0.0
    withdrawn: bool = field(default=False)
    asked: bool = True


class Answering(Protocol):
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
