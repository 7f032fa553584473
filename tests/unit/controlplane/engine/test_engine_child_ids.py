"""Ids of children: how long they may be, who has them, and who is kept from taking them."""

from __future__ import annotations

import pytest

from stateous.wire.problems import Code
from stateous_controlplane.engine.family import Vicinity
from tests.support.engine import Engine, T, code_of, reason_of
from tests.support.families import DESIGN, SECURITY, child, nested, reviews

#: What `.reviews.1.security` adds to the id of a parent.
ADDED = len(".reviews.1.security")


@pytest.mark.parametrize(("length", "fits"), [(128 - ADDED, True), (128 - ADDED + 1, False)])
def test_a_child_id_has_at_most_128_characters(length: int, fits: bool) -> None:
    engine = Engine(reviews())
    token = "t" * length
    engine.start({"repo": "r"}, token=token)
    reply = engine.fire("done", token=token)
    if fits:
        assert child("security", parent=token) in engine.family.tokens
    else:
        assert code_of(reply) is Code.EVENT_NOT_ALLOWED
        assert repr(child("security", parent=token)) in reason_of(reply)
        assert engine.standing() == {token: "coding active"}


def test_the_ids_of_nested_children_count_too() -> None:
    deepest = ".outer.1.deep.both.1.security"
    for length, entered in ((128 - len(deepest), True), (129 - len(deepest), False)):
        engine = Engine(nested())
        token = "t" * length
        engine.start({"repo": "r"}, token=token)
        engine.fire("done", token=token)
        assert (len(engine.family.tokens) > 1) is entered


def test_the_number_of_the_visit_counts_too() -> None:
    engine = Engine(reviews(more="reviews -> reviews on again"))
    token = "t" * (128 - ADDED)
    engine.start({"repo": "r"}, token=token)
    engine.fire("done", token=token)
    for _ in range(8):
        engine.fire("again", token=token)
    assert engine.family.tokens[token].visit == 9
    assert code_of(engine.fire("again", token=token)) is Code.EVENT_NOT_ALLOWED
    assert engine.family.tokens[token].visit == 9


@pytest.mark.parametrize("taken", [SECURITY, DESIGN, DESIGN.upper()])
def test_a_child_id_that_is_taken_in_any_case_refuses_the_move(taken: str) -> None:
    engine = Engine(reviews(), taken={taken.lower()})
    engine.start({"repo": "r"})
    reply = engine.fire("done")
    assert code_of(reply) is Code.EVENT_NOT_ALLOWED
    assert taken.lower() in reason_of(reply).lower()
    assert engine.standing() == {T: "coding active"}


def test_an_ended_child_keeps_its_id() -> None:
    engine = Engine(reviews())
    engine.start({"repo": "r"})
    engine.fire("done")
    engine.fire("hurry")
    engine.fire("done")
    assert engine.token.visit == 2
    assert {SECURITY, child("security", 2)} < set(engine.family.tokens)


def parent_of_children() -> Engine:
    """A parent in `coding`; ids are asked for of another family."""
    engine = Engine(reviews())
    engine.start({"repo": "r"})
    return Engine(engine.machine, vicinity=Vicinity(possible_parent=engine.token))


@pytest.mark.parametrize(
    "token",
    [
        "T-1.reviews.1.security",
        "T-1.reviews.7.design",
        "T-1.reviews.12345678901234567890.design",
        "t-1.Reviews.2.DESIGN",
        "T-1.reviews.01.security",
    ],
)
def test_the_id_of_a_child_to_come_cannot_be_taken(token: str) -> None:
    reply = parent_of_children().start({}, token=token)
    assert code_of(reply) is Code.INVALID_TOKEN_ID
    assert token in reason_of(reply)


@pytest.mark.parametrize(
    "token",
    [
        "T-1.reviews.0.security",
        "T-1.reviews.x.security",
        "T-1.reviews.-1.security",
        "T-1.reviews.1.other",
        "T-1.coding.1.security",
        "T-1.nowhere.1.security",
    ],
)
def test_other_ids_with_dots_are_free(token: str) -> None:
    engine = parent_of_children()
    engine.start({}, token=token)
    assert list(engine.family.tokens) == [token]


def test_a_child_reserves_ids_for_its_own_children() -> None:
    engine = Engine(nested())
    engine.start({"repo": "r"})
    engine.fire("done")
    deep = engine.family.tokens[child("deep", state="outer")]
    other = Engine(engine.machine, vicinity=Vicinity(possible_parent=deep))
    reply = other.start({"repo": "r"}, token=f"{deep.token}.both.2.design")
    assert code_of(reply) is Code.INVALID_TOKEN_ID
    assert other.start({"repo": "r"}, token=f"{deep.token}.outer.1.design")
    assert list(other.family.tokens) == [f"{deep.token}.outer.1.design"]
