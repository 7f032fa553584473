"""What freezing makes of a chart's document: names resolved, expressions compiled, places known."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from stateous.graph.machine import (
    CHART_POLICY,
    Child,
    Delivery,
    EventKind,
    JobsWork,
    Machine,
    NoWork,
    Routine,
    Script,
    ToChild,
    ToKey,
    ToParent,
)
from stateous.names import job_queue
from stateous.statechart.document import InputSpec
from stateous.statechart.freeze import freeze_chart
from stateous.statechart.inputs import BadInput, InputShape
from stateous.statechart.reading import read_chart
from stateous.statechart.times import Clock, Length

DOCUMENT: dict[str, Any] = {
    "stateous": 1,
    "statechart": "shop",
    "events": {"pay": {"type": "object"}},
    "initial": "open",
    "states": {
        "open": {
            "initial": "basket",
            "states": {
                "basket": {
                    "jobs": [
                        {"job": "price", "routine": "price", "retries": 2, "timeout": "1m"},
                        {"job": "draw", "script": "draw.js", "input": {"n": "${event.data}"}},
                        {"job": "ship", "machine": "ship.yaml"},
                    ],
                    "timers": [
                        {"timer": "late", "text": "48h", "after": 172800},
                        {"timer": "noon", "text": "12:00", "at": "12:00", "zone": "UTC"},
                    ],
                    "on": {
                        "late": [{"go": "closed", "when": "event.data == null"}, {"go": "open"}],
                        "done": [{"send": [{"to": "ship", "event": "go", "data": "${1 + 1}"}]}],
                    },
                },
            },
            "ticket": "boss",
            "defer": ["pay"],
            "exit": [{"to": {"key": "k:${run.id}", "machine": "ship.yaml"}, "event": "go"}],
            "on": {"late": [{}], "boss": [{"go": "closed"}], "pay": [{}]},
        },
        "closed": {"end": "failed", "output": "${event.data}"},
    },
    "scripts": {"draw.js": "return 1"},
    "machines": {
        "ship.yaml": {
            "statechart": "ship",
            "input": {"n": "integer?"},
            "initial": "a",
            "states": {"a": {"entry": [{"to": "parent", "event": "pay"}]}},
        }
    },
}


@pytest.fixture(scope="module")
def shop() -> Machine:
    return freeze_chart(read_chart(DOCUMENT))


def test_a_machine_has_a_flow_for_each_chart(shop: Machine) -> None:
    assert shop.flow(".") is shop.top
    assert (shop.top.name, shop.flow("ship.yaml").name) == ("shop", "ship")
    assert shop.top.policy is CHART_POLICY
    assert CHART_POLICY.delivery is Delivery.OFFERED


def test_states_know_their_way_and_what_is_entered_with_them(shop: Machine) -> None:
    states = shop.top.states
    assert {name: state.path for name, state in states.items()} == {
        "open": ("open",),
        "basket": ("open", "basket"),
        "closed": ("closed",),
    }
    assert (states["open"].initial, states["basket"].initial) == ("basket", None)
    assert isinstance(states["open"].work, NoWork)
    assert states["open"].defer == {"pay"}
    assert shop.top.start.fallback is not None
    assert shop.top.start.fallback.target == "open"


def test_jobs_have_queues_that_no_workflow_has(shop: Machine) -> None:
    work = shop.top.states["basket"].work
    assert isinstance(work, JobsWork)
    assert work.named
    price, draw, ship = work.jobs.values()
    assert price.does == Routine("price")
    assert (price.queue, price.retries, price.timeout) == (
        job_queue("shop/price"),
        2,
        timedelta(minutes=1),
    )
    assert draw.does == Script("draw.js", "return 1")
    assert (draw.queue, draw.retries, draw.timeout) == (
        job_queue("scripts"),
        0,
        timedelta(minutes=5),
    )
    assert ship.does == Child("ship.yaml")
    assert shop.top.states["basket"].branches == ("ship",)
    assert shop.top.states["basket"].retries_of("price") == 2


def test_rules_are_a_timers_or_a_tickets_where_such_a_name_can_be_heard(shop: Machine) -> None:
    kinds = {
        (name, event): rules.kind
        for name, state in shop.top.states.items()
        for event, rules in state.rules.items()
    }
    assert kinds == {
        ("open", "late"): EventKind.TIMER,
        ("open", "boss"): EventKind.TICKET,
        ("open", "pay"): EventKind.PLAIN,
        ("basket", "late"): EventKind.TIMER,
        ("basket", "done"): EventKind.PLAIN,
    }
    assert shop.top.tickets == {"boss": "open"}


def test_timers_are_read_once(shop: Machine) -> None:
    timers = shop.top.states["basket"].timers
    assert [(timer.name, timer.text, timer.time) for timer in timers] == [
        ("late", "48h", Length(172800)),
        ("noon", "12:00", Clock(12, 0)),
    ]


def test_sends_know_their_receivers_and_places(shop: Machine) -> None:
    (send,) = shop.top.states["basket"].rules["done"].rules[0].sends
    assert send.to == ToChild(("basket",), "ship")
    assert send.data is not None
    assert send.data.place == "states.open.states.basket.on.done[0].send[0].data"
    assert send.data.template.evaluate({}) == 2
    (keyed,) = shop.top.states["open"].exit
    assert isinstance(keyed.to, ToKey)
    assert keyed.to.machine == "ship.yaml"
    assert keyed.to.key.template.evaluate({"run": {"id": "r"}}) == "k:r"
    (up,) = shop.flow("ship.yaml").states["a"].entry
    assert up.to == ToParent()
    assert up.data is None


def test_a_final_has_an_ending_and_declared_events_their_schemas(shop: Machine) -> None:
    ending = shop.top.states["closed"].ending
    assert ending is not None
    assert not ending.done
    shape = shop.top.events["pay"].payload
    assert shape is not None
    assert shape.problems("no object")
    assert (shop.top.open_events, shop.flow("ship.yaml").open_events) == (False, True)
    assert (shop.top.input is None, shop.flow("ship.yaml").input is None) == (True, False)


def test_all_that_is_wrong_with_an_input_is_told_at_once() -> None:
    shape = InputShape(
        {
            "name": InputSpec("name", "string", optional=False),
            "count": InputSpec("count", "integer", optional=True),
            "when": InputSpec("when", "any", optional=False),
        }
    )
    bad = shape.fit({"name": 5, "count": 1.5})
    assert isinstance(bad, BadInput)
    assert bad.reason == (
        "the input 'name' is the number 5, and should be a string; "
        "the input 'count' is the number 1.5, and should be an integer; "
        "the input 'when' is missing"
    )
    given = {"name": "a", "count": 2.0, "when": None}
    assert shape.fit(given) is given
