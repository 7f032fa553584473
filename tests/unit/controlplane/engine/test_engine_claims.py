"""Claims, repeated grants and leases (`docs/spec/wire.md` 3.8, 3.9)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from stateous.graph.machine import freeze
from stateous.graph.reading import check_graph
from stateous_controlplane.engine.commands import RepeatGrant
from stateous_controlplane.engine.replies import GrantReply, Lost, Renewed, Skipped
from stateous_controlplane.engine.rows import TaskStatus
from tests.support.engine import BOX, LEASE, Engine
from tests.support.graphs import TICKET, flow, graph

TICKETS = freeze(check_graph(TICKET))


def claimed() -> Engine:
    engine = Engine(TICKETS)
    engine.start()
    engine.wait(seconds=10)
    engine.claim()
    return engine


def test_a_claim_is_an_attempt_with_a_lease() -> None:
    engine = Engine(TICKETS)
    engine.start()
    engine.wait(minutes=5)
    reply = engine.claim()
    assert reply == GrantReply(engine.task, engine.token)
    assert (engine.task.status, engine.task.ready) == (TaskStatus.CLAIMED, False)
    assert (engine.task.claimed_by, engine.task.attempt) == (BOX, 1)
    assert engine.task.lease_until == engine.now + LEASE
    assert engine.told(behind=5) == [("task_claimed", {"task": 1, "supervisor": BOX, "attempt": 1})]
    assert engine.effects.moved == set()


@pytest.mark.parametrize("how", ["claimed", "waiting", "left", "ended"])
def test_what_is_not_ready_is_not_given(how: str) -> None:
    engine = claimed()
    match how:
        case "waiting":
            engine.report_waiting()
        case "left":
            engine.fire("done")
        case "ended":
            engine.fire("stuck")
    seq = engine.token.seq
    assert engine.claim("other", task=1) == Skipped()
    assert engine.token.seq == seq
    assert engine.family.tasks[1].claimed_by == BOX


def test_a_task_that_does_not_exist_is_not_given() -> None:
    assert claimed().claim(task=99) == Skipped()


def test_tasks_of_a_child_are_named_with_its_workflow() -> None:
    children = freeze(
        check_graph(
            graph(
                "START -> all\nall -> END on joined",
                states={"all": {"parallel": ["code"]}},
                workflows={"code": flow("START -> look\nlook -> END on seen")},
            )
        )
    )
    assert children.flow("code").states["look"].work.queue == "code/look"  # type: ignore[union-attr]


# ── the same grant again ────────────────────────────────────────────────


def test_the_same_grant_again_renews_the_lease_and_says_nothing() -> None:
    engine = claimed()
    engine.remember("k", 1)
    engine.wait(seconds=100)
    seq = engine.token.seq
    reply = engine.play(RepeatGrant(1, BOX, 1, LEASE))
    assert reply == GrantReply(engine.task, engine.token)
    assert engine.task.attempt == 1
    assert engine.task.lease_until == engine.now + LEASE
    assert engine.token.seq == seq
    assert not engine.effects.entries


@pytest.mark.parametrize(
    ("supervisor", "attempt", "passed"),
    [("other", 1, 0), (BOX, 2, 0), (BOX, 0, 0), (BOX, 1, 120), (BOX, 1, 121)],
)
def test_a_grant_that_is_over_is_not_given_again(
    supervisor: str, attempt: int, passed: int
) -> None:
    engine = claimed()
    engine.wait(seconds=passed)
    assert engine.play(RepeatGrant(1, supervisor, attempt, LEASE)) == Lost(1)
    assert not engine.effects


def test_a_waiting_task_is_not_granted_again() -> None:
    engine = claimed()
    engine.report_waiting()
    assert engine.play(RepeatGrant(1, BOX, 1, LEASE)) == Lost(1)


# ── heartbeats ──────────────────────────────────────────────────────────


def test_a_heartbeat_moves_the_lease_without_an_entry() -> None:
    engine = claimed()
    engine.wait(seconds=119)
    assert engine.renew() == Renewed(1)
    assert engine.task.lease_until == engine.now + LEASE
    assert engine.kinds(behind=6) == ""


@pytest.mark.parametrize("how", ["queued", "another's", "waiting", "left", "over", "unknown"])
def test_a_heartbeat_loses_what_is_not_held(how: str) -> None:
    engine = Engine(TICKETS)
    engine.start()
    engine.wait(seconds=10)
    task, supervisor = 1, BOX
    if how != "queued":
        engine.claim()
    match how:
        case "another's":
            supervisor = "other"
        case "waiting":
            engine.report_waiting()
        case "left":
            engine.fire("done")
        case "over":
            engine.wait(minutes=2)
        case "unknown":
            task = 99
    assert engine.renew(supervisor, task) == Lost(task)
    assert not engine.effects


def test_in_the_grace_after_a_start_a_lease_that_is_over_is_renewed() -> None:
    engine = claimed()
    engine.wait(hours=1)
    assert engine.renew(grace=True) == Renewed(1)
    assert engine.task.lease_until == engine.now + LEASE
    assert engine.renew("other", grace=True) == Lost(1)


def test_a_supervisor_may_have_no_ascii_in_its_name() -> None:
    engine = Engine(TICKETS)
    engine.start()
    engine.claim('Bö"x\\')
    assert engine.said("task_claimed")[0]["supervisor"] == 'Bö"x\\'
    assert engine.renew('Bö"x\\') == Renewed(1)
    assert timedelta(minutes=2) == LEASE
