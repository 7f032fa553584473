"""Joins: what a parent does when its children end (`docs/spec/wire.md` 3.14)."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.graph.machine import Machine
from tests.support.engine import Engine, T
from tests.support.families import DESIGN, SECURITY, child, nested, reviews

BY_BRANCHES = """
        reviews -> merging on joined if branches.all(status == 'completed' and final == 'verdict')
        reviews -> coding on joined otherwise
"""


def in_reviews(flow: Machine) -> Engine:
    engine = Engine(flow)
    engine.start({"repo": "r"})
    engine.fire("done")
    return engine


def approve(engine: Engine, token: str, points: int = 1) -> None:
    engine.fire("seen", {"points": points}, token=token)
    engine.fire("approved", token=token)


def fail(engine: Engine, token: str) -> None:
    """The child's task fails for good."""
    task = engine.task_of(token)
    for _ in range(2):
        engine.claim(task=task)
        engine.report_failed("boom", task=task)


def branch(token: str, **more: Any) -> dict[str, Any]:
    return {
        "workflow": token.rsplit(".", 1)[1],
        "token": token,
        "status": "completed",
        "final": "look",
        "payload": None,
        "context": {"level": 1, "score": None, "repo": "r"},
        **more,
    }


def joined(engine: Engine, of: str = T) -> list[list[dict[str, Any]]]:
    """The branches of each ``joined`` that was accepted."""
    accepted = engine.said("event_accepted", of=of)
    return [each["payload"]["branches"] for each in accepted if each["event"] == "joined"]


def test_all_waits_for_the_last_and_tells_of_each_in_the_order_of_the_workflows() -> None:
    engine = in_reviews(reviews("all"))
    approve(engine, DESIGN, 7)
    assert engine.where == ("reviews", 1, "active")
    fail(engine, SECURITY)
    assert engine.where == ("merging", 1, "active")
    context = {"level": 1, "score": {"points": 7}, "repo": "r"}
    assert joined(engine) == [
        [
            branch(SECURITY, status="failed"),
            branch(DESIGN, final="verdict", payload={"points": 7}, context=context),
        ]
    ]


def test_any_goes_on_with_the_first_end_and_cancels_the_others() -> None:
    engine = in_reviews(reviews("any"))
    engine.fire("skip", token=DESIGN)
    assert engine.where == ("merging", 1, "active")
    assert joined(engine) == [[branch(DESIGN)]]
    assert engine.standing()[SECURITY] == "look cancelled"
    (cancelled,) = engine.said("cancelled")
    assert cancelled == {"reason": "the parent left 'reviews' on 'joined'"}


def test_any_counts_a_failure_as_an_end() -> None:
    engine = in_reviews(reviews("any"))
    fail(engine, DESIGN)
    assert joined(engine) == [[branch(DESIGN, status="failed")]]
    assert engine.where == ("merging", 1, "active")


def test_the_payload_is_that_of_the_event_that_entered_the_final_state() -> None:
    engine = in_reviews(reviews("any"))
    engine.fire("seen", {"points": 2}, token=DESIGN)
    engine.fire("approved", {}, token=DESIGN)
    ((told,),) = joined(engine)
    assert (told["final"], told["payload"]) == ("verdict", {"points": 2})


@pytest.mark.parametrize("ends", ["verdicts", "a skip"])
def test_guards_read_the_branches(ends: str) -> None:
    engine = in_reviews(reviews("all", more=BY_BRANCHES))
    approve(engine, SECURITY)
    if ends == "verdicts":
        approve(engine, DESIGN)
        assert engine.where == ("merging", 1, "active")
    else:
        engine.fire("skip", token=DESIGN)
        assert engine.where == ("coding", 2, "active")


def test_into_keeps_the_branches_behind_the_guards() -> None:
    keeping = reviews(
        "all",
        more="""
        reviews -> merging on joined if ctx['reviews'] == null
        reviews -> coding on joined otherwise
        """,
        into="reviews",
    )
    engine = in_reviews(keeping)
    engine.fire("skip", token=SECURITY)
    before = engine.token.seq
    engine.fire("skip", token=DESIGN)
    assert engine.kinds(before, of=T) == "event_accepted context_changed entered task_queued"
    assert engine.said("context_changed", of=T) == [{"keys": ["reviews"]}]
    assert engine.token.context.value["reviews"] == {"branches": [branch(SECURITY), branch(DESIGN)]}
    assert engine.where == ("merging", 1, "active")


def test_joined_enters_the_state_and_says_so_to_who_works_there() -> None:
    engine = in_reviews(reviews("any"))
    engine.fire("skip", token=DESIGN)
    assert engine.token.entered_by.value == {
        "name": "joined",
        "payload": {"branches": [branch(DESIGN)]},
    }


def test_a_join_that_nothing_takes_fails_the_parent() -> None:
    engine = in_reviews(reviews("any", more="reviews -> merging on joined if ctx['no'] == 1"))
    engine.fire("skip", token=DESIGN)
    assert engine.where == ("reviews", 1, "failed")
    (failed,) = engine.said("failed")
    assert failed["reason"].startswith("the join of 'reviews' cannot move the token: ")
    assert engine.standing() == {
        T: "reviews failed",
        SECURITY: "look cancelled",
        DESIGN: "look completed",
    }


def test_a_join_with_two_true_guards_fails_the_parent() -> None:
    two = """
        reviews -> merging on joined if branches.any(status == 'completed')
        reviews -> coding on joined if branches.all(final == 'look')
    """
    engine = in_reviews(reviews("any", more=two))
    engine.fire("skip", token=DESIGN)
    assert "matched more than one guard" in engine.said("failed")[0]["reason"]
    assert "joined" not in engine.token.counts


def test_a_join_whose_into_breaks_the_context_fails_the_parent() -> None:
    engine = in_reviews(reviews("any", into="repo"))
    engine.fire("skip", token=DESIGN)
    (failed,) = engine.said("failed")
    assert failed["reason"].startswith("the join of 'reviews' cannot move the token: ")
    assert engine.token.context.value["repo"] == "r"


def test_children_of_an_earlier_visit_do_not_count() -> None:
    engine = in_reviews(reviews("all", more="reviews -> reviews on again"))
    engine.fire("skip", token=SECURITY)
    engine.fire("again")
    engine.fire("skip", token=child("security", 2))
    assert engine.where == ("reviews", 2, "active")
    assert not joined(engine)


def test_the_last_end_of_the_children_moves_parents_up_to_the_top() -> None:
    engine = Engine(nested())
    engine.start({"repo": "r"})
    engine.fire("done")
    deep = child("deep", state="outer")
    engine.fire("skip", token=child("design", state="outer"))
    engine.fire("skip", token=child("security", state="both", parent=deep))
    said = len(engine.ledger)
    last = child("design", state="both", parent=deep)
    engine.fire("skip", token=last)
    assert len({entry.at for entry in engine.ledger[said:]}) == 1
    assert [(entry.token, entry.kind) for entry in engine.ledger[said:]] == [
        (last, "event_accepted"),
        (last, "task_cancelled"),
        (last, "completed"),
        (deep, "event_accepted"),
        (deep, "completed"),
        (T, "event_accepted"),
        (T, "completed"),
    ]
    (branches,) = joined(engine)
    assert [(each["workflow"], each["final"]) for each in branches] == [
        ("deep", "both"),
        ("design", "look"),
    ]
    assert branches[0]["payload"] is None


def test_a_cancelled_child_tells_nobody() -> None:
    engine = Engine(nested("any"))
    engine.start({"repo": "r"})
    engine.fire("done")
    engine.fire("hurry", token=child("deep", state="outer"))
    assert engine.where == ("outer", 1, "completed")
    assert [each["workflow"] for each in joined(engine)[0]] == ["deep"]
    assert engine.kinds(of=T).count("event_accepted") == 3
