"""Idempotency keys (`docs/spec/wire.md` 2.3, 3.16)."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.graph.machine import freeze
from stateous.graph.reading import check_graph
from stateous.wire.problems import Code
from stateous_controlplane.engine.replies import DuplicateReply, TokenReply
from tests.support.engine import Engine, code_of
from tests.support.graphs import TICKET, machine

TICKETS = freeze(check_graph(TICKET))
LOOP = machine(
    "START -> a\na -> a on go\na -> END on stop",
    events={"go": {"payload": "Any"}},
    schemas={"Any": {"type": "object"}},
)


def test_a_key_is_kept_with_the_entry_of_its_event() -> None:
    engine = Engine(TICKETS)
    engine.start()
    engine.fire("done", key="k1")
    assert [(entry.kind, entry.key) for entry in engine.ledger if entry.key] == [
        ("event_accepted", "k1")
    ]


def test_a_used_key_changes_nothing_and_shows_the_token_as_it_is_now() -> None:
    engine = Engine(TICKETS)
    engine.start()
    engine.fire("done", key="k1")
    engine.fire("passed")
    seq = engine.token.seq
    assert engine.fire("done", key="k1") == DuplicateReply(engine.token, matches=True)
    assert engine.token.status.value == "completed"
    assert engine.token.seq == seq


@pytest.mark.parametrize(
    ("event", "payload", "matches"),
    [
        ("go", {"n": 1, "m": [1, {"x": None}]}, True),
        ("go", {"m": [1.0, {"x": None}], "n": 1.0}, True),
        ("go", {"n": True, "m": [1, {"x": None}]}, False),
        ("go", {"n": 1, "m": [1, {}]}, False),
        ("go", {"n": 1}, False),
        ("go", None, False),
        ("stop", {"n": 1, "m": [1, {"x": None}]}, False),
        ("nosuch", {"n": 1, "m": [1, {"x": None}]}, False),
        ("timeout", None, False),
    ],
)
def test_a_duplicate_tells_whether_it_is_the_same_event_and_payload(
    event: str, payload: Any, matches: bool
) -> None:
    engine = Engine(LOOP)
    engine.start()
    engine.fire("go", {"n": 1, "m": [1, {"x": None}]}, key="k")
    assert engine.fire(event, payload, key="k") == DuplicateReply(engine.token, matches=matches)


@pytest.mark.parametrize("first", [None, {}])
@pytest.mark.parametrize("second", [None, {}])
def test_no_payload_null_and_an_empty_one_are_one(first: Any, second: Any) -> None:
    engine = Engine(LOOP)
    engine.start()
    engine.fire("go", first, key="k")
    assert engine.fire("go", second, key="k") == DuplicateReply(engine.token, matches=True)


def test_keys_are_told_apart_by_case() -> None:
    engine = Engine(LOOP)
    engine.start()
    engine.fire("go", key="k")
    assert isinstance(engine.fire("go", key="K"), TokenReply)
    assert engine.token.visit == 3


def test_the_key_is_looked_up_before_the_end_of_the_token() -> None:
    engine = Engine(LOOP)
    engine.start()
    engine.fire("stop", key="k")
    assert isinstance(engine.fire("stop", key="k"), DuplicateReply)
    assert code_of(engine.fire("stop", key="other")) is Code.TOKEN_NOT_ACTIVE


@pytest.mark.parametrize(
    ("event", "payload"),
    [("passed", None), ("nosuch", None), ("timeout", None), ("done", {"a": 1})],
)
def test_a_refused_event_keeps_no_key(event: str, payload: Any) -> None:
    engine = Engine(TICKETS)
    engine.start()
    engine.fire(event, payload, key="k")
    assert isinstance(engine.fire("done", key="k"), TokenReply)


def test_two_true_guards_keep_no_key() -> None:
    engine = Engine(machine("START -> a\na -> END on go if 1 < 2\na -> a on go if 1 < 3"))
    engine.start()
    engine.fire("go", key="k")
    assert engine.token.status.value == "failed"
    assert code_of(engine.fire("go", key="k")) is Code.TOKEN_NOT_ACTIVE
