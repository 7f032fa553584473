"""The rules of a family: a family that keeps them breaks none, and each rule can be broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from stateous_controlplane.engine.fold import fold
from stateous_controlplane.engine.invariants import broken_ledger, broken_rules
from stateous_controlplane.engine.rows import Active, Status, TaskStatus, TimerStatus
from tests.support.engine import Engine, T
from tests.support.families import DESIGN, SECURITY, reviews


def family() -> Engine:
    """A paused family: a parent in its parallel state, a task that is claimed, one that is queued."""
    engine = Engine(reviews(timeout="1h"))
    engine.start({"repo": "r"})
    engine.fire("done", key="k")
    engine.claim(task=engine.task_of(SECURITY))
    engine.remember("k", 1, task=engine.task_of(SECURITY))
    engine.wait(seconds=1)
    engine.pause()
    engine.fire("hurry")
    return engine


def row(engine: Engine, token: str, /, **changes: object) -> None:
    engine.family.tokens[token] = replace(engine.family.tokens[token], **changes)  # type: ignore[arg-type]


def task(engine: Engine, token: str, /, **changes: object) -> None:
    number = engine.task_of(token)
    engine.family.tasks[number] = replace(engine.family.tasks[number], **changes)  # type: ignore[arg-type]


def timer(engine: Engine, **changes: object) -> None:
    number = engine.timeout.id
    engine.family.timers[number] = replace(engine.family.timers[number], **changes)  # type: ignore[arg-type]


def held(engine: Engine, **changes: object) -> None:
    ((place, kept),) = engine.family.held.items()
    engine.family.held[place] = replace(kept, **changes)  # type: ignore[arg-type]


def second_task(engine: Engine) -> None:
    first = engine.family.tasks[engine.task_of(DESIGN)]
    engine.family.tasks[99] = replace(first, id=99)


def second_timeout(engine: Engine) -> None:
    engine.family.timers[99] = replace(engine.timeout, id=99)


def lose_child(engine: Engine) -> None:
    del engine.family.tokens[DESIGN]
    engine.family.tasks.pop(3)
    engine.ledger = [entry for entry in engine.ledger if entry.token != DESIGN]


IN_WORDS: list[tuple[str, Callable[[Engine], object]]] = [
    ("2 states are active", lambda e: row(e, T, configuration=(Active("coding", 1),) * 2)),
    ("has no state 'nowhere'", lambda e: row(e, T, configuration=(Active("nowhere", 1),))),
    ("is not the last", lambda e: row(e, T, visits={"coding": 1, "reviews": 2})),
    ("ended at", lambda e: row(e, T, ended_at=e.now)),
    ("paused at", lambda e: row(e, T, paused_at=None)),
    ("it started, entered", lambda e: row(e, T, started_at=e.now + timedelta(hours=1))),
    ("its top token is", lambda e: row(e, T, top="T-2")),
    ("none of its family", lambda e: row(e, SECURITY, parent="T-2")),
    ("its id is not that of", lambda e: row(e, SECURITY, parent_visit=2)),
    ("its parent has left", lambda e: row(e, SECURITY, parent_visit=2)),
    ("and its parent is paused", lambda e: row(e, SECURITY, status=Status.ACTIVE)),
    ("has another task", second_task),
    ("has 2 tasks", second_task),
    ("nobody can work on", lambda e: task(e, DESIGN, status=TaskStatus.DONE)),
    ("is cancelled, and task", lambda e: row(e, DESIGN, status=Status.CANCELLED)),
    ("task 3 of ('look', 2)", lambda e: task(e, DESIGN, visit=2)),
    ("has the children", lose_child),
    ("a child was cancelled", lambda e: row(e, DESIGN, status=Status.CANCELLED)),
    ("and ready True", lambda e: task(e, DESIGN, ready=True)),
    ("its lease ends at None", lambda e: task(e, SECURITY, lease_until=None)),
    ("and nobody claimed it", lambda e: task(e, SECURITY, claimed_by=None)),
    ("box-9 has it", lambda e: task(e, DESIGN, claimed_by="box-9")),
    ("has its attempt 0", lambda e: task(e, SECURITY, attempt=0)),
    ("ready True", lambda e: timer(e, ready=True)),
    ("its token has left", lambda e: timer(e, visit=2)),
    ("has another timeout", second_timeout),
    ("it was set at", lambda e: timer(e, due_at=e.timeout.set_at)),
    ("there is no token T-9", lambda e: timer(e, token="T-9")),
    ("there is no token T-9", lambda e: task(e, DESIGN, token="T-9")),
    ("and 0 are counted", lambda e: setattr(e.family, "holding", 0)),
    ("arrivals of the held events", lambda e: held(e, arrival=2)),
    ("is held, which the token left", lambda e: held(e, state="coding", visit=1)),
    ("its task is claimed", lambda e: held(e, state="reviews", visit=1, task=2)),
    ("memory of 'look' is left", lambda e: row(e, SECURITY, status=Status.FAILED)),
    ("where it never was", lambda e: e.family.memory.update({(T, "merging"): {"k": None}})),  # type: ignore[dict-item]
    ("do not count 1, 2, 3", lambda e: e.ledger.pop(3)),
    ("its last entry is not", lambda e: row(e, T, seq=99)),
    ("counts: the rows say", lambda e: row(e, T, counts={})),
    ("visits: the rows say", lambda e: row(e, T, visits={"reviews": 1})),
    ("status: the rows say", lambda e: row(e, SECURITY, status=Status.ACTIVE)),
    ("tasks: the rows say", lambda e: task(e, DESIGN, attempt=3)),
    ("keys: the rows say", lambda e: e.family.keys.clear()),
    ("held: the rows say", lambda e: e.family.held.clear()),
    ("entered_at: the rows say", lambda e: row(e, T, entered_at=e.token.started_at)),
]


def test_a_family_that_keeps_the_rules_breaks_none() -> None:
    engine = family()
    assert broken_rules(engine.family, engine.ledger, engine.machines) == []


@pytest.mark.parametrize(("words", "break_it"), IN_WORDS, ids=[each[0] for each in IN_WORDS])
def test_what_is_broken_is_told_in_words(words: str, break_it: Callable[[Engine], object]) -> None:
    engine = family()
    break_it(engine)
    assert words in "\n".join(broken_rules(engine.family, engine.ledger, engine.machines))


def test_joins_that_are_met_have_fired() -> None:
    for join, words in (("any", "join 'any' has not fired"), ("all", "join 'all' has not fired")):
        engine = Engine(reviews(join))
        engine.start({"repo": "r"})
        engine.fire("done")
        for token in (SECURITY, DESIGN):
            row(engine, token, status=Status.COMPLETED, ended_at=engine.now)
            task(engine, token, status=TaskStatus.CANCELLED, ready=False)
        assert words in "\n".join(broken_rules(engine.family, [], engine.machines))


def test_a_pending_timer_of_an_ended_token_is_told() -> None:
    engine = Engine(reviews(timeout="1h"))
    engine.start({"repo": "r"})
    engine.fire("done")
    number = engine.timeout.id
    engine.cancel()
    left = replace(engine.family.timers[number], status=TimerStatus.PENDING)
    engine.family.timers[number] = left
    assert f"timer {number}: it is pending, and its token is cancelled" in broken_rules(
        engine.family, engine.ledger, engine.machines
    )


def test_entries_that_go_back_in_time_are_told() -> None:
    engine = family()
    engine.ledger[1] = engine.ledger[1]._replace(at=engine.now + timedelta(hours=1))
    assert f"{T}: its entries go back in time" in broken_ledger(engine.family, engine.ledger)


def test_a_ledger_folds_to_what_the_rows_say() -> None:
    engine = family()
    folded = fold(entry for entry in engine.ledger if entry.token == T)
    assert (folded.state, folded.visit, folded.status) == ("reviews", 1, "paused")
    assert folded.counts == {"__started__": 1, "done": 1}
    assert folded.visits == {"coding": 1, "reviews": 1}
    assert folded.children == [SECURITY, DESIGN]
    assert folded.held == [1]
    assert folded.keys == {"k"}
    assert folded.open_tasks == {}
    assert fold(e for e in engine.ledger if e.token == SECURITY).open_tasks == {2: ("claimed", 1)}
