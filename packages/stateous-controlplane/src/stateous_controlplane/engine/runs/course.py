"""A command's course through a family of runs: what remains to be done, in order.

`docs/spec/statechart.md` 14 calls it the agenda. First come a run's own consequences, one step
after another, then what leaves it: its children start, its sends inside the family arrive, its
parent hears that it has ended. Each of these is an item behind those that wait already.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias

from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.rows import Active, Sent
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.plan import AtChild, AtParent


@dataclass(frozen=True, slots=True)
class Begin:
    """A new run enters its initial state, by its start event."""

    run: str
    event: Occurrence


@dataclass(frozen=True, slots=True)
class Happen:
    """An event for a run; ``bound`` is the state and visit without which it is nothing any more."""

    run: str
    event: Occurrence
    bound: Active | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """A send inside the family, as the entry ``send`` of its sender tells it."""

    sender: str
    send: int
    to: AtParent | AtChild
    event: Occurrence


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """A child run has ended, and its parent is to hear."""

    child: str


Item: TypeAlias = Begin | Happen | Post | ChildEnded


@dataclass(slots=True)
class Leftover:
    """What a run's steps have left to do: ``raised`` by itself, the rest once it has settled."""

    raised: deque[Occurrence] = field(default_factory=deque)
    starts: list[Begin | Happen] = field(default_factory=list)
    posts: list[Post] = field(default_factory=list)
    keyed: list[Sent] = field(default_factory=list)


class Course:
    """The agenda of one command, and how many steps each run has made in it."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.agenda: deque[Item] = deque()
        self.steps: dict[str, int] = {}
        self._left: dict[str, Leftover] = {}

    def left(self, run: str) -> Leftover:
        """What the run's steps have left to do."""
        leftover = self._left.get(run)
        if leftover is None:
            leftover = self._left[run] = Leftover()
        return leftover

    def step(self, run: str) -> int:
        """Count a step of the run; how many it has made."""
        self.steps[run] = self.steps.get(run, 0) + 1
        return self.steps[run]
