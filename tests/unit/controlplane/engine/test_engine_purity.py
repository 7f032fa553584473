"""Deciding changes nothing but what its effects say, and a defect leaves no trace."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import pytest

from stateous.graph.machine import freeze
from stateous.graph.reading import check_graph
from stateous.json import JsonText
from stateous_controlplane.engine.commands import (
    ClaimTask,
    Command,
    Fire,
    ReportEvent,
    ReportFailed,
    WriteMemory,
)
from stateous_controlplane.engine.rows import Active, Status, Task, Timer, TimerKind, Token
from tests.support.engine import LEASE, NOON, Engine
from tests.support.graphs import TICKET, machine

TICKETS = freeze(check_graph(TICKET))


def held() -> Engine:
    engine = Engine(TICKETS)
    engine.start({"deep": {"list": [1, {"a": 2}]}})
    engine.claim()
    engine.remember("k", [1])
    return engine


MOVES: list[Command] = [
    Fire("T-1", "done", None, "key"),
    Fire("T-1", "nosuch", None, "key"),
    Fire("T-1", "stuck", None, None),
    ReportEvent(1, "done", None, JsonText('{"deep":{"list":[]}}')),
    ReportFailed(1, "boom"),
    WriteMemory(1, "k", None),
    ClaimTask(1, "other", LEASE),
]


@pytest.mark.parametrize("command", MOVES, ids=lambda each: type(each).__name__)
def test_the_same_question_has_the_same_answer(command: Command) -> None:
    engine = held()
    first = engine.decide(command)
    second = engine.decide(command)
    assert first == second


@pytest.mark.parametrize("command", MOVES, ids=lambda each: type(each).__name__)
def test_rows_given_out_are_not_those_of_the_family(command: Command) -> None:
    engine = held()
    effects = engine.decide(command).effects
    for token in effects.tokens.values():
        mine = engine.family.tokens[token.token]
        assert token is not mine
        assert token.counts is not mine.counts
        assert token.visits is not mine.visits
    for number, task in effects.tasks.items():
        assert task is not engine.family.tasks.get(number)
    for number, timer in effects.timers.items():
        assert timer is not engine.family.timers.get(number)


def test_a_reply_stays_what_it_was_when_the_next_command_comes() -> None:
    engine = held()
    first: Any = engine.fire("done")
    shown = deepcopy(first)
    engine.fire("passed")
    assert first == shown


class Unheard:
    """Work of a kind that the engine does not know: entering such a state is a defect."""


def test_a_defect_in_the_middle_leaves_no_trace() -> None:
    good = machine("START -> a\na -> b on go\na -> END on stop\nb -> END on stop")
    states = dict(good.top.states)
    states["b"] = replace(states["b"], work=Unheard())  # type: ignore[arg-type]
    broken = replace(good, top=replace(good.top, states=MappingProxyType(states)))
    engine = Engine(broken)
    engine.start()
    engine.claim()
    before = deepcopy(engine.family)
    with pytest.raises(AssertionError):
        engine.play(ReportEvent(1, "go", None, JsonText('{"x":1}')))
    assert engine.family == before
    engine.report("stop")
    assert engine.kinds() == (
        "started event_accepted entered task_queued task_claimed event_accepted task_done completed"
    )


def filled(row: type[Any], /, **values: Any) -> Any:
    """A row whose every field has a value of its own."""
    made = {each.name: values.get(each.name, f"value of {each.name}") for each in fields(row)}
    return row(**made)


@pytest.mark.parametrize(
    "row",
    [
        filled(
            Token,
            status=Status.PAUSED,
            configuration=(Active("a", 1),),
            counts={"a": 1},
            visits={"b": 2},
        ),
        filled(Task),
        filled(Timer, kind=TimerKind.TIMER),
    ],
    ids=lambda row: type(row).__name__,
)
def test_a_copy_has_every_field(row: Any) -> None:
    assert row.copy() == row
    assert row.copy() is not row


def test_what_moved_is_told_apart_from_what_was_only_spoken_of() -> None:
    engine = held()
    engine.note("x")
    assert set(engine.effects.tokens) == {"T-1"}
    assert not engine.effects.moved
    engine.fire("done")
    assert engine.effects.moved == {"T-1"}
    assert not engine.effects.created
    assert engine.token.at > NOON
