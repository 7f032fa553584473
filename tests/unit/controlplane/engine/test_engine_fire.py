"""Events from outside, in the order of the checks (`docs/spec/wire.md` 3.5)."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.graph.machine import freeze
from stateous.graph.reading import check_graph
from stateous.wire.problems import Code
from stateous_controlplane.engine.commands import Fire
from stateous_controlplane.engine.replies import TokenReply
from tests.support.engine import Engine, code_of, reason_of, text
from tests.support.graphs import TICKET, machine

TICKETS = freeze(check_graph(TICKET))


def started() -> Engine:
    engine = Engine(TICKETS)
    engine.start()
    return engine


def test_an_event_moves_the_token() -> None:
    engine = started()
    engine.wait(seconds=10)
    reply = engine.fire("done")
    assert reply == TokenReply(engine.token)
    assert engine.where == ("testing", 1, "active")
    assert engine.told(behind=5) == [
        ("event_accepted", {"event": "done", "payload": None, "state": "coding"}),
        ("task_cancelled", {"task": 1}),
        ("entered", {"state": "testing", "visit": 1}),
        ("task_queued", {"task": 2, "state": "testing"}),
    ]
    assert engine.open_tasks == [2]
    assert not engine.pending
    assert engine.token.entered_at == engine.now


def test_the_payload_is_kept_as_it_was_given() -> None:
    engine = started()
    engine.fire("done", {})
    engine.fire("failed", {"failed": 2, "more": None, "big": 10**30})
    accepted = engine.said("event_accepted")
    assert [each["payload"] for each in accepted] == [
        None,
        {},
        {"failed": 2, "more": None, "big": 10**30},
    ]
    assert engine.token.entered_by.value == {"name": "failed", "payload": accepted[2]["payload"]}


def test_end_completes_the_token_where_it_was() -> None:
    engine = started()
    entered = engine.token.entered_at
    engine.wait(minutes=1)
    engine.fire("stuck")
    assert engine.where == ("coding", 1, "completed")
    assert engine.kinds(behind=5) == "event_accepted task_cancelled completed"
    assert engine.said("completed") == [{}]
    assert (engine.token.entered_at, engine.token.ended_at) == (entered, engine.now)
    assert not engine.open_tasks
    assert not engine.pending
    assert engine.token.entered_by.value == {"name": "__started__"}


def test_a_self_transition_leaves_and_enters() -> None:
    engine = Engine(machine("START -> a\na -> a on again\na -> END on go", states=TIMED))
    engine.start()
    engine.fire("again")
    assert engine.where == ("a", 2, "active")
    assert engine.kinds(behind=5) == "event_accepted task_cancelled entered task_queued timer_set"
    assert engine.open_tasks == [2]
    assert [(timer.id, timer.visit) for timer in engine.pending] == [(2, 2)]


TIMED = {"a": {"timeout": "1h"}}


def test_an_unknown_token_is_refused_first() -> None:
    engine = started()
    assert code_of(engine.play(Fire("t-1", "nosuch", None, "k"))) is Code.TOKEN_NOT_FOUND
    assert engine.kinds(behind=5) == ""


@pytest.mark.parametrize(
    ("event", "payload", "code", "names"),
    [
        ("timeout", None, Code.EVENT_NOT_ALLOWED, "'timeout'"),
        ("error", {"a": 1}, Code.EVENT_NOT_ALLOWED, "'error'"),
        ("joined", None, Code.EVENT_NOT_ALLOWED, "'joined'"),
        ("__started__", None, Code.EVENT_NOT_ALLOWED, "'__started__'"),
        ("nosuch", None, Code.EVENT_NOT_ALLOWED, "the workflow 'ticket' has no event 'nosuch'"),
        ("nosuch", {"a": 1}, Code.EVENT_NOT_ALLOWED, "'nosuch'"),
        ("", None, Code.EVENT_NOT_ALLOWED, "''"),
        ("DONE", None, Code.EVENT_NOT_ALLOWED, "'DONE'"),
        ("passed", None, Code.EVENT_NOT_ALLOWED, "no transition for 'passed' from 'coding'"),
        ("failed", {"failed": 1}, Code.EVENT_NOT_ALLOWED, "'failed' from 'coding'"),
    ],
)
def test_a_refused_event_is_recorded_with_the_reason_that_is_answered(
    event: str, payload: Any, code: Code, names: str
) -> None:
    engine = started()
    reply = engine.fire(event, payload, key="k")
    assert code_of(reply) is code
    assert names in reason_of(reply)
    assert engine.told(behind=5) == [
        ("event_rejected", {"event": event, "reason": reason_of(reply)})
    ]
    assert engine.where == ("coding", 1, "active")
    assert engine.token.counts == {"__started__": 1}
    assert engine.ledger[-1].key is None


@pytest.mark.parametrize(
    ("event", "payload", "names"),
    [
        ("done", {"a": 1}, "done: 'done' carries no payload"),
        ("failed", None, "failed: "),
        ("failed", {}, "failed: "),
        ("failed", {"failed": "1"}, "failed: failed: "),
        ("failed", {"failed": True}, "failed: failed: "),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_and_not_recorded(
    event: str, payload: Any, names: str
) -> None:
    engine = started()
    reply = engine.fire(event, payload)
    assert code_of(reply) is Code.INVALID_PAYLOAD
    assert reason_of(reply).startswith(names)
    assert engine.kinds(behind=5) == ""


def test_the_payload_is_looked_at_before_the_way() -> None:
    # From 'coding' nothing leads on 'failed': the payload is refused all the same.
    assert code_of(started().fire("failed", {"failed": "x"})) is Code.INVALID_PAYLOAD


@pytest.mark.parametrize("event", ["done", "passed", "timeout", "nosuch"])
def test_an_ended_token_refuses_every_event_and_records_it(event: str) -> None:
    engine = started()
    engine.fire("stuck")
    reply = engine.fire(event, {"not": "looked at"})
    assert code_of(reply) is Code.TOKEN_NOT_ACTIVE
    assert "completed" in reason_of(reply)
    assert engine.told(behind=8) == [
        ("event_rejected", {"event": event, "reason": reason_of(reply)})
    ]


@pytest.mark.parametrize(
    ("length", "recorded"), [(64, "e" * 64), (65, "e" * 64 + "…"), (5000, "e" * 64 + "…")]
)
def test_a_name_over_64_characters_is_cut_in_entry_and_reason(length: int, recorded: str) -> None:
    engine = started()
    reply = engine.fire("e" * length)
    assert engine.said("event_rejected")[0]["event"] == recorded
    assert recorded in reason_of(reply)
    assert "e" * 65 not in reason_of(reply)


def test_a_long_name_is_cut_on_an_ended_token_too() -> None:
    engine = started()
    engine.fire("stuck")
    engine.fire("e" * 65)
    assert engine.said("event_rejected")[0]["event"] == "e" * 64 + "…"


def test_a_fired_event_that_the_state_emits_makes_work_in_progress_done() -> None:
    engine = started()
    engine.claim()
    engine.fire("done")
    assert engine.said("task_done") == [{"task": 1}]
    assert engine.family.tasks[1].lease_until is None


def test_each_command_has_one_time_later_than_the_one_before() -> None:
    engine = started()
    engine.fire("done")
    engine.wait(hours=-5)
    engine.fire("failed", {"failed": 1})
    times = [entry.at for entry in engine.ledger]
    assert times == sorted(times)
    assert len(set(times)) == 3
    assert engine.play(Fire("T-1", "done", text(None))) is not None
