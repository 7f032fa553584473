"""The frozen run-time machine: a graph document made ready to be run.

A machine holds one :class:`Flow` per workflow. A flow is a tree of states (a workflow's tree is
flat); each state says what runs on entry, its timeout, and its transitions grouped by event. Where
front-ends differ in what a rule does, the machine carries the policy as data, and the engine never
asks where the machine came from. Everything is compiled once: names are resolved, guards are
closures, schemas are validators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import TypeAlias

from stateous.graph.document import FlowSpec, GraphDocument, Join, StateSpec, TransitionSpec
from stateous.graph.schemas import SchemaValidator, compile_schemas
from stateous.guards import Guard
from stateous.names import START


class TwoTrue(Enum):
    """What it means when two guards of one group hold."""

    FAILS = "fails"
    FIRST_WINS = "first wins"


@dataclass(frozen=True, slots=True)
class Policy:
    """Where front-ends differ, as data (`docs/spec/authoring.md` 2.6)."""

    two_true: TwoTrue


WORKFLOW_POLICY = Policy(two_true=TwoTrue.FAILS)


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


Work: TypeAlias = RoutineWork | ParallelWork


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


@dataclass(frozen=True, slots=True)
class EventShape:
    """A declared event: the schema of its payload, and the context key that keeps it."""

    name: str
    payload: SchemaValidator | None
    into: str | None


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """One state of a flow's tree; ``states`` are those inside it."""

    name: str
    work: Work
    timeout: timedelta | None
    groups: Mapping[str, Group]
    states: Mapping[str, State] = field(default_factory=dict)

    @property
    def emits(self) -> tuple[str, ...]:
        """The events that a routine of this state may report."""
        return self.work.emits if isinstance(self.work, RoutineWork) else ()


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """One workflow of a machine. ``states`` finds every state of the tree by its name."""

    name: str
    context: SchemaValidator | None
    start: Group
    states: Mapping[str, State]
    events: Mapping[str, EventShape]
    policy: Policy


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """A graph document ready to be run: the top flow, and the child workflows by name."""

    checksum: str
    top: Flow
    children: Mapping[str, Flow]

    def flow(self, workflow: str | None) -> Flow:
        """The flow of a token whose row names ``workflow``: None is the top one."""
        return self.top if workflow is None else self.children[workflow]


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
    )


def _group(specs: Iterable[TransitionSpec]) -> Group:
    transitions = [Transition(spec.target, spec.guard) for spec in specs]
    return Group(
        guarded=tuple(each for each in transitions if each.guard is not None),
        fallback=next((each for each in transitions if each.guard is None), None),
    )
