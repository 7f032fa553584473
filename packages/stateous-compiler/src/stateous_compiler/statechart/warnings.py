"""Warnings: what a chart may say, and seldom means (`docs/spec/statechart.md` 1.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stateous.statechart.document import (
    ChartDocument,
    ChartState,
    Inside,
    MachineSpec,
    NamedJobs,
    StateSpec,
    TransitionSpec,
    Waits,
)
from stateous.statechart.facts import Finding
from stateous.statechart.fields import DONE, FAILED

_CLIENT: Final = "client"


def find_warnings(document: ChartDocument) -> Iterator[Finding]:
    """The warnings of a chart and its machines, state by state."""
    for machine in document.machines.values():
        reached = _reached(machine)
        for state in machine.every_state.values():
            if state.name not in reached:
                text = f"no transition leads to the state {state.name!r}"
                yield Finding("unreachable-state", state.path, text)
            if state.name == _CLIENT:
                yield _ambiguous(state.path)
            if isinstance(state, StateSpec):
                yield from _of_state(machine, state)


def _of_state(machine: MachineSpec, state: StateSpec) -> Iterator[Finding]:
    yield from _never_taken(state)
    yield from _done(machine, state)
    yield from _out_of_reach(machine, state)
    if isinstance(state.work, NamedJobs):
        for transition in state.on.get(FAILED, ()):
            if transition.go is None:
                text = "when this takes a failure the state stays, and its jobs are never all done"
                yield Finding("never-joined", transition.path, text)
        for job in state.work.jobs:
            if job.name == _CLIENT:
                yield _ambiguous(job.path)


def _never_taken(state: StateSpec) -> Iterator[Finding]:
    for transitions in state.on.values():
        for transition in transitions[len(_takeable(transitions)) :]:
            text = "a transition without 'when' stands before this one, which is never taken"
            yield Finding("never-taken", transition.path, text)


def _takeable(transitions: tuple[TransitionSpec, ...]) -> tuple[TransitionSpec, ...]:
    """Those up to the first that is always taken."""
    always = (at for at, each in enumerate(transitions, start=1) if each.when is None)
    return transitions[: next(always, None)]


def _done(machine: MachineSpec, state: StateSpec) -> Iterator[Finding]:
    if DONE in state.on and isinstance(state.work, Waits):
        text = f"the state {state.name!r} has neither jobs nor states: it is never done"
        yield Finding("never-done", (*state.path, "on", DONE), text)
    if DONE in state.on or not state.jobs:
        return
    for outer in _around(machine, state):
        if DONE in outer.on:
            text = f"the 'done' of this state's jobs goes outward, and {outer.name!r} takes it"
            yield Finding("done-goes-outward", state.path, text)
            return


def _out_of_reach(machine: MachineSpec, state: StateSpec) -> Iterator[Finding]:
    timers = {timer.name for each in _going_on(machine) for timer in each.timers}
    if timers.isdisjoint(state.on):
        return
    near = (state, *_around(machine, state), *_inside(state))
    heard = {timer.name for each in near for timer in each.timers}
    for event in state.on:
        if event in timers and event not in heard:
            text = f"the timer {event!r} is of a state that is neither around this one nor inside"
            yield Finding("timer-out-of-reach", (*state.path, "on", event), text)


def _going_on(machine: MachineSpec) -> Iterator[StateSpec]:
    return (each for each in machine.every_state.values() if isinstance(each, StateSpec))


def _around(machine: MachineSpec, state: ChartState) -> Iterator[StateSpec]:
    outer = machine.around[state.name]
    while outer is not None:
        found = machine.every_state[outer]
        if isinstance(found, StateSpec):
            yield found
        outer = machine.around[outer]


def _inside(state: StateSpec) -> Iterator[StateSpec]:
    for each in state.states.values():
        if isinstance(each, StateSpec):
            yield each
            yield from _inside(each)


def _reached(machine: MachineSpec) -> frozenset[str]:
    """The states that some way leads into, also as one around a target."""
    reached: set[str] = set()
    entered = [machine.initial]
    while entered:
        state = machine.every_state[entered.pop()]
        if isinstance(state, StateSpec) and isinstance(state.work, Inside):
            entered += _new([state.work.initial], reached)
        for each in (state, *_around(machine, state)):
            if each.name not in reached:
                reached.add(each.name)
                entered += _new(_targets(each), reached)
    return frozenset(reached)


def _new(targets: list[str], reached: set[str]) -> list[str]:
    return [target for target in targets if target not in reached]


def _targets(state: ChartState) -> list[str]:
    if not isinstance(state, StateSpec):
        return []
    listed = (each.go for rules in state.on.values() for each in _takeable(rules))
    return [target for target in listed if target is not None]


def _ambiguous(path: tuple[str | int, ...]) -> Finding:
    text = "events from here say 'client', as those from the client do"
    return Finding("ambiguous-from", path, text)
