"""Each rule of a run can be broken, and is then told in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from stateous.json import JsonText
from stateous_controlplane.engine.rows import (
    Active,
    Entry,
    Failure,
    Run,
    Status,
    TaskStatus,
    TicketStatus,
    TimerKind,
)
from tests.support.charts import chart
from tests.support.runs import R, Runs

CHART = chart(
    """
    initial: a
    states:
      a:
        initial: b
        ticket: t
        timers: { late: 1h }
        defer: [later]
        states:
          b: { jobs: { x: { script: s.js }, y: { script: s.js }, m: { machine: m.yaml } } }
          c: { end: done }
      over: { end: done, output: 1 }
    """,
    m="states: { d: { job: { script: s.js } } }",
)


def running() -> Runs:
    runs = Runs(CHART)
    runs.submit(key="k")
    runs.begun("x")
    runs.finish("y", 1)
    runs.send("later", 1)
    return runs


def token(runs: Runs, **changes: Any) -> None:
    row = runs.of()
    for name, value in changes.items():
        setattr(row, name, value)


def part(runs: Runs, **changes: Any) -> None:
    runs.of().run = replace(runs.part(), **changes)


def child(runs: Runs, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(runs.of(runs.child("m")), name, value)


def task(runs: Runs, number: int = 1, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(runs.family.tasks[number], name, value)


def ticket(runs: Runs, **changes: Any) -> None:
    (digest,) = runs.family.tickets
    runs.family.tickets[digest] = replace(runs.family.tickets[digest], **changes)


def timer(runs: Runs, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(runs.family.timers[1], name, value)


def job(runs: Runs, **changes: Any) -> None:
    row = runs.family.tasks[1]
    assert row.job is not None
    row.job = replace(row.job, **changes)


def kept(runs: Runs, **changes: Any) -> None:
    (place,) = runs.family.kept
    runs.family.kept[place] = replace(runs.family.kept[place], **changes)


def told(runs: Runs, kind: str, data: Any) -> None:
    row = runs.of()
    row.seq += 1
    runs.ledger.append(Entry(R, row.seq, row.at, kind, JsonText.of(data)))


BROKEN: list[tuple[str, Callable[[Runs], object]]] = [
    ("it is in no state", lambda r: token(r, configuration=())),
    ("is no path of its chart", lambda r: token(r, configuration=(Active("b", 1),))),
    ("has no state 'nowhere'", lambda r: token(r, configuration=(Active("nowhere", 1),))),
    ("'a' has states inside, and none is active", lambda r: token(r, configuration=(Active("a", 1),))),
    ("visit 1 of 'b' is not the last", lambda r: token(r, visits={"a": 1, "b": 2})),
    ("it entered ('a', 'b') at", lambda r: part(r, entered=())),
    ("and last at", lambda r: token(r, entered_at=r.now + timedelta(hours=1))),
    ("which is no final of its chart", lambda r: token(r, status=Status.COMPLETED)),
    ("in the final 'over'", lambda r: token(r, configuration=(Active("over", 1),))),
    ("has ended in 'over' without an output", lambda r: token(r, configuration=(Active("over", 1),))),
    ("and its error is", lambda r: part(r, error=Failure("job", "boom"))),
    ("and has an output", lambda r: part(r, output=JsonText("1"))),
    ("and its job z", lambda r: part(r, job="z")),
    ("have outputs, and are no states", lambda r: part(r, outputs={"q": JsonText("1")})),
    ("it has no such jobs now", lambda r: part(r, finished={"a": {"x": None}})),
    ("have finished, and 'b' has", lambda r: part(r, finished={"b": {"q": None}})),
    ("its top token is", lambda r: token(r, top="run-9")),
    ("is none of its family", lambda r: child(r, top="run-9")),
    ("is not that of the job", lambda r: child(r, parent_visit=2)),
    ("its parent has left", lambda r: child(r, parent_state="a", parent_visit=2)),
    ("and its parent is active", lambda r: child(r, status=Status.PAUSED)),
    ("it is a child, and has a key", lambda r: child(r, run=Run(JsonText("1"), "k2", job="m"))),
    ("it is no job", lambda r: task(r, job=None)),
    ("has no job 'z'", lambda r: job(r, job="z")),
    ("and task 1 is claimed", lambda r: token(r, status=Status.FAILED)),
    ("task 1 of ('b', 2) is claimed", lambda r: task(r, visit=2)),
    ("a job waits for no event", lambda r: task(r, status=TaskStatus.WAITING)),
    ("and its attempt ends at None", lambda r: job(r, ends_at=None)),
    ("it lost 2 of 1 attempts", lambda r: job(r, lost=2)),
    ("has 0 tasks of 'x'", lambda r: r.family.tasks.pop(1)),
    ("timer 1 of ('a', 2) is pending", lambda r: timer(r, visit=2)),
    ("timer 1 is timeout", lambda r: timer(r, kind=TimerKind.TIMEOUT)),
    ("has not started its timer 'late'", lambda r: r.family.timers.pop(1)),
    ("has issued []", lambda r: r.family.tickets.clear()),
    ("is void", lambda r: ticket(r, status=TicketStatus.VOID)),
    ("the ticket 't' of ('a', 2) is open", lambda r: ticket(r, visit=2)),
    ("and no active state defers that", lambda r: kept(r, event="other")),
    ("and keeps 1 events", lambda r: token(r, status=Status.CANCELLED)),
    ("status: the rows say active, the ledger paused", lambda r: told(r, "paused", {})),
    ("input: the rows say 1, the ledger", lambda r: part(r, input=JsonText("1"))),
    ("kept: the rows say", lambda r: kept(r, seq=99)),
]  # fmt: skip


def test_nothing_is_broken_to_begin_with() -> None:
    assert running().broken() == []


@pytest.mark.parametrize(("words", "break_it"), BROKEN, ids=[each[0] for each in BROKEN])
def test_what_is_broken_is_told(words: str, break_it: Callable[[Runs], object]) -> None:
    runs = running()
    break_it(runs)
    assert words in "\n".join(runs.broken())
