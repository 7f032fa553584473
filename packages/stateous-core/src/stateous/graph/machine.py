"""The frozen run-time machine: a graph document made ready to be run.

A machine holds one :class:`Flow` per workflow or chart. A flow is a tree of states (a workflow's
tree is flat); each state says what runs on entry, its timers, and its transitions grouped by event.
Where front-ends differ in what a rule does, the machine carries the policy as data, and the engine
never asks where the machine came from. Everything is compiled once: names are resolved, conditions
are closures, schemas are validators. :mod:`stateous.statechart.freeze` makes machines of charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from stateous.graph.document import FlowSpec, GraphDocument, Join, StateSpec, TransitionSpec
from stateous.graph.schemas import SchemaValidator, compile_schemas
from stateous.guards import Guard
from stateous.limits import MAX_LOST_ATTEMPTS
from stateous.names import START

if TYPE_CHECKING:
    from stateous.statechart.expressions import Expression
    from stateous.statechart.inputs import InputShape
    from stateous.statechart.templates import Template
    from stateous.statechart.times import Time

# ── policies ────────────────────────────────────────────────────────────


class Delivery(Enum):
    """How an event finds its transition, and what becomes of one that finds none.

    ``ROUTED``: the group of the state decides, and two guards that hold fail the token; a move that
    is not possible is refused. ``OFFERED``: the active states are asked from the leaf outward, and
    the first rule that holds wins; what none takes is kept or dropped.
    """

    ROUTED = "routed"
    OFFERED = "offered"


@dataclass(frozen=True, slots=True)
class Policy:
    """Where front-ends differ, as data.

    ``lost_attempts`` is how many attempts of a visit may be lost with their runner before the job
    fails; None: a lost attempt uses up a retry like one that failed.
    """

    delivery: Delivery
    lost_attempts: int | None


WORKFLOW_POLICY: Final = Policy(Delivery.ROUTED, lost_attempts=None)
CHART_POLICY: Final = Policy(Delivery.OFFERED, lost_attempts=MAX_LOST_ATTEMPTS)


# ── values, conditions and sends ────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value that is made from what a run knows. ``place`` names it where it fails."""

    place: str
    template: Template


@dataclass(frozen=True, slots=True)
class ToParent:
    """To the run that started this one as a job."""


@dataclass(frozen=True, slots=True)
class ToChild:
    """To the child run that does ``job`` for that one of ``states`` which is active."""

    states: tuple[str, ...]
    job: str


@dataclass(frozen=True, slots=True, eq=False)
class ToKey:
    """To the live run with the key; with ``machine``, a path, a new run where there is none."""

    key: Value
    machine: str | None


Receiver: TypeAlias = ToParent | ToChild | ToKey


@dataclass(frozen=True, slots=True, eq=False)
class Send:
    """An event that is sent when its place is reached; ``data`` None is null."""

    to: Receiver
    event: str
    data: Value | None


# ── what runs on entry ──────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class RoutineWork:
    """Entering the state queues one task; ``queue`` is what a claim names."""

    queue: str
    #: Attempts after the first one.
    retries: int
    #: The events that its routine may report, in order.
    emits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParallelWork:
    """Entering the state starts one child token per workflow, in this order."""

    workflows: tuple[str, ...]
    join: Join
    inputs: tuple[str, ...]
    into: str | None


@dataclass(frozen=True, slots=True)
class Script:
    """A job that a script does."""

    path: str
    source: str


@dataclass(frozen=True, slots=True)
class Routine:
    """A job that a Python routine does; the queue of its tasks has the chart's name before it."""

    name: str


@dataclass(frozen=True, slots=True)
class Child:
    """A job that a child run does, of the machine with this path in the document."""

    machine: str


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One job; ``input`` None is null. A script or routine becomes a task of ``queue``."""

    name: str
    does: Script | Routine | Child
    input: Value | None
    queue: str
    retries: int
    timeout: timedelta


@dataclass(frozen=True, slots=True, eq=False)
class JobsWork:
    """Entering the state starts its jobs, in this order; it is done when all are.

    ``named``: its output has each job's by the name; else it is that of the sole job.
    """

    jobs: Mapping[str, Job]
    named: bool


@dataclass(frozen=True, slots=True)
class NoWork:
    """Nothing runs: the state waits, or is there for the states inside it."""


Work: TypeAlias = RoutineWork | ParallelWork | JobsWork | NoWork


# ── transitions ─────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Transition:
    """A way out of a state; ``target`` is a state's name or END."""

    target: str
    guard: Guard | None


@dataclass(frozen=True, slots=True)
class Group:
    """The transitions of one state on one event: the guarded ones in order, and the fallback."""

    guarded: tuple[Transition, ...]
    fallback: Transition | None


class EventKind(Enum):
    """What an event is that is offered. Rules take events of their own kind alone."""

    PLAIN = "plain"
    TIMER = "timer"
    TICKET = "ticket"


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """What an offered event can do: ``go`` to a state, or stay (None), and send."""

    go: str | None
    when: Expression | None
    sends: tuple[Send, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one state on one event, in order, and the kind of event that they take."""

    kind: EventKind
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class EventShape:
    """A declared event: the schema of its payload, and the context key that keeps it."""

    name: str
    payload: SchemaValidator | None
    into: str | None


# ── states and flows ────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False)
class StateTimer:
    """A timer that starts on entry. A ``time`` that is a value is resolved then."""

    name: str
    text: str
    time: Time | Value


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """What entering the state ends, well or not: the state around it, or its run."""

    done: bool
    output: Value | None


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """One state of a flow's tree.

    ``path`` leads to it: the names of the states around it, outermost first, and its own. Events
    are routed by ``groups``, or offered to ``rules``. ``initial`` is the state inside that is
    entered with it.
    """

    name: str
    work: Work
    timeout: timedelta | None
    groups: Mapping[str, Group]
    path: tuple[str, ...]
    rules: Mapping[str, Rules] = field(default_factory=dict)
    initial: str | None = None
    timers: tuple[StateTimer, ...] = ()
    ticket: str | None = None
    defer: frozenset[str] = frozenset()
    entry: tuple[Send, ...] = ()
    exit: tuple[Send, ...] = ()
    ending: Ending | None = None

    @property
    def emits(self) -> tuple[str, ...]:
        """The events that a routine of this state may report."""
        return self.work.emits if isinstance(self.work, RoutineWork) else ()

    @property
    def jobs(self) -> Mapping[str, Job]:
        """The jobs that entering the state starts."""
        return self.work.jobs if isinstance(self.work, JobsWork) else {}

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of the child tokens that entering the state starts, in order."""
        if isinstance(self.work, ParallelWork):
            return self.work.workflows
        return tuple(job.name for job in self.jobs.values() if isinstance(job.does, Child))

    def retries_of(self, job: str | None) -> int:
        """Attempts after the first one: of that job, or of the state's routine."""
        if isinstance(self.work, RoutineWork):
            return self.work.retries
        return 0 if job is None else self.jobs[job].retries


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """One workflow or chart. ``states`` finds every state of the tree by its name.

    ``events`` are those that are declared; ``open_events``: others may come too. ``tickets`` tells
    which state issues each ticket. ``input`` is None where any will do.
    """

    name: str
    context: SchemaValidator | None
    start: Group
    states: Mapping[str, State]
    events: Mapping[str, EventShape]
    policy: Policy
    open_events: bool = False
    tickets: Mapping[str, str] = field(default_factory=dict)
    input: InputShape | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """A graph document ready to be run: the top flow, and the others by their names or paths."""

    checksum: str
    top: Flow
    children: Mapping[str, Flow]

    def flow(self, workflow: str | None) -> Flow:
        """The flow of a token whose row names ``workflow``; None is the top one."""
        return self.top if workflow is None else self.children[workflow]


# ── freezing a workflow ─────────────────────────────────────────────────


def freeze(document: GraphDocument) -> Machine:
    """Make ``document`` ready to be run.

    Raises:
        GraphError: a schema of the document is no JSON Schema.
    """
    validators = compile_schemas(document)
    return Machine(
        checksum=document.checksum,
        top=_flow(document.top, validators, prefix=""),
        children={
            name: _flow(spec, validators, prefix=f"{name}/")
            for name, spec in document.workflows.items()
        },
    )


def _flow(spec: FlowSpec, validators: Mapping[str, SchemaValidator], *, prefix: str) -> Flow:
    groups: dict[str, dict[str | None, list[TransitionSpec]]] = {}
    for transition in spec.transitions:
        source, event = transition.group
        groups.setdefault(source, {}).setdefault(event, []).append(transition)
    return Flow(
        name=spec.name,
        context=None if spec.context is None else validators[spec.context],
        start=_group(groups.get(START, {}).get(None, ())),
        states={
            name: _state(state, groups.get(name, {}), prefix) for name, state in spec.states.items()
        },
        events={
            name: EventShape(
                name, None if event.payload is None else validators[event.payload], event.into
            )
            for name, event in spec.events.items()
        },
        policy=WORKFLOW_POLICY,
    )


def _state(
    spec: StateSpec, groups: Mapping[str | None, Iterable[TransitionSpec]], prefix: str
) -> State:
    work: Work
    if spec.parallel:
        work = ParallelWork(spec.parallel, spec.join, spec.inputs, spec.into)
    else:
        work = RoutineWork(f"{prefix}{spec.name}", spec.retries, spec.emits)
    return State(
        name=spec.name,
        work=work,
        timeout=spec.timeout,
        groups={event: _group(group) for event, group in groups.items() if event is not None},
        path=(spec.name,),
    )


def _group(specs: Iterable[TransitionSpec]) -> Group:
    transitions = [Transition(spec.target, spec.guard) for spec in specs]
    return Group(
        guarded=tuple(each for each in transitions if each.guard is not None),
        fallback=next((each for each in transitions if each.guard is None), None),
    )
