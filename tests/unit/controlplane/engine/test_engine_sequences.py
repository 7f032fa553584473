"""What is written, in which order: the sequences of `docs/spec/wire.md` 4."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from stateous_controlplane.engine.rows import Entry
from tests.support.engine import BOX, Engine, after
from tests.support.graphs import machine

FLOW = machine(
    """
    START -> a
    a -> b on go
    a -> END on stop
    b -> a on kept
    b -> END on stop
    a -> b on error
    """,
    states={"a": {"timeout": "1h", "retries": 1}},
    events={"kept": {"payload": "Any", "into": "k"}},
    schemas={"Any": {"type": "object"}},
)

START = "started event_accepted entered task_queued timer_set"


def nothing(_: Engine) -> None:
    pass


def in_b(engine: Engine) -> None:
    engine.fire("go")
    engine.claim()


CASES: list[tuple[str, Callable[[Engine], object], Callable[[Engine], object], str]] = [
    ("claim", nothing, lambda e: e.claim(), "task_claimed"),
    (
        "report, all of it",
        in_b,
        lambda e: e.report("kept", {"x": 1}, {"n": 1}, after("stop", 60), supervisor=BOX),
        "context_changed timer_set event_accepted context_changed task_done "
        "entered task_queued timer_set",
    ),
    (
        "report, the least of it",
        Engine.claim,
        lambda e: e.report("go"),
        "event_accepted task_done entered task_queued",
    ),
    (
        "report into END",
        Engine.claim,
        lambda e: e.report("stop", None, {"n": 1}),
        "context_changed event_accepted task_done completed",
    ),
    (
        "report waiting",
        Engine.claim,
        lambda e: e.report_waiting({"n": 1}, after("go", 5), after("stop", 9)),
        "context_changed timer_set timer_set task_waiting",
    ),
    ("report waiting, bare", Engine.claim, lambda e: e.report_waiting(), "task_waiting"),
    ("failure with retries", Engine.claim, Engine.report_failed, "task_failed task_retrying"),
    (
        "fire on a queued task",
        nothing,
        lambda e: e.fire("go"),
        "event_accepted task_cancelled entered task_queued",
    ),
    (
        "fire with into",
        in_b,
        lambda e: e.fire("kept"),
        "event_accepted context_changed task_done entered task_queued timer_set",
    ),
    ("a refused event", nothing, lambda e: e.fire("kept", {}), "event_rejected"),
]


@pytest.mark.parametrize(
    ("before", "do", "kinds"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_the_kinds_of_a_command(
    before: Callable[[Engine], object], do: Callable[[Engine], object], kinds: str
) -> None:
    engine = Engine(FLOW)
    engine.start()
    assert engine.kinds() == START
    before(engine)
    seq = engine.token.seq
    engine.wait(seconds=1)
    do(engine)
    assert engine.kinds(behind=seq) == kinds
    assert len({entry.at for entry in engine.ledger if entry.seq > seq}) == 1


def test_seq_counts_without_holes_and_texts_are_compact() -> None:
    engine = Engine(FLOW)
    engine.start({"text": "a b"})
    for _ in range(3):
        engine.claim()
        engine.report_failed()
        engine.claim()
        engine.report("go", None, {"n": 1})
        engine.fire("kept", {"x": [1, 2]})
        engine.fire("nosuch")
    assert [entry.seq for entry in engine.ledger] == list(range(1, len(engine.ledger) + 1))
    assert all(not re.search(r'": |[^b], ', entry.data.text) for entry in engine.ledger)


def test_a_whole_life_as_the_specification_shows_it() -> None:
    engine = Engine(
        machine("START -> review\nreview -> END on error", states={"review": {"retries": 1}})
    )
    engine.start()
    for attempt in (1, 2):
        engine.claim("box-a")
        engine.report_failed("ValueError: boom", attempt=attempt)
    assert engine.kinds() == (
        "started event_accepted entered task_queued task_claimed task_failed task_retrying "
        "task_claimed task_failed event_accepted completed"
    )
    assert engine.where == ("review", 1, "completed")


def test_an_entry_keeps_the_order_of_its_members() -> None:
    engine = Engine(FLOW)
    engine.start()
    engine.claim()
    members = {entry.kind: list(entry.data.value) for entry in engine.ledger}
    assert members == {
        "started": ["context"],
        "event_accepted": ["event", "payload", "state"],
        "entered": ["state", "visit"],
        "task_queued": ["task", "state"],
        "timer_set": ["event", "due_at"],
        "task_claimed": ["task", "supervisor", "attempt"],
    }
    assert isinstance(engine.ledger[0], Entry)
