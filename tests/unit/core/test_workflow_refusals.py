"""Wrong authoring calls, rule by rule and in the order of the rules (`docs/spec/authoring.md` 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, RootModel

from stateous import END, START, Workflow
from stateous.errors import DefinitionError


class Order(BaseModel):
    total: int = 0


class Lines(RootModel[list[int]]):
    pass


class Nasty:
    """A value that answers every question with an error."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equality")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __iter__(self) -> Any:
        raise RuntimeError("no items")


FOREIGN: list[Any] = [
    0, -1, 1.5, True, b"x", object(), [], {}, ["a"], Order, Order(), Lines, Nasty(), len, 10**5000,
]  # fmt: skip

Refused = Callable[[Callable[[], object], str], None]


def refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        call()
    assert words in refusal.value.sentence
    assert refusal.value.file == __file__


def a_workflow() -> Workflow:
    """States `a`, `b`, the parallel `p`; events `plain` and, with a payload, `paid`."""
    flow: Any = Workflow("orders", context=Order)
    flow.state("a")
    flow.state("b")
    flow.state("p", parallel=[Workflow("child")])
    flow.event("plain")
    flow.event("paid", payload=Order)
    return flow


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "Orders"}, "'Orders' cannot name a workflow"),
        ({"name": "a\n"}, "cannot name"),
        ({"name": "a" * 65}, "cannot name"),
        ({"name": "é"}, "cannot name"),
        ({"name": None}, "None cannot name"),
        ({"name": "x", "context": Order()}, "BaseModel"),
        ({"name": "x", "context": dict}, "BaseModel"),
        ({"name": "x", "context": BaseModel}, "BaseModel"),
        ({"name": "x", "context": Lines}, "Lines is a RootModel"),
        ({"name": "x", "context": "Order"}, "'Order'"),
        ({"name": "X", "context": 1}, "cannot name"),
    ],
)
def test_workflow(arguments: dict[str, Any], words: str) -> None:
    refused(lambda: Workflow(**arguments), words)


CHILD = Workflow("child")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "__start__"}, "'__start__' is Stateous's own"),
        ({"name": "__end__"}, "'__end__' is Stateous's own"),
        ({"name": "A"}, "'A' cannot name a state"),
        ({"name": "a"}, "'a' is declared already, at test_workflow_refusals.py:"),
        ({"name": "n", "timeout": "0s"}, "timeout: '0s' is not a duration"),
        ({"name": "n", "timeout": "3651d"}, "timeout: '3651d' is longer than 3650 days"),
        ({"name": "n", "timeout": 15}, "timeout: 15 is not a duration"),
        ({"name": "n", "timeout": ""}, "timeout"),
        ({"name": "n", "retries": -1}, "retries must be a whole number from 0, not -1"),
        ({"name": "n", "retries": True}, "retries"),
        ({"name": "n", "retries": 1.0}, "retries"),
        ({"name": "n", "retries": None}, "retries"),
        ({"name": "n", "parallel": None}, "parallel must be a list, not None"),
        ({"name": "n", "parallel": CHILD}, "write [Workflow('child')]"),
        ({"name": "n", "parallel": "child"}, "parallel holds Workflow objects, not 'c'"),
        ({"name": "n", "parallel": [CHILD, START]}, "Workflow objects, not START"),
        ({"name": "n", "parallel": [CHILD, Workflow("child")]}, "two workflows 'child'"),
        ({"name": "n", "parallel": [CHILD, CHILD]}, "two workflows 'child'"),
        ({"name": "n", "parallel": [CHILD], "retries": 1}, "no task that could be retried"),
        ({"name": "n", "join": "some"}, "join must be 'all' or 'any'"),
        ({"name": "n", "join": None}, "join must be"),
        ({"name": "n", "parallel": [CHILD], "inputs": "repo"}, "write ['repo']"),
        ({"name": "n", "parallel": [CHILD], "inputs": 1}, "inputs must be a list"),
        ({"name": "n", "parallel": [CHILD], "inputs": ["a", ""]}, "each of inputs"),
        ({"name": "n", "parallel": [CHILD], "inputs": [1]}, "each of inputs"),
        ({"name": "n", "parallel": [CHILD], "into": ""}, "into must be a key"),
        ({"name": "n", "parallel": [CHILD], "into": 1}, "into must be a key"),
        ({"name": "n", "join": "any"}, "belong to a parallel state"),
        ({"name": "n", "inputs": ["a"]}, "belong to a parallel state"),
        ({"name": "n", "into": "k"}, "belong to a parallel state"),
        # The order of the rules.
        ({"name": "a", "timeout": "x"}, "declared already"),
        ({"name": "n", "timeout": "x", "retries": -1}, "timeout"),
        ({"name": "n", "retries": -1, "parallel": 1}, "retries"),
        ({"name": "n", "parallel": [1], "retries": 1}, "Workflow objects"),
        ({"name": "n", "parallel": [CHILD], "retries": 1, "join": "x"}, "retried"),
        ({"name": "n", "join": "x", "inputs": 1}, "join"),
        ({"name": "n", "inputs": 1, "into": 1}, "inputs"),
        ({"name": "n", "into": 1, "join": "any"}, "into must be a key"),
    ],
)  # fmt: skip
def test_state(arguments: dict[str, Any], words: str) -> None:
    flow = a_workflow()
    before = dict(flow.states)
    refused(lambda: flow.state(**arguments), words)
    assert flow.states == before


def test_a_workflow_does_not_run_itself() -> None:
    flow = a_workflow()
    refused(lambda: flow.state("n", parallel=[flow]), "'orders' cannot run itself")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "timeout"}, "'timeout' is Stateous's own"),
        ({"name": "error"}, "own"),
        ({"name": "joined"}, "own"),
        ({"name": "__started__"}, "own"),
        ({"name": "Paid"}, "cannot name an event"),
        ({"name": "paid"}, "'paid' is declared already"),
        ({"name": "n", "payload": Order(total=1)}, "the payload must be"),
        ({"name": "n", "payload": Lines}, "RootModel"),
        ({"name": "n", "payload": dict[str, int]}, "the payload must be"),
        ({"name": "n", "into": ""}, "into"),
        ({"name": "n", "into": ["k"]}, "into"),
    ],
)
def test_event(arguments: dict[str, Any], words: str) -> None:
    flow = a_workflow()
    refused(lambda: flow.event(**arguments), words)


Call = Callable[[Any, Any], object]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        # 1: the ends
        (lambda f, s: f.transition("a", s["b"]), "the source must be a state, START or END, not 'a'"),
        (lambda f, s: f.transition(s["a"], "__end__", on="plain"), "the target must be"),
        (lambda f, s: f.transition(None, END), "the source must be"),
        (lambda f, s: f.transition(a_workflow().states["a"], s["b"]), "not of 'orders'"),
        (lambda f, s: f.transition(f.events["plain"], s["b"]), "the source must be"),
        # 2: their direction
        (lambda f, s: f.transition(s["a"], START, on="plain"), "no transition leads to START"),
        (lambda f, s: f.transition(END, s["a"], on="plain"), "no transition leaves END"),
        (lambda f, s: f.transition(START, END), "leads to a state"),
        (lambda f, s: f.transition(END, START), "no transition leads to START"),
        # 3: the event
        (lambda f, s: f.transition(START, s["a"], on="plain"), "leave out on"),
        (lambda f, s: f.transition(START, s["a"], on="__started__"), "leave out on"),
        (lambda f, s: f.transition(s["a"], END), "'a' needs on="),
        (lambda f, s: f.transition(s["a"], END, on="nosuch"), "not 'nosuch'"),
        (lambda f, s: f.transition(s["a"], END, on="__started__"), "never written"),
        (lambda f, s: f.transition(s["a"], END, on="joined"), "only in a parallel state"),
        (lambda f, s: f.transition(s["a"], END, on=a_workflow().events["plain"]), "not of 'orders'"),
        (lambda f, s: f.transition(s["a"], END, on=s["b"]), "on must be an event"),
        # 4, 5: the guard
        (lambda f, s: f.transition(s["a"], END, on="plain", when="true", otherwise=True), "not both"),
        (lambda f, s: f.transition(s["a"], END, on="plain", when="1 +"), "guard '1 +': it does not parse"),
        (lambda f, s: f.transition(s["a"], END, on="plain", when=""), "guard '': "),
        (lambda f, s: f.transition(s["a"], END, on="plain", when=1), "the text of a guard, not 1"),
        (lambda f, s: f.transition(s["a"], END, on="plain", when=False), "the text of a guard"),
        (lambda f, s: f.transition(s["a"], END, on="plain", when="branches.all(true)"), "'joined'"),
        (lambda f, s: f.transition(START, s["a"], when="branches.all(true)"), "'joined'"),
        (lambda f, s: f.transition(START, s["a"], when="payload.x"), "no payload"),
        (lambda f, s: f.transition(START, s["a"], when="count('plain') > 1"), "nothing to count"),
        (lambda f, s: f.transition(s["a"], END, on="plain", when="payload.x"), "'plain' carries no payload"),
        (lambda f, s: f.transition(s["a"], END, on="timeout", when="payload.x"), "'timeout' carries no payload"),
        (lambda f, s: f.transition(s["p"], END, on="joined", when="payload.x"), "'joined' carries no payload"),
        # Order: 3 before 4, 4 before 5.
        (lambda f, s: f.transition(s["a"], END, on="nosuch", when="1 +", otherwise=1), "nosuch"),
        (lambda f, s: f.transition(s["a"], END, on="plain", when="1 +", otherwise=1), "not both"),
    ],
)  # fmt: skip
def test_transition(call: Call, words: str) -> None:
    flow = a_workflow()
    refused(lambda: call(flow, flow.states), words)
    assert flow.transitions == []


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_one_unguarded_transition_per_state_and_event(first: bool, second: bool) -> None:
    flow = a_workflow()
    a, b = flow.states["a"], flow.states["b"]
    flow.transition(a, b, on="plain", otherwise=first)
    flow.transition(b, a, on="plain", otherwise=first)
    flow.transition(a, b, on="paid", otherwise=first)
    flow.transition(a, a, on="plain", when="ctx['total'] == 1")
    refused(
        lambda: flow.transition(a, END, on=flow.events["plain"], otherwise=second),
        "'a' on 'plain' has an unguarded transition already, at test_workflow_refusals.py:",
    )
    flow.transition(START, a, otherwise=first)
    refused(lambda: flow.transition(START, b, otherwise=second), "START has an unguarded")


@pytest.mark.parametrize("value", FOREIGN, ids=lambda value: type(value).__name__)
def test_no_value_of_any_type_escapes_the_refusal(value: Any) -> None:
    flow: Any = a_workflow()
    a, b = flow.states["a"], flow.states["b"]
    calls: list[Callable[[], object]] = [
        lambda: Workflow(value),
        lambda: flow.state(value),
        lambda: flow.state("n", timeout=value),
        lambda: flow.state("n", parallel=[value]),
        lambda: flow.state("n", parallel=[CHILD], join=value),
        lambda: flow.state("n", parallel=[CHILD], inputs=[value]),
        lambda: flow.state("n", parallel=[CHILD], into=value),
        lambda: flow.event(value),
        lambda: flow.event("n", into=value),
        lambda: flow.transition(value, b, on="plain"),
        lambda: flow.transition(a, value, on="plain"),
        lambda: flow.transition(a, b, on=value),
        lambda: flow.transition(a, b, on="plain", when=value),
    ]
    for call in calls:
        refused(call, "")


def test_values_that_answer_no_question() -> None:
    flow: Any = a_workflow()
    a, b = flow.states["a"], flow.states["b"]
    refused(lambda: flow.state("n", retries=Nasty()), "a Nasty")
    refused(lambda: flow.state("n", parallel=Nasty()), "no items")
    refused(lambda: flow.state("n", parallel=[CHILD], inputs=Nasty()), "no items")
    refused(lambda: flow.event("n", payload=Nasty()), "a Nasty")
    refused(lambda: flow.transition(a, b, on="plain", otherwise=Nasty()), "neither true nor false")


def test_an_unknown_argument_stays_pythons_error() -> None:
    flow: Any = a_workflow()
    with pytest.raises(TypeError):
        flow.state("n", timeouts="1s")
