"""What a chart says in which place: the facts that the checks judge.

Reading a document finds what has the wrong form at once. The rest of `docs/spec/statechart.md` 1.5
is about several places together: names that are used twice, targets that are nowhere. While it
goes through a chart the reader notes what such rules are about, also where the part around it is
wrong, so that one problem hides no other. One state is inside another when its path begins with
the other's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from stateous.json import Json
from stateous.statechart.document import Path
from stateous.statechart.places import spell
from stateous.statechart.problems import Problem

#: A small document can have hundreds of thousands of problems, and finding them takes long.
MOST_FINDINGS: Final = 1000


class Finding(NamedTuple):
    """A problem, with its place as steps from the document on."""

    code: str
    path: Path
    text: str

    def problem(self, raw: Json) -> Problem:
        """The problem as it is told of the document ``raw``."""
        return Problem(self.code, spell(self.path, raw), self.text)


class Enough(Exception):
    """So many problems that nobody reads on; raised where the next one would be added."""


class Findings:
    """The problems that were found so far, in the order in which they were."""

    def __init__(self) -> None:
        self.found: list[Finding] = []

    def add(self, code: str, path: Path, text: str) -> None:
        """Add one problem.

        Raises:
            Enough: there are :data:`MOST_FINDINGS`, and this one is not added.
        """
        if len(self.found) == MOST_FINDINGS:
            raise Enough
        self.found.append(Finding(code, path, text))


class Named(NamedTuple):
    """A name that is given or used: of a state, a ticket, a timer, an event.

    ``path`` is where it stands, ``state`` the state that it belongs to; of a state its own.
    """

    name: str
    path: Path
    state: Path


JobKind: TypeAlias = Literal["script", "machine", "routine"]


class Job(NamedTuple):
    """A job that a send can name. ``script`` or ``machine`` is the path that it has, if any."""

    name: str
    path: Path
    state: Path
    #: The only job of its state, which has the state's name.
    alone: bool
    kind: JobKind
    script: str | None
    machine: str | None


class ChildSend(NamedTuple):
    """A send whose ``to`` is a text: ``parent``, or what should be a machine job."""

    to: str
    event: str | None
    path: Path
    state: Path
    on_exit: bool


class MachineSend(NamedTuple):
    """A send to a key with a machine."""

    machine: str
    event: str | None
    path: Path


class Value(NamedTuple):
    """A value with ``${…}`` at any depth, or (``bare``) an expression without ``${``.

    ``state`` is the scope that it reads tickets of; ``entered`` tells whether that state's own
    ticket is there already.
    """

    value: Json
    path: Path
    state: Path
    bare: bool = False
    entered: bool = True


@dataclass(slots=True)
class Facts:
    """The facts of one chart. ``path`` is the chart's in the document."""

    path: Path
    input: frozenset[str] | None = None
    events: frozenset[str] | None = None
    event_entries: list[Named] = field(default_factory=list)
    states: list[Named] = field(default_factory=list)
    tickets: list[Named] = field(default_factory=list)
    timers: list[Named] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    targets: list[Named] = field(default_factory=list)
    rules: list[Named] = field(default_factory=list)
    deferred: list[Named] = field(default_factory=list)
    child_sends: list[ChildSend] = field(default_factory=list)
    machine_sends: list[MachineSend] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)


def around(state: Path, facts: Facts) -> Iterator[Path]:
    """The paths of a state and of those around it, innermost first.

    Every second step of a state's path is ``states``, the others are names.
    """
    for length in range(len(state), len(facts.path), -2):
        yield state[:length]
