"""Submits, and requests that are repeated (`docs/spec/statechart.md` 3, 16)."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.json import JsonText
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.commands import SendEvent, SubmitRun
from stateous_controlplane.engine.family import Vicinity
from stateous_controlplane.engine.replies import TokenReply
from tests.support.charts import chart
from tests.support.engine import code_of
from tests.support.graphs import flow, machine
from tests.support.runs import R, Runs

FORM = chart(
    """
    input: { name: string, n: "number?", i: "integer?", b: "boolean?", l: "list?", o: "object?", x: "any?" }
    states: { a: { on: { x: [{}] }, defer: [y], ticket: t } }
    """
)
FREE = chart("states: { a: { on: { t: [{}], x: [{}] }, defer: [y], ticket: t } }")


def test_a_submit_starts_a_run() -> None:
    runs = Runs(FREE)
    reply = runs.submit([1], key="order-1")
    assert isinstance(reply, TokenReply)
    assert (reply.created, reply.token) == (True, runs.of())
    assert runs.said("started") == [
        {
            "input": [1],
            "graph": FREE.checksum,
            "machine": "main",
            "key": "order-1",
            "by": "client",
        }
    ]


def test_without_an_input_it_is_an_empty_object() -> None:
    runs = Runs(FREE)
    runs.submit()
    assert runs.part().input.value == {}


NULLS = dict.fromkeys("nibolx")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"name": "a"}, {"name": "a", **NULLS}),
        ({"name": "a", "n": None, "more": [1]}, {"name": "a", **NULLS, "more": [1]}),
        ({"name": "a", "n": 1.5, "i": 3.0, "b": False, "l": [], "o": {}, "x": 1}, None),
        ({"name": "a", "x": "any"}, {"name": "a", **NULLS, "x": "any"}),
    ],
)
def test_an_input_that_fits(given: Any, kept: Any) -> None:
    runs = Runs(FORM)
    runs.submit(given)
    assert runs.part().input.value == (kept or given)


@pytest.mark.parametrize(
    "given",
    [
        None,
        [1],
        "text",
        {},
        {"name": None},
        {"name": 1},
        {"name": "a", "n": "1"},
        {"name": "a", "n": True},
        {"name": "a", "i": 1.5},
        {"name": "a", "i": True},
        {"name": "a", "b": 0},
        {"name": "a", "l": {}},
        {"name": "a", "o": []},
    ],
)
def test_an_input_that_does_not_fit_is_refused(given: Any) -> None:
    runs = Runs(FORM)
    assert code_of(runs.submit(given)) is Code.INVALID_INPUT
    assert runs.family.tokens == {}


@pytest.mark.parametrize("run", ["", "-a", "a b", "a/b", "x" * 129])
def test_a_bad_id_is_refused(run: str) -> None:
    assert code_of(Runs(FREE).submit(run=run)) is Code.INVALID_RUN_ID


def test_the_same_submit_again_is_answered_with_the_run() -> None:
    runs = Runs(FORM)
    runs.submit({"name": "a"}, key="k")
    runs.cancel()
    for given in ({"name": "a"}, {"name": "a", "n": None}):
        reply = runs.submit(given, key="k")
        assert isinstance(reply, TokenReply)
        assert (reply.created, reply.token) == (False, runs.of())


@pytest.mark.parametrize(
    ("given", "key"), [({"name": "b"}, "k"), ({"name": "a"}, None), ({"name": 1}, "k")]
)
def test_another_submit_with_its_id_is_refused(given: Any, key: str | None) -> None:
    runs = Runs(FORM)
    runs.submit({"name": "a"}, key="k")
    assert code_of(runs.submit(given, key=key)) is Code.RUN_EXISTS


def test_ids_differ_without_case_and_are_one_namespace_with_tokens() -> None:
    runs = Runs(FREE)
    runs.submit()
    runs.vicinity = Vicinity(taken_by=R)
    command = SubmitRun(R.upper(), FREE.checksum)
    assert code_of(runs.play(command)) is Code.RUN_EXISTS
    tokens = Runs(machine("START -> a\na -> END on go"), served=True, pinned=(FREE,))
    tokens.start()
    assert code_of(tokens.play(SubmitRun("T-1", FREE.checksum))) is Code.RUN_EXISTS


def test_an_id_that_a_token_keeps_for_a_child_is_refused() -> None:
    parallel = machine(
        "START -> a\na -> p on go\np -> END on joined",
        states={"p": {"parallel": ["c"]}},
        workflows={"c": flow("START -> a\na -> END on go")},
    )
    runs = Runs(parallel, served=True, pinned=(FREE,))
    runs.start()
    runs.vicinity = Vicinity(possible_parent=runs.token)
    assert code_of(runs.play(SubmitRun("T-1.p.1.c", FREE.checksum))) is Code.INVALID_RUN_ID


def test_a_key_has_one_live_run() -> None:
    runs = Runs(FREE)
    runs.submit(key="k")
    assert code_of(runs.submit(run="run-2", key="k")) is Code.KEY_TAKEN
    runs.pause()
    assert code_of(runs.submit(run="run-2", key="k")) is Code.KEY_TAKEN
    runs.cancel()
    assert isinstance(runs.submit(run="run-2", key="k"), TokenReply)


@pytest.mark.parametrize("key", ["", "x" * 257])
def test_a_key_has_1_to_256_characters(key: str) -> None:
    assert code_of(Runs(FREE).submit(key=key)) is Code.INVALID_ARGUMENT


# ── Idempotency-Key ─────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("event", "result"), [("x", "taken"), ("y", "kept"), ("z", "dropped"), ("t", "dropped")]
)
def test_a_repeated_event_is_told_its_first_result(event: str, result: str) -> None:
    runs = Runs(FREE)
    runs.submit()
    assert runs.send(event, 1, key="k") == result
    seq = runs.of().seq
    assert runs.send(event, 1.0, key="k") == f"{result} again"
    assert runs.send(event, 2, key="k") == "idempotency_mismatch"
    assert runs.send("other", 1, key="k") == "idempotency_mismatch"
    assert runs.of().seq == seq
    runs.cancel()
    assert runs.send(event, 1, key="k") == f"{result} again"


def test_a_held_event_stays_held_for_who_repeats_it() -> None:
    runs = Runs(FREE)
    runs.submit()
    runs.pause()
    assert [runs.send("x", key="k"), runs.send("x", key="k")] == ["held", "held again"]
    assert len(runs.said("event_deferred")) == 1
    runs.resume()
    assert runs.send("x", key="k") == "held again"


def test_a_repeated_answer_is_known_before_the_ticket_is_found_spent() -> None:
    runs = Runs(FREE)
    runs.submit()
    assert runs.answer("t", {"ok": 1}, key="k") == "taken"
    assert runs.answer("t", {"ok": 1}, key="k") == "taken again"
    assert runs.answer("t", {"ok": 2}, key="k") == "idempotency_mismatch"
    assert runs.answer("t", {"ok": 1}, key="other") == "ticket_refused"
    assert runs.send("t", {"ok": 1}, key="k") == "idempotency_mismatch"
    keyed = [entry.kind for entry in runs.ledger if entry.key == "k"]
    assert keyed == ["event_accepted"]


def test_a_refused_answer_is_not_remembered() -> None:
    runs = Runs(chart("states: { a: { ticket: t, on: { t: { when: '${event.data}' } } } }"))
    runs.submit()
    assert runs.answer("t", False, key="k") == "answer_not_taken"
    assert runs.answer("t", True, key="k") == "taken"


# ── declared events (5.5) ───────────────────────────────────────────────

DECLARED = chart(
    """
    events: { x: { type: integer }, free: {}, t: { $ref: "#/$defs/n", $defs: { n: { type: "null" } } } }
    states:
      a:
        ticket: t
        timers: { late: 1m }
        job: { script: s.js }
        on: { x: [{}], t: [{}], late: [{}], done: [{}] }
    """
)


@pytest.mark.parametrize(
    ("event", "data", "result"),
    [
        ("x", 1, "taken"),
        ("x", "1", "invalid_payload"),
        ("free", {"any": 1}, "dropped"),
        ("other", None, "event_not_allowed"),
        ("late", None, "event_not_allowed"),
        ("done", None, "event_not_allowed"),
    ],
)
def test_what_a_client_may_send_to_a_chart_that_declares_events(
    event: str, data: Any, result: str
) -> None:
    runs = Runs(DECLARED)
    runs.submit()
    seq = runs.of().seq
    assert runs.send(event, data) == result
    if result in ("invalid_payload", "event_not_allowed"):
        assert runs.of().seq == seq


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({}, "change: 'item' is a required property"),
        ({"item": 1}, "change: item: 1 is not of type 'string'"),
    ],
)
def test_data_that_do_not_fit_are_told_with_the_event_named_once(data: Any, sentence: str) -> None:
    runs = Runs(
        chart(
            """
            events: { change: { type: object, required: [item], properties: { item: { type: string } } } }
            states: { a: { on: { change: [{}] } } }
            """
        )
    )
    runs.submit()
    reply = runs.play(SendEvent(R, "change", JsonText.of(data), None))
    assert isinstance(reply, Refusal)
    assert reply.sentence == sentence


def test_answers_to_a_declared_ticket_are_checked() -> None:
    runs = Runs(DECLARED)
    runs.submit()
    assert runs.answer("t", 1) == "invalid_payload"
    assert runs.open_tickets() == ["t"]
    assert runs.answer("t", None) == "taken"


def test_emitted_values_that_are_not_declared_are_dropped() -> None:
    runs = Runs(DECLARED)
    runs.submit()
    runs.emit("nosuch", 1)
    runs.emit("x", "text")
    runs.emit("x", 1)
    assert [(each["event"], each["reason"]) for each in runs.said("event_dropped")] == [
        ("nosuch", "undeclared"),
        ("x", "invalid_data"),
    ]
    runs.ring("late")
    runs.finish()
    assert [each["event"] for each in runs.said("event_accepted")] == ["x", "late", "done"]


@pytest.mark.parametrize("event", ["start", "timer", "done", "failed", "1st", "", "a b", "x" * 65])
def test_reserved_and_malformed_names_are_not_allowed(event: str) -> None:
    runs = Runs(FREE)
    runs.submit()
    assert runs.send(event) == "event_not_allowed"


def test_there_is_no_such_run() -> None:
    assert Runs(FREE).send("x") == "run_not_found"


def test_a_submit_keeps_the_digest_of_its_starter() -> None:
    runs = Runs(FREE)
    runs.play(SubmitRun(R, FREE.checksum, JsonText("1"), None, "ab" * 32))
    assert runs.part().starter == "ab" * 32
