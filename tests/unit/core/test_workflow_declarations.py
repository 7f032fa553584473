"""What authoring calls make: attributes, places, emits (`docs/spec/authoring.md` 2)."""

from __future__ import annotations

import copy
import enum
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from stateous import END, START, Branches, Workflow
from stateous.errors import DefinitionError
from stateous.guards import parse_guard
from stateous.workflow import Branch, Place


class Order(BaseModel):
    total: int = 0


def test_a_workflow_keeps_declarations_in_their_order() -> None:
    flow = Workflow("orders", context=Order)
    b, a = flow.state("b"), flow.state("a")
    y, x = flow.event("y", payload=Order, into="k"), flow.event("x")
    first = flow.transition(START, b)
    second = flow.transition(b, a, on=y, when=" payload.total > 1 ")
    third = flow.transition(a, END, on="x", otherwise=1)  # type: ignore[arg-type]
    fourth = flow.transition(a, a, on="timeout")
    assert (flow.name, flow.context) == ("orders", Order)
    assert list(flow.states.items()) == [("b", b), ("a", a)]
    assert list(flow.events.items()) == [("y", y), ("x", x)]
    assert flow.transitions == [first, second, third, fourth]
    assert (first.source, first.target, first.event, first.when) == (START, b, "__started__", None)
    assert (second.source, second.target, second.event, second.otherwise) == (b, a, "y", False)
    assert second.when == parse_guard(" payload.total > 1 ")
    assert (third.target, third.otherwise) == (END, True)
    assert (y.name, y.payload, y.into, y.workflow) == ("y", Order, "k", flow)
    assert (x.payload, x.into) == (None, None)


def test_a_state_has_what_it_was_declared_with() -> None:
    one, two = Workflow("one"), Workflow("two")
    flow = Workflow("flow")
    plain = flow.state("flow", timeout="87600h", retries=3)
    assert (plain.workflow, plain.timeout, plain.retries) == (flow, "87600h", 3)
    assert (plain.parallel, plain.join, plain.inputs, plain.into) == ((), "all", (), None)
    both = flow.state(
        "both",
        parallel=(child for child in (one, two)),
        join="any",
        inputs=iter(["b", "a", "b"]),
        into="results",
    )
    assert (both.parallel, both.join) == ((one, two), "any")
    assert (both.inputs, both.into) == (("b", "a", "b"), "results")


def test_states_and_events_may_share_a_name() -> None:
    flow = Workflow("same")
    flow.state("same")
    flow.event("same")
    flow.transition(flow.states["same"], END, on="same")


def test_a_state_is_frozen_and_itself_only() -> None:
    one, other = Workflow("w").state("a"), Workflow("w").state("a")
    assert one != other
    with pytest.raises(AttributeError):
        one.name = "b"  # type: ignore[misc]


def test_start_and_end_survive_copies_and_name_themselves() -> None:
    assert copy.deepcopy(START) == START
    assert (repr(START), repr(END)) == ("START", "END")
    assert (START.name, END.name) == ("__start__", "__end__")


def test_emits_are_declared_events_in_the_order_of_their_first_transition() -> None:
    flow = Workflow("w")
    a, b = flow.state("a"), flow.state("b")
    p = flow.state("p", parallel=[Workflow("child")])
    late, early, unused = flow.event("late"), flow.event("early"), flow.event("unused")
    flow.transition(b, a, on=late)
    flow.transition(a, b, on="timeout")
    flow.transition(a, b, on=early, when="ctx['k'] == 1")
    flow.transition(a, b, on=late)
    flow.transition(a, a, on=early, otherwise=True)
    flow.transition(p, a, on=early)
    assert a.emits == (early, late)
    assert b.emits == (late,)
    assert p.emits == ()
    assert unused not in a.emits


def test_places_are_the_lines_where_calls_begin() -> None:
    flow = Workflow("w"); here = _line()  # fmt: skip # noqa: E702
    state = flow.state(
        "a",
        timeout="1s",
    )
    event = flow.event("e")
    transition = flow.transition(
        state,
        END,
        on=event,
    )
    assert flow.place == Place(__file__, here)
    assert state.place == Place(__file__, here + 1)
    assert event.place == Place(__file__, here + 5)
    assert transition.place == Place(__file__, here + 6)
    assert str(flow.place) == f"test_workflow_declarations.py:{here}"


def test_the_place_is_outside_the_stateous_packages() -> None:
    inside: dict[str, Any] = {"__name__": "stateous_cli.testing", "flow": Workflow("w")}
    exec("def declare(name): return flow.state(name)", inside)
    here = _line() + 1
    state = inside["declare"]("a")
    assert state.place == Place(__file__, here)
    beside = {**inside, "__name__": "stateous_flows"}
    exec(compile("def declare(name): return flow.state(name)", "flows.py", "exec"), beside)
    assert beside["declare"]("b").place == Place("flows.py", 1)


def test_members_of_an_enum_are_kept_as_the_texts_that_they_are() -> None:
    class Word(enum.StrEnum):
        NAME = "tax-check"
        TIMEOUT = "5m"
        GUARD = "count('done') < 3"

    class Number(enum.IntEnum):
        TWO = 2

    flow = Workflow(Word.NAME)
    state = flow.state(Word.NAME, timeout=Word.TIMEOUT, retries=Number.TWO)
    event = flow.event("done", payload=Order, into=Word.NAME)
    flow.event(Word.NAME)
    taken = flow.transition(state, END, on=Word.NAME, when=Word.GUARD)
    split = flow.state("split", parallel=[Workflow("c")], inputs=[Word.NAME], into=Word.NAME)
    assert taken.when is not None
    kept = (flow.name, state.name, *flow.states, *flow.events, event.into, taken.event)
    kept += (*split.inputs, split.into, state.timeout, taken.when.text)
    assert {type(text) for text in kept} == {str}
    assert type(state.retries) is int


def test_a_refusal_tells_its_place() -> None:
    flow = Workflow("w")
    here = _line() + 2
    with pytest.raises(DefinitionError) as refusal:
        flow.state(
            "A",
        )
    assert (refusal.value.file, refusal.value.line) == (__file__, here)
    assert str(refusal.value) == f"{Path(__file__).name}:{here}: {refusal.value.sentence}"


def test_branches_read_the_payload_of_joined() -> None:
    branch = {"workflow": "w", "token": "T.s.1.w", "status": "failed", "final": "a", "context": {}}
    assert Branches.model_validate({"branches": [branch]}).branches == [
        Branch(workflow="w", token="T.s.1.w", status="failed", final="a", payload=None, context={})
    ]


def _line() -> int:
    """The line of the caller."""
    return sys._getframe(1).f_lineno
