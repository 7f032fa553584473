"""The plan of a step: all that leaving, sending and entering come to, before any of it is done.

`docs/spec/statechart.md` 4. Every expression of a step is evaluated here, in the order of the
specification. So a step whose expression fails is undone as a whole: it was never begun.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, assert_never

from stateous.graph.machine import (
    Flow,
    Job,
    Rule,
    Send,
    State,
    StateTimer,
    ToChild,
    ToKey,
    ToParent,
    Value,
)
from stateous.json import Json, JsonText, write_json
from stateous.limits import MAX_RUN_KEY
from stateous.statechart.run_ids import child_id
from stateous.statechart.tickets import mask, ticket_value
from stateous.statechart.times import BadTime, Length, due, read_time
from stateous_controlplane.engine.rows import Active, TimerKind, Token
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.scope import Scope
from stateous_controlplane.engine.runs.values import StepFailed, build, evaluate


@dataclass(frozen=True, slots=True)
class AtParent:
    """The receiver is the run that started this one."""


@dataclass(frozen=True, slots=True)
class AtChild:
    """The receiver is this child run, which need not live or exist; ``job`` is what it does."""

    run: str
    job: str


@dataclass(frozen=True, slots=True)
class AtKey:
    """The receiver is the live run with the key, or a new run of ``machine``."""

    key: str
    machine: str | None


Address: TypeAlias = AtParent | AtChild | AtKey


@dataclass(frozen=True, slots=True)
class BuiltSend:
    """A send with its receiver and data; ``state`` is the one that sends."""

    state: str
    to: Address
    event: str
    data: JsonText


@dataclass(frozen=True, slots=True)
class DueTimer:
    """A timer to start."""

    name: str
    text: str
    kind: TimerKind
    due_at: datetime


@dataclass(frozen=True, slots=True)
class Leaving:
    """A state to leave, with its exit sends."""

    active: Active
    sends: tuple[BuiltSend, ...]


@dataclass(frozen=True, slots=True)
class Entering:
    """A state to enter; ``ticket`` is the value of the ticket that it issues."""

    state: State
    visit: int
    timers: tuple[DueTimer, ...] = ()
    ticket: str | None = None
    sends: tuple[BuiltSend, ...] = ()
    jobs: tuple[tuple[Job, JsonText], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole step. ``output`` is that of the final in which it ends, None without one."""

    leaving: Sequence[Leaving] = ()
    sends: Sequence[BuiltSend] = ()
    entering: Sequence[Entering] = ()
    output: JsonText | None = None


def kept_states(state: State, target: State) -> int:
    """How many of the outermost active states stay when a rule of ``state`` goes to ``target``.

    A target inside the state keeps it active; else what stays is what is around both.
    """
    if state.name in target.path[:-1]:
        return len(state.path)
    kept = 0
    for mine, theirs in zip(state.path[:-1], target.path[:-1], strict=False):
        if mine != theirs:
            break
        kept += 1
    return kept


class Planner:
    """Plans the steps that one event makes a run do.

    Every method raises :class:`StepFailed` when an expression has no value, a time is none, or a
    value is over a limit.
    """

    def __init__(
        self, key: bytes, token: Token, flow: Flow, event: Occurrence, now: datetime
    ) -> None:
        self._key = key
        self._token = token
        self._flow = flow
        self._states = flow.states
        self._event = event
        self._now = now

    def start(self) -> Plan:
        """Enter the chart: its initial state, and those that are entered with it."""
        initial = self._flow.start.fallback
        assert initial is not None
        return self._plan(0, None, (), self._way_to(0, self._states[initial.target]))

    def take(self, state: State, rule: Rule) -> Plan:
        """What a rule of an active state does: go somewhere or stay, and send."""
        if rule.go is None:
            return self._plan(len(self._token.configuration), state, rule.sends, ())
        target = self._states[rule.go]
        kept = kept_states(state, target)
        return self._plan(kept, state, rule.sends, self._way_to(kept, target))

    def _way_to(self, kept: int, target: State) -> tuple[State, ...]:
        """The states to enter, outermost first, with the initial ones inside."""
        way = [self._states[name] for name in target.path[kept:]]
        while (initial := way[-1].initial) is not None:
            way.append(self._states[initial])
        return tuple(way)

    def _plan(
        self, kept: int, state: State | None, sends: Sequence[Send], way: Sequence[State]
    ) -> Plan:
        active = dict(self._token.configuration)
        new = {each.name: self._token.visits.get(each.name, 0) + 1 for each in way}
        leaving = tuple(
            Leaving(each, self._sends(each.state, self._states[each.state].exit, active, new))
            for each in reversed(self._token.configuration[kept:])
        )
        sent = () if state is None else self._sends(state.name, sends, active, new)
        # What is entered reads its own new tickets, and those of what stays active.
        entering = tuple(self._entering(each, {**active, **new}, new) for each in way)
        return Plan(leaving, sent, entering, self._output(way, {**active, **new}))

    def _entering(
        self, state: State, visits: Mapping[str, int], new: Mapping[str, int]
    ) -> Entering:
        visit = new[state.name]
        before = self._scope(state.path[:-1], visits)
        timers = tuple(self._timer(each, before) for each in state.timers)
        ticket = None
        if state.ticket is not None:
            ticket = ticket_value(self._key, self._token.token, state.name, visit, state.ticket)
        sends = self._sends(state.name, state.entry, visits, new)
        scope = self._scope(state.path, visits)
        jobs = tuple((job, build(job.input, scope)) for job in state.jobs.values())
        return Entering(state, visit, timers, ticket, sends, jobs)

    def _output(self, way: Sequence[State], visits: Mapping[str, int]) -> JsonText | None:
        if not way or way[-1].ending is None:
            return None
        return build(way[-1].ending.output, self._scope(way[-1].path, visits))

    def _timer(self, timer: StateTimer, scope: Scope) -> DueTimer:
        text, time = timer.text, timer.time
        if isinstance(time, Value):
            value = evaluate(time, scope)
            try:
                text = _text(value)
                resolved = read_time(text)
            except BadTime as error:
                raise StepFailed("time", f"{time.place}: {timer.text}: {error}") from None
        else:
            resolved = time
        kind = TimerKind.LENGTH if isinstance(resolved, Length) else TimerKind.CLOCK
        return DueTimer(timer.name, text, kind, due(resolved, self._now))

    # ── sends ───────────────────────────────────────────────────────────

    def _sends(
        self,
        state: str,
        sends: Sequence[Send],
        visits: Mapping[str, int],
        new: Mapping[str, int],
    ) -> tuple[BuiltSend, ...]:
        if not sends:
            return ()
        scope = self._scope(self._states[state].path, visits)
        return tuple(
            BuiltSend(state, self._address(each, scope, new), each.event, build(each.data, scope))
            for each in sends
        )

    def _address(self, send: Send, scope: Scope, new: Mapping[str, int]) -> Address:
        match send.to:
            case ToParent():
                return AtParent()
            case ToChild(states, job):
                # The child of the visit that begins now, is going on, or was the last one.
                active = dict(self._token.configuration)
                entered = (each for each in states if each in new)
                going_on = (each for each in states if each in active)
                state = next(entered, None) or next(going_on, states[-1])
                visit = new.get(state) or self._token.visits.get(state, 0)
                return AtChild(child_id(self._token.token, state, visit, job), job)
            case ToKey(key, machine):
                return AtKey(_key(key, evaluate(key, scope)), machine)
            case _:
                assert_never(send.to)

    def _scope(self, path: tuple[str, ...], visits: Mapping[str, int]) -> Scope:
        return Scope(self._key, self._token, self._flow, path, visits, self._event)


def _key(place: Value, key: Json) -> str:
    if isinstance(key, str) and 1 <= len(key) <= MAX_RUN_KEY:
        return key
    raise StepFailed(
        "expression",
        f"{place.place}: {_cut(write_json(key))} is no key: it must be a text of 1 to "
        f"{MAX_RUN_KEY} characters",
    )


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    raise BadTime(f"{_cut(write_json(value))} is no time: it must be a text, as '90s' or '18:00'")


def _cut(text: str) -> str:
    # A part of a ticket's value would pass every mask behind this.
    text = mask(text)
    return text if len(text) <= 60 else text[:59] + "…"
