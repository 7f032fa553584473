"""The reasons that the ledger gives, as `docs/spec/wire.md` 4.1 fixes them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.support.engine import Engine
from tests.support.graphs import machine

FLOW = machine(
    """
    START -> coding
    coding -> testing on done
    coding -> testing on both if 1 < 2
    coding -> END on both if 2 < 3
    coding -> testing on perhaps if ctx['ready']
    testing -> END on passed
    """,
    states={"coding": {"timeout": "1h"}, "testing": {"timeout": "1h"}},
)


def lose_the_lease(engine: Engine) -> None:
    engine.wait(minutes=3)
    engine.end_lease()


def run_out_of_time(engine: Engine) -> None:
    engine.wait(hours=2)
    engine.fire_timer(engine.timeout.id)


def end_and_fire(engine: Engine) -> None:
    engine.fire("done")
    engine.fire("passed")
    engine.fire("done")


CASES: list[tuple[str, str, str, Callable[[Engine], object]]] = [
    (
        "task_failed",
        "error",
        r"build-box-1 stopped answering: no heartbeat for 2 minutes",
        lose_the_lease,
    ),
    (
        "failed",
        "reason",
        r"'coding' failed, and has no transition on 'error': Boom: x",
        lambda engine: engine.report_failed("Boom: x"),
    ),
    (
        "failed",
        "reason",
        r"'coding' timed out: .*'timeout'.*'coding'.*",
        run_out_of_time,
    ),
    (
        "failed",
        "reason",
        r".*'both'.*'coding'.* matched more than one guard.*'testing'.*END.*",
        lambda engine: engine.fire("both"),
    ),
    # Free, but they must name:
    ("event_rejected", "reason", r".*completed.*", end_and_fire),
    ("event_rejected", "reason", r".*'joined'.*", lambda engine: engine.fire("joined")),
    ("event_rejected", "reason", r".*'ticket'.*'nosuch'.*", lambda engine: engine.fire("nosuch")),
    ("event_rejected", "reason", r".*'passed'.*'coding'.*", lambda engine: engine.fire("passed")),
    ("event_rejected", "reason", r".*'perhaps'.*'coding'.*", lambda engine: engine.fire("perhaps")),
    (
        "event_rejected",
        "reason",
        r".*'done', 'both', 'perhaps'.*",
        lambda engine: engine.report("passed"),
    ),
]


@pytest.mark.parametrize(("kind", "member", "words", "do"), CASES, ids=[c[2] for c in CASES])
def test_the_ledger_tells_why(
    kind: str, member: str, words: str, do: Callable[[Engine], object]
) -> None:
    engine = Engine(FLOW)
    engine.start()
    engine.claim()
    do(engine)
    (said,) = engine.said(kind)
    assert re.fullmatch(words, said[member])


def test_a_state_that_emits_nothing_says_so() -> None:
    engine = Engine(machine("START -> a\na -> END on timeout", states={"a": {"timeout": "1h"}}))
    engine.start()
    engine.claim()
    engine.report("timeout")
    assert "'a'" in engine.said("event_rejected")[0]["reason"]
