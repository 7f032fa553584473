"""Freezing a chart's document: the machine that it is when it is run.

Names are resolved, expressions compiled, each once. Whatever is computed knows the place where it
stands, for the sentence that says why it failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, assert_never

from stateous.graph import machine
from stateous.graph.machine import (
    CHART_POLICY,
    Ending,
    EventKind,
    EventShape,
    Flow,
    Group,
    Job,
    JobsWork,
    Machine,
    NoWork,
    Receiver,
    Rule,
    Rules,
    Send,
    State,
    StateTimer,
    Transition,
    Value,
    Work,
)
from stateous.graph.schemas import validator_of
from stateous.json import Json
from stateous.names import SCRIPTS, job_queue
from stateous.statechart import document
from stateous.statechart.document import (
    ITSELF,
    ChartDocument,
    FinalSpec,
    Inside,
    JobSpec,
    MachineSpec,
    NamedJobs,
    Path,
    SendSpec,
    StateSpec,
    TimerSpec,
    TransitionSpec,
)
from stateous.statechart.expressions import compile_expression
from stateous.statechart.inputs import InputShape
from stateous.statechart.places import spell
from stateous.statechart.templates import compile_value

_NOTHING: Final = NoWork()


def freeze_chart(chart: ChartDocument) -> Machine:
    """Make ``chart``, which has passed every check, ready to be run."""
    flows = {path: _Freezing(chart, spec).flow() for path, spec in chart.machines.items()}
    return Machine(checksum=chart.checksum, top=flows[ITSELF], children=flows)


class _Freezing:
    """One machine of a document on its way to a flow."""

    def __init__(self, chart: ChartDocument, spec: MachineSpec) -> None:
        self._chart = chart
        self._spec = spec
        self._paths: dict[str, tuple[str, ...]] = {}
        for name, around in spec.around.items():
            self._paths[name] = (*(() if around is None else self._paths[around]), name)
        self._tickets = {
            state.ticket: state.name for state in self._states() if state.ticket is not None
        }
        # Jobs of several states may have one name.
        self._children: dict[str, tuple[str, ...]] = {}
        for state in self._states():
            for job in state.jobs:
                if isinstance(job.does, document.Child):
                    others = self._children.get(job.name, ())
                    self._children[job.name] = (*others, state.name)

    def flow(self) -> Flow:
        spec = self._spec
        return Flow(
            name=spec.name,
            context=None,
            start=Group((), Transition(spec.initial, None)),
            states=self._tree(),
            events={
                name: EventShape(name, validator_of(name, schema), None)
                for name, schema in (spec.events or {}).items()
            },
            policy=CHART_POLICY,
            open_events=spec.events is None,
            tickets=self._tickets,
            input=None if spec.input is None else InputShape(spec.input),
        )

    def _states(self) -> Iterable[StateSpec]:
        return (each for each in self._spec.every_state.values() if isinstance(each, StateSpec))

    # ── states ──────────────────────────────────────────────────────────

    def _tree(self) -> Mapping[str, State]:
        return {
            name: self._final(spec) if isinstance(spec, FinalSpec) else self._state(spec)
            for name, spec in self._spec.every_state.items()
        }

    def _final(self, spec: FinalSpec) -> State:
        output = self._value(spec.output, (*spec.path, "output"))
        ending = Ending(spec.end == "done", output)
        return State(spec.name, _NOTHING, None, {}, self._paths[spec.name], ending=ending)

    def _state(self, spec: StateSpec) -> State:
        heard = self._timers_heard(spec.name)
        return State(
            name=spec.name,
            work=self._work(spec),
            timeout=None,
            groups={},
            path=self._paths[spec.name],
            rules={
                event: Rules(self._kind(event, heard), tuple(self._rule(each) for each in rules))
                for event, rules in spec.on.items()
            },
            initial=spec.work.initial if isinstance(spec.work, Inside) else None,
            timers=tuple(self._timer(each) for each in spec.timers),
            ticket=spec.ticket,
            defer=frozenset(spec.defer),
            entry=self._sends(spec.entry),
            exit=self._sends(spec.exit),
        )

    def _timers_heard(self, name: str) -> frozenset[str]:
        """The names of the timers of the state, of those around it and of those inside it."""
        return frozenset(
            timer.name
            for state in self._states()
            if name in self._paths[state.name] or state.name in self._paths[name]
            for timer in state.timers
        )

    def _kind(self, event: str, timers: frozenset[str]) -> EventKind:
        if event in self._tickets:
            return EventKind.TICKET
        return EventKind.TIMER if event in timers else EventKind.PLAIN

    def _rule(self, spec: TransitionSpec) -> Rule:
        when = None if spec.when is None else compile_expression(spec.when)
        return Rule(spec.go, when, self._sends(spec.sends))

    def _timer(self, spec: TimerSpec) -> StateTimer:
        if isinstance(spec.time, document.Computed):
            value = self._value(f"${{{spec.time.expression}}}", spec.path)
            assert value is not None
            return StateTimer(spec.name, spec.text, value)
        return StateTimer(spec.name, spec.text, spec.time)

    # ── jobs and sends ──────────────────────────────────────────────────

    def _work(self, spec: StateSpec) -> Work:
        if not spec.jobs:
            return _NOTHING
        jobs = {job.name: self._job(job) for job in spec.jobs}
        return JobsWork(jobs, named=isinstance(spec.work, NamedJobs))

    def _job(self, spec: JobSpec) -> Job:
        does: machine.Script | machine.Routine | machine.Child
        match spec.does:
            case document.Script(path):
                does, queue = machine.Script(path, self._chart.scripts[path]), job_queue(SCRIPTS)
            case document.Routine(name):
                does = machine.Routine(name)
                queue = job_queue(f"{self._spec.name}/{name}")
            case document.Child(path):
                does, queue = machine.Child(path), ""
            case _:
                assert_never(spec.does)
        return Job(
            name=spec.name,
            does=does,
            input=self._value(spec.input, (*spec.path, "input")),
            queue=queue,
            retries=spec.retries,
            timeout=timedelta(seconds=spec.timeout),
        )

    def _sends(self, specs: Iterable[SendSpec]) -> tuple[Send, ...]:
        return tuple(
            Send(
                self._receiver(spec),
                spec.event,
                self._value(spec.data, (*spec.path, "data")),
            )
            for spec in specs
        )

    def _receiver(self, spec: SendSpec) -> Receiver:
        match spec.to:
            case document.ToParent():
                return machine.ToParent()
            case document.ToChild(job):
                return machine.ToChild(self._children[job], job)
            case document.ToKey(key):
                return machine.ToKey(self._key(key, spec), None)
            case document.ToMachine(path, key):
                return machine.ToKey(self._key(key, spec), path)
            case _:
                assert_never(spec.to)

    def _key(self, key: str, spec: SendSpec) -> Value:
        return Value(self._place((*spec.path, "to", "key")), compile_value(key))

    # ── values ──────────────────────────────────────────────────────────

    def _value(self, value: Json, path: Path) -> Value | None:
        return None if value is None else Value(self._place(path), compile_value(value))

    def _place(self, path: Path) -> str:
        return spell(path, self._chart.raw)
