"""Rules that hold for every small workflow, whatever comes in whatever order, whatever the clock.

Single tokens only, whose commands are played one by one: ended leases, repeated grants, renewals.
The driver checks at each command that the family stays as it was, and then keeps every rule.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import chain
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stateous.graph.machine import Machine
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.commands import (
    AddNote,
    ClaimTask,
    Command,
    EndLease,
    Fire,
    FireTimer,
    RenewLease,
    RepeatGrant,
    ReportEvent,
    ReportFailed,
    ReportWaiting,
    Start,
    WriteMemory,
)
from tests.support.engine import LEASE, Engine, T, after, text
from tests.support.graphs import machine

STATES = ("a", "b", "c")
PLAIN = ("go", "back")
CARRYING = ("tell",)
DECLARED = (*PLAIN, *CARRYING)
OWN = ("timeout", "error")

guards = st.sampled_from(
    [
        "1 < 2",
        "1 > 2",
        "ctx['n'] > 1",
        "ctx['n'] == null",
        "ctx['kept'] != null",
        "count('go') < 3",
        "count('go') >= 2 and count('error') < 2",
        "count('timeout') == 1",
    ]
)
targets = st.sampled_from((*STATES, *STATES, *STATES, "END"))


@st.composite
def workflows(draw: st.DrawFn) -> Machine:
    """A workflow of up to three states; anything may lead anywhere, guards may overlap."""
    lines = draw(
        st.sampled_from(["START -> a", "START -> a if ctx['n'] > 1\nSTART -> b otherwise"])
    )
    for state in STATES:
        for event in (*DECLARED, *OWN):
            for guard in draw(st.lists(guards, max_size=2)):
                lines += f"\n{state} -> {draw(targets)} on {event} if {guard}"
            if draw(st.booleans()):
                lines += f"\n{state} -> {draw(targets)} on {event}"
    return machine(
        lines,
        context="Context",
        states={
            state: {
                "retries": draw(st.integers(0, 2)),
                **draw(st.sampled_from([{}, {"timeout": "30s"}, {"timeout": "5m"}])),
            }
            for state in STATES
        },
        events={
            **{event: {} for event in PLAIN},
            "tell": {"payload": "Any", **draw(st.sampled_from([{}, {"into": "kept"}]))},
        },
        schemas={
            "Any": {"type": "object"},
            "Context": {
                "type": "object",
                "properties": {
                    "n": {"type": ["integer", "null"], "default": None},
                    "kept": {"type": ["object", "null"], "maxProperties": 1},
                },
            },
        },
    )


payloads = st.sampled_from([None, {}, {"n": 1}, {"n": 1, "m": 2}]).map(text)
changes = st.sampled_from([None, {}, {"n": 3}, {"n": 0, "z": 1}, {"n": "wrong"}]).map(text)
no_changes = st.none()
events = st.sampled_from((*DECLARED, *DECLARED, "timeout", "nosuch"))
# Ids are distances from the youngest, which is what most commands name.
tasks = st.sampled_from([0, 0, 0, 0, 0, 1, 2, 30])
timers = st.sampled_from([0, 0, 1, 1, 2, 3, 30])
attempts = st.sampled_from([None, None, 1, 2, 3])
boxes = st.sampled_from(["box-1", "box-1", "box-2"])
callers = st.none() | boxes
keys = st.sampled_from([None, None, "k1", "k2", "k3"])
numbers = st.none() | st.integers(1, 5)
seconds = st.sampled_from([-100, 0, 1, 31, 130, 301, 1000])
some_timers = st.lists(
    st.sampled_from(
        [after("go", 5), after("tell", 40, {"n": 2}), after("back", 900), after("x", 1)]
    ),
    max_size=2,
).map(tuple)
no_timers = st.just(())

start = st.builds(Start, st.just(T), changes)
fire = st.builds(Fire, st.just(T), events, payloads, keys)
claim = st.builds(ClaimTask, tasks, boxes, st.just(LEASE))
repeat = st.builds(RepeatGrant, tasks, boxes, st.integers(1, 2), st.just(LEASE))
renew = st.builds(RenewLease, tasks, boxes, st.just(LEASE), st.booleans())
report = st.one_of(
    st.builds(ReportEvent, tasks, events, payloads, changes, some_timers, attempts, callers),
    st.builds(ReportEvent, tasks, st.sampled_from(DECLARED), no_changes, no_changes, no_timers),
)
waiting = st.builds(ReportWaiting, tasks, changes, some_timers, attempts, boxes)
failure = st.builds(ReportFailed, tasks, st.sampled_from(["", "boom"]), attempts, callers)
note = st.builds(AddNote, tasks, st.just("note"), attempts, numbers)
remember = st.builds(WriteMemory, tasks, st.just("k"), payloads, attempts, numbers)
end_lease = st.builds(EndLease, tasks, st.just(LEASE))
fire_timer = st.builds(FireTimer, timers)

one = st.one_of(
    start, fire, claim, repeat, renew, report, waiting, failure, note, remember, end_lease,
    fire_timer, seconds,
)  # fmt: skip
episodes: st.SearchStrategy[Any] = st.one_of(
    st.tuples(one),
    st.tuples(claim, report),
    st.tuples(claim, note, remember, report),
    st.tuples(claim, failure, claim, failure),
    st.tuples(claim, seconds, end_lease),
    st.tuples(claim, waiting, seconds, fire_timer),
    st.tuples(seconds, fire_timer, fire_timer),
    st.tuples(fire, fire),
)


@settings(max_examples=100, deadline=None)
@given(workflows(), changes, st.lists(episodes, min_size=5, max_size=25))
def test_the_rules_hold_after_every_command(
    workflow: Machine, context: Any, story: list[tuple[Any, ...]]
) -> None:
    engine = Engine(workflow)
    if isinstance(engine.play(Start(T, context)), Refusal):
        assert not engine.ledger
        return
    for step in chain.from_iterable(story):
        if isinstance(step, int):
            engine.wait(seconds=step)
        else:
            play(engine, named(engine, step))


def named(engine: Engine, command: Command) -> Command:
    """``command`` with the id that its distance from the youngest task or timer means."""
    match command:
        case Start() | Fire():
            return command
        case FireTimer(timer=distance):
            return FireTimer(max(engine.family.timers, default=0) - distance)
        case _:
            made = {each.name: getattr(command, each.name) for each in fields(command)}
            made["task"] = max(engine.family.tasks, default=0) - command.task
            return type(command)(**made)


def play(engine: Engine, command: Command) -> None:
    said, last = len(engine.ledger), engine.token.at
    was_live = engine.token.status.live
    reply = engine.play(command)
    entries = engine.ledger[said:]
    assert len({entry.at for entry in entries}) <= 1
    assert all(entry.at > last for entry in entries)
    if isinstance(reply, Refusal):
        refused_events = reply.code in (Code.EVENT_NOT_ALLOWED, Code.TOKEN_NOT_ACTIVE)
        assert [entry.kind for entry in entries] == ["event_rejected"] * refused_events
    if isinstance(reply, Refusal) or not was_live:
        assert not engine.effects.moved
        assert not engine.effects.tasks
        assert not engine.effects.timers
        assert not engine.effects.memory
