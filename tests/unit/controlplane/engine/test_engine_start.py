"""Starting a token (`docs/spec/wire.md` 2.1, 3.4)."""

from __future__ import annotations

import json

import pytest

from stateous.graph.machine import freeze
from stateous.graph.reading import check_graph
from stateous.wire.problems import Code
from stateous_controlplane.engine.family import Vicinity
from stateous_controlplane.engine.replies import TokenReply
from tests.support.engine import NOON, Engine, code_of, context_of, reason_of
from tests.support.graphs import TICKET, flow, graph, machine

TICKETS = freeze(check_graph(TICKET))

WITH_CHILDREN = freeze(
    check_graph(
        graph(
            """
            START -> review
            review -> END on joined
            """,
            states={"review": {"parallel": ["code", "law"]}},
            workflows={
                "code": flow("START -> look\nlook -> END on seen"),
                "law": flow("START -> look\nlook -> END on seen"),
            },
        )
    )
)


def test_a_start_enters_the_first_state_and_says_so() -> None:
    engine = Engine(TICKETS)
    reply = engine.start({"repo": "acme/api"})
    context = {"tries": 0, "note": None, "repo": "acme/api"}
    assert isinstance(reply, TokenReply)
    assert reply.created
    assert engine.told() == [
        ("started", {"context": context}),
        ("event_accepted", {"event": "__started__", "payload": None, "state": "__start__"}),
        ("entered", {"state": "coding", "visit": 1}),
        ("task_queued", {"task": 1, "state": "coding"}),
        ("timer_set", {"event": "timeout", "due_at": "2027-03-01T13:00:00Z"}),
    ]
    assert {entry.at for entry in engine.ledger} == {NOON}
    assert engine.where == ("coding", 1, "active")
    assert (engine.token.seq, engine.token.at, engine.token.entered_at) == (5, NOON, NOON)
    assert engine.token.graph == TICKETS.checksum
    assert engine.token.entered_by.value == {"name": "__started__"}
    assert engine.token.counts == {"__started__": 1}
    assert (engine.task.queue, engine.task.attempt, engine.task.ready) == ("coding", 0, True)


def test_defaults_stand_first_and_then_what_was_given_in_its_order() -> None:
    engine = Engine(TICKETS)
    engine.start({"z": 1.0, "note": "n", "a": 10**40})
    assert engine.token.context.text == '{"tries":0,"z":1.0,"note":"n","a":1' + 40 * "0" + "}"


def test_an_absent_context_is_an_empty_one() -> None:
    assert context_of(Engine(TICKETS).start(None)) == {"tries": 0, "note": None}


@pytest.mark.parametrize(
    ("context", "names"),
    [
        ({"repo": 5}, "ticket: repo: "),
        ({"tries": None}, "ticket: tries: "),
        ({"tries": 1.5, "repo": []}, "; "),
        ({"big": "é" * 600_000}, "1048576"),
    ],
)
def test_a_context_that_does_not_fit_is_refused_and_leaves_nothing(
    context: object, names: str
) -> None:
    engine = Engine(TICKETS)
    reply = engine.start(context)
    assert code_of(reply) is Code.INVALID_CONTEXT
    assert names in reason_of(reply)
    assert not engine.ledger
    assert not engine.family.tokens


def nested(levels: int) -> object:
    return json.loads("[" * levels + "]" * levels)


def test_a_context_nests_at_most_64_levels_itself_being_the_first() -> None:
    assert isinstance(Engine(TICKETS).start({"a": nested(63)}), TokenReply)
    assert isinstance(Engine(TICKETS).start({"a": nested(63), "b": []}), TokenReply)
    reply = Engine(TICKETS).start({"a": nested(64)})
    assert code_of(reply) is Code.INVALID_CONTEXT
    wide = {"a": [[] for _ in range(200)]}
    assert isinstance(Engine(TICKETS).start(wide), TokenReply)


def test_a_context_has_at_most_a_mebibyte_as_compact_utf8() -> None:
    plain = machine("START -> a\na -> END on go")
    room = 1_048_576 - len('{"a":""}')
    assert isinstance(Engine(plain).start({"a": "x" * room}), TokenReply)
    assert code_of(Engine(plain).start({"a": "x" * (room + 1)})) is Code.INVALID_CONTEXT
    assert isinstance(Engine(plain).start({"a": "é" * (room // 2)}), TokenReply)
    assert code_of(Engine(plain).start({"a": "é" * (room // 2 + 1)})) is Code.INVALID_CONTEXT


@pytest.mark.parametrize(
    ("context", "state"),
    [({"n": 1}, "low"), ({"n": 7}, "high"), ({"n": 5}, "middle"), ({}, "middle")],
)
def test_start_guards_read_the_context(context: object, state: str) -> None:
    engine = Engine(GUARDED_START)
    engine.start(context)
    assert engine.token.state == state


GUARDED_START = machine(
    """
    START -> low if ctx['n'] < 5
    START -> high if ctx['n'] > 5
    START -> middle otherwise
    low -> END on go
    high -> END on go
    middle -> END on go
    """
)


def test_two_true_start_guards_refuse_the_start() -> None:
    engine = Engine(
        machine(
            "START -> a if ctx['n'] < 9\nSTART -> b if ctx['n'] < 5\na -> b on x\nb -> END on x"
        )
    )
    reply = engine.start({"n": 1})
    assert code_of(reply) is Code.INVALID_CONTEXT
    assert "matched more than one guard" in reason_of(reply)
    assert not engine.ledger


def test_no_true_start_guard_refuses_the_start() -> None:
    engine = Engine(machine("START -> a if ctx['n'] < 9\na -> END on x"))
    assert code_of(engine.start({"n": 10})) is Code.INVALID_CONTEXT
    assert not engine.family.tokens


def test_an_id_that_exists_answers_its_token_unchanged_and_unread() -> None:
    engine = Engine(TICKETS)
    engine.start({"repo": "a"})
    before = engine.token
    reply = engine.start({"repo": 5})
    assert reply == TokenReply(before, created=False)
    assert engine.kinds(behind=5) == ""


def test_an_ended_token_answers_its_start() -> None:
    engine = Engine(TICKETS)
    engine.start()
    engine.fire("stuck")
    reply = engine.start()
    assert isinstance(reply, TokenReply)
    assert not reply.created
    assert reply.token.status.value == "completed"


@pytest.mark.parametrize(
    "token",
    ["", "-a", ".a", "_a", "a b", "a/b", "ä", "a\n", "a" * 129, "a:b", "a%20"],
)
def test_an_id_outside_the_pattern_is_refused(token: str) -> None:
    engine = Engine(TICKETS)
    assert code_of(engine.start(token=token)) is Code.INVALID_TOKEN_ID
    assert not engine.ledger


@pytest.mark.parametrize("token", ["a", "0", "A.b_c-D", "a" * 128, "a..b", "x.y.1"])
def test_an_id_of_the_pattern_is_taken(token: str) -> None:
    assert isinstance(Engine(TICKETS).start(token=token), TokenReply)


@pytest.mark.parametrize("taken_by", ["t-1", "T-1"])
def test_an_id_that_is_used_in_any_case_is_refused(taken_by: str) -> None:
    engine = Engine(TICKETS, vicinity=Vicinity(taken_by=taken_by))
    assert code_of(engine.start()) is Code.INVALID_TOKEN_ID
    assert not engine.ledger


@pytest.mark.parametrize(
    ("token", "kept"),
    [
        ("P.review.1.code", True),
        ("P.review.17.law", True),
        ("P.Review.1.Code", True),
        ("P.review.0.code", False),
        ("P.review.x.code", False),
        ("P.review.-1.code", False),
        ("P.review.1.tax", False),
        ("P.look.1.code", False),
    ],
)
def test_the_id_of_a_child_to_come_is_kept(token: str, kept: bool) -> None:
    parent = Engine(TICKETS)
    parent.start(token="P")
    row = parent.family.tokens["P"].copy()
    row.graph = WITH_CHILDREN.checksum
    engine = Engine(TICKETS, pinned=(WITH_CHILDREN,), vicinity=Vicinity(possible_parent=row))
    reply = engine.start(token=token)
    assert isinstance(reply, TokenReply) is not kept
    if kept:
        assert code_of(reply) is Code.INVALID_TOKEN_ID


def test_without_a_workflow_only_tokens_that_exist_are_answered() -> None:
    engine = Engine(TICKETS)
    engine.start()
    engine.served = False
    assert isinstance(engine.start(), TokenReply)
    assert code_of(engine.start(token="T-2")) is Code.NO_WORKFLOW
    assert code_of(engine.start(token="T 2")) is Code.INVALID_TOKEN_ID


def test_a_start_goes_into_the_first_state_without_a_timeout() -> None:
    engine = Engine(machine("START -> a\na -> END on go"))
    engine.start()
    assert engine.kinds() == "started event_accepted entered task_queued"
    assert not engine.pending
