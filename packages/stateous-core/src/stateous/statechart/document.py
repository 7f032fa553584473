"""A chart as values: the normal form of `docs/spec/statechart.md` 2, read.

:mod:`stateous.statechart.reading` makes these values and refuses what breaks a rule. Texts with
``${…}`` are kept as they are written: who runs the chart compiles them once, when it freezes the
document. Each part knows its ``path``, which :func:`stateous.statechart.places.spell` makes a text
for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

from stateous.graph import hashes
from stateous.json import Json
from stateous.statechart.times import Time

#: The path of the chart itself among the machines of its document.
ITSELF: Final = "."
#: What the path of a machine begins with that was written in place.
IN_PLACE: Final = "#"
#: The key that tells a chart's document from a workflow's.
KIND: Final = "statechart"

#: Steps from the document to one of its parts, as keys and indexes of the normal form.
Path: TypeAlias = tuple[str | int, ...]

InputType = Literal["string", "number", "integer", "boolean", "list", "object", "any"]
End = Literal["done", "failed"]


@dataclass(frozen=True, slots=True)
class ToParent:
    """To the run that started this one as a job."""


@dataclass(frozen=True, slots=True)
class ToChild:
    """To the child run of a machine job; ``job`` is the state's name, or the named job's."""

    job: str


@dataclass(frozen=True, slots=True)
class ToKey:
    """To the live run that has the key, a text with ``${…}``."""

    key: str


@dataclass(frozen=True, slots=True)
class ToMachine:
    """To the live run that has the key, or a new run of the machine."""

    machine: str
    key: str


Receiver: TypeAlias = ToParent | ToChild | ToKey | ToMachine


@dataclass(frozen=True, slots=True)
class SendSpec:
    """One send; ``data`` is null when the chart gives none."""

    path: Path
    to: Receiver
    event: str
    data: Json


@dataclass(frozen=True, slots=True)
class TransitionSpec:
    """One transition. Without ``go`` the state stays; ``when`` is an expression without ``${``."""

    path: Path
    go: str | None
    when: str | None
    sends: tuple[SendSpec, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """A time that an expression gives on entry; without ``${``."""

    expression: str


@dataclass(frozen=True, slots=True)
class TimerSpec:
    """One timer; ``text`` is the time as it is written."""

    name: str
    path: Path
    text: str
    time: Time | Computed


@dataclass(frozen=True, slots=True)
class Script:
    """A job that a script does, by its path in the document."""

    path: str


@dataclass(frozen=True, slots=True)
class Child:
    """A job that a child run does, of the machine with this path in the document."""

    machine: str


@dataclass(frozen=True, slots=True)
class Routine:
    """A job that a Python routine does. Its task is ``<name of the chart>/<name>``."""

    name: str


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One job. The only job of a state has the state's name."""

    name: str
    path: Path
    does: Script | Child | Routine
    #: Any value, with ``${…}`` in its texts; null when the chart gives none.
    input: Json
    #: Attempts after a failed one.
    retries: int
    #: For one attempt, in seconds.
    timeout: int


@dataclass(frozen=True, slots=True)
class OneJob:
    """The state has one job; its output is the job's."""

    job: JobSpec


@dataclass(frozen=True, slots=True)
class NamedJobs:
    """The state has several jobs, started in this order; its output has each by its name."""

    jobs: tuple[JobSpec, ...]


@dataclass(frozen=True, slots=True)
class Inside:
    """There are states inside; ``initial`` is the one that is entered."""

    initial: str
    states: Mapping[str, ChartState]


@dataclass(frozen=True, slots=True)
class Waits:
    """Nothing runs on entry."""


Work: TypeAlias = OneJob | NamedJobs | Inside | Waits


@dataclass(frozen=True, slots=True)
class StateSpec:
    """One state that is no final."""

    name: str
    path: Path
    work: Work
    ticket: str | None
    timers: tuple[TimerSpec, ...]
    defer: tuple[str, ...]
    entry: tuple[SendSpec, ...]
    exit: tuple[SendSpec, ...]
    on: Mapping[str, tuple[TransitionSpec, ...]]

    @property
    def jobs(self) -> tuple[JobSpec, ...]:
        """What is started on entry, in order."""
        match self.work:
            case OneJob(job):
                return (job,)
            case NamedJobs(jobs):
                return jobs
            case _:
                return ()

    @property
    def states(self) -> Mapping[str, ChartState]:
        """The states directly inside."""
        return self.work.states if isinstance(self.work, Inside) else {}


@dataclass(frozen=True, slots=True)
class FinalSpec:
    """One final; ``output`` is any value with ``${…}`` in its texts, null when it has none."""

    name: str
    path: Path
    end: End
    output: Json


ChartState: TypeAlias = StateSpec | FinalSpec


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One declared name of a chart's input."""

    name: str
    type: InputType
    #: Absent and null are allowed.
    optional: bool


@dataclass(frozen=True, eq=False)
class MachineSpec:
    """One chart of a document; mappings and states in the order of the file.

    ``input`` and ``events`` are None where the chart declares none, which is not the same as empty.
    A schema of ``events`` is an object or a boolean.
    """

    path: str
    name: str
    input: Mapping[str, InputSpec] | None
    events: Mapping[str, dict[str, Json] | bool] | None
    initial: str
    states: Mapping[str, ChartState]

    @cached_property
    def every_state(self) -> Mapping[str, ChartState]:
        """All states of the tree by name, each before those inside it."""
        return {state.name: state for state in _below(self.states)}

    @cached_property
    def around(self) -> Mapping[str, str | None]:
        """For each state the one directly around it; None stands for the chart."""
        return dict(_pairs(self.states, None))


def _below(states: Mapping[str, ChartState]) -> Iterator[ChartState]:
    for state in states.values():
        yield state
        if isinstance(state, StateSpec):
            yield from _below(state.states)


def _pairs(states: Mapping[str, ChartState], outer: str | None) -> Iterator[tuple[str, str | None]]:
    for state in states.values():
        yield state.name, outer
        if isinstance(state, StateSpec):
            yield from _pairs(state.states, state.name)


@dataclass(frozen=True, eq=False)
class ChartDocument:
    """A chart's document that has passed every check of `docs/spec/statechart.md` 1.5.

    ``raw`` is the document's object; nobody may change it. ``machines`` has the chart itself
    under ``"."``, first.
    """

    raw: dict[str, Any]
    machines: Mapping[str, MachineSpec]
    #: Path to source text.
    scripts: Mapping[str, str]

    @property
    def top(self) -> MachineSpec:
        """The chart itself."""
        return self.machines[ITSELF]

    @property
    def name(self) -> str:
        """The chart's name."""
        return self.top.name

    @cached_property
    def checksum(self) -> str:
        """Which document a run is pinned to."""
        return hashes.checksum(self.raw)
