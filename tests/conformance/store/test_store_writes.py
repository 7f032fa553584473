"""The store port: what is written is what is there, whole or not at all."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from stateous.json import JsonText
from stateous_controlplane.engine.rows import (
    Active,
    Entry,
    Status,
    Task,
    TaskStatus,
    Timer,
    TimerKind,
    TimerStatus,
    Token,
)
from stateous_controlplane.store.port import (
    Changes,
    Granted,
    Needs,
    NextIds,
    Reads,
    Remembered,
    Store,
    StoreError,
)
from tests.support.stores import HOLDER, after, claimed, entry, load, task, timer, token, write

GREATEST = 2**63 - 1
TEXT = "é 𝄞 \"quoted\" 'single' \\ \u2028 \n \x7f %s ? :x"

#: For each field that can change, another value.
TOKEN_CHANGES: dict[str, Any] = {
    "graph": "graph-9",
    "status": Status.PAUSED,
    "context": JsonText('{"n":12345678901234567890123,"x":1.0,"b":null,"é":"\\n"}'),
    "entered_by": JsonText('{"name":"done","payload":{"z":1,"a":2}}'),
    "entered_at": after(0.000001),
    "at": after(1),
    "seq": GREATEST,
    "configuration": (Active("outer", 1), Active("inner", GREATEST)),
    "counts": {"__started__": 1, "done": 2},
    "visits": {"testing": 3, "coding": 2},
    "paused_at": after(2),
    "ended_at": after(3),
}
TOKEN_FIXED = {
    "token": "T.2",
    "top": "P",
    "parent": "P",
    "parent_state": "reviews",
    "parent_visit": GREATEST,
    "workflow": "left",
    "started_at": after(-1),
}
TASK_CHANGES: dict[str, Any] = {
    "queued_at": after(5),
    "status": TaskStatus.WAITING,
    "ready": False,
    "attempt": 3,
    "claimed_by": TEXT,
    "lease_until": after(120),
    "last_number": GREATEST,
}
TASK_FIXED = {"id": GREATEST - 1, "token": "T-2", "state": "s", "visit": GREATEST, "queue": "w/s"}
TIMER_CHANGES: dict[str, Any] = {
    "due_at": after(9),
    "status": TimerStatus.CANCELLED,
    "ready": False,
}
TIMER_FIXED = {
    "id": GREATEST - 1,
    "token": "T-2",
    "state": "s",
    "visit": GREATEST,
    "kind": TimerKind.TIMER,
    "event": "remind",
    "payload": JsonText('{"n":1.0}'),
    "set_at": after(-1),
}


def test_the_tables_above_name_each_field() -> None:
    # Those of runs have tests of their own.
    assert {each.name for each in fields(Token)} - {"run"} == {*TOKEN_CHANGES, *TOKEN_FIXED}
    assert {each.name for each in fields(Task)} - {"job"} == {*TASK_CHANGES, *TASK_FIXED}
    assert {each.name for each in fields(Timer)} - {"text"} == {*TIMER_CHANGES, *TIMER_FIXED}


@pytest.mark.parametrize("name", [*TOKEN_CHANGES, *TOKEN_FIXED])
def test_a_new_token_keeps_each_field(store: Store, name: str) -> None:
    row = replace(token(), **{name: {**TOKEN_CHANGES, **TOKEN_FIXED}[name]})
    top = [] if row.top == row.token else [token(row.top, status=Status.COMPLETED)]
    write(store, new_tokens=[row, *top])
    assert load(store, tokens={row.token}).tokens[row.token] == row


@pytest.mark.parametrize("loaded", [True, False], ids=["loaded before", "not loaded"])
@pytest.mark.parametrize("name", TOKEN_CHANGES)
def test_a_changed_token_keeps_each_field(store: Store, name: str, loaded: bool) -> None:
    write(store, new_tokens=[token(), token("T-2")])
    row = replace(token(), **{name: TOKEN_CHANGES[name]})
    with store.transaction(HOLDER) as transaction:
        if loaded:
            transaction.load(Needs(tokens={"T-1"}))
        transaction.write(Changes(tokens=[row]))
    assert load(store, tokens={"T-1", "T-2"}).tokens == {"T-1": row, "T-2": token("T-2")}


@pytest.mark.parametrize("name", [*TASK_CHANGES, *TASK_FIXED])
def test_a_new_task_keeps_each_field(store: Store, name: str) -> None:
    row = replace(task(), **{name: {**TASK_CHANGES, **TASK_FIXED}[name]})
    write(store, new_tasks=[row], new_tokens=[token("T-1"), token("T-2")])
    assert load(store, tasks={row.id}).tasks == {row.id: row}


@pytest.mark.parametrize("name", TASK_CHANGES)
def test_a_changed_task_keeps_each_field(store: Store, name: str) -> None:
    write(store, new_tasks=[task(), task(2)], new_tokens=[token()])
    row = replace(task(), **{name: TASK_CHANGES[name]})
    write(store, tasks=[row])
    assert load(store, tasks={1, 2}).tasks == {1: row, 2: task(2)}


@pytest.mark.parametrize("name", [*TIMER_CHANGES, *TIMER_FIXED])
def test_a_new_timer_keeps_each_field(store: Store, name: str) -> None:
    row = replace(timer(), **{name: {**TIMER_CHANGES, **TIMER_FIXED}[name]})
    write(store, new_timers=[row], new_tokens=[token("T-1"), token("T-2")])
    assert load(store, timers={row.id}).timers == {row.id: row}


@pytest.mark.parametrize("name", TIMER_CHANGES)
def test_a_changed_timer_keeps_each_field(store: Store, name: str) -> None:
    write(store, new_timers=[timer(), timer(2)], new_tokens=[token()])
    row = replace(timer(), **{name: TIMER_CHANGES[name]})
    write(store, timers=[row])
    assert load(store, timers={1, 2}).timers == {1: row, 2: timer(2)}


def test_a_position_is_seq_and_at_alone(store: Store) -> None:
    write(store, new_tokens=[token(), token("T-2")])
    write(
        store,
        positions=[
            token(seq=9, at=after(1), context=JsonText("{}"), status=Status.FAILED, counts={})
        ],
    )
    assert load(store, tokens={"T-1", "T-2"}).tokens == {
        "T-1": token(seq=9, at=after(1)),
        "T-2": token("T-2"),
    }


def test_a_move_leaves_status_document_and_when_it_was_paused_and_ended(store: Store) -> None:
    stays = {"status": Status.PAUSED, "graph": token().graph, "paused_at": after(2)}
    write(store, new_tokens=[token(**stays), token("T-2")])
    moved = {
        name: value for name, value in TOKEN_CHANGES.items() if name not in (*stays, "ended_at")
    }
    write(store, moves=[token(**moved, **stays)])
    assert load(store, tokens={"T-1", "T-2"}).tokens == {
        "T-1": token(**moved, **stays),
        "T-2": token("T-2"),
    }


def test_a_moment_of_another_zone_is_the_same_moment(store: Store) -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    write(
        store,
        new_tokens=[token()],
        new_tasks=[task(queued_at=after(1).astimezone(zone)), task(2, queued_at=after(0))],
    )
    assert load(store, queues={"coding": 1}).tasks[2].queued_at == after(0)
    assert load(store, tasks={1}).tasks[1].queued_at == after(1)


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2027, 3, 1, 0, 0, 0, 0, after(0).tzinfo),
        datetime(2027, 3, 1, 23, 59, 59, 999999, after(0).tzinfo),
        datetime(1, 1, 1, tzinfo=after(0).tzinfo),
        datetime(9999, 12, 31, 23, 59, 59, 999999, after(0).tzinfo),
    ],
)
def test_moments_keep_each_microsecond(store: Store, moment: datetime) -> None:
    write(store, new_tokens=[token()], new_timers=[timer(due_at=moment)])
    assert load(store, timers={1}).timers[1].due_at == moment


def test_entries_keep_each_field(store: Store, reads: Reads) -> None:
    entries = [
        entry(),
        Entry("T-1", 2, after(1), "note", JsonText('{"task":1,"text":"é 1.0"}'), TEXT),
        Entry("T-1", GREATEST, after(2), "completed", JsonText("{}")),
    ]
    write(store, new_tokens=[token()], entries=entries)
    assert reads.history("T-1", after=0, limit=None) == entries


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 31, 32, 33, 75, 200])
def test_a_batch_of_any_size(store: Store, reads: Reads, count: int) -> None:
    ids = [f"T-{at}" for at in range(count)]
    tasks = [task(at + 1, each) for at, each in enumerate(ids)]
    timers = [timer(at + 1, each) for at, each in enumerate(ids)]
    write(
        store,
        new_tokens=[token(each) for each in ids],
        new_tasks=tasks,
        new_timers=timers,
        entries=[entry(each, seq) for each in ids for seq in (1, 2)],
    )
    moved = [token(each, seq=5 + at) for at, each in enumerate(ids)]
    done = [replace(each, status=TaskStatus.DONE, ready=False) for each in tasks]
    fired = [replace(each, status=TimerStatus.FIRED, ready=False) for each in timers]
    write(store, tokens=moved, tasks=done, timers=fired)
    loaded = load(
        store,
        tokens=set(ids),
        tasks={each.id for each in tasks},
        timers={each.id for each in timers},
    )
    assert loaded.tokens == {row.token: row for row in moved}
    assert loaded.tasks == {row.id: row for row in done}
    assert loaded.timers == {row.id: row for row in fired}
    assert all(len(reads.history(each, after=0, limit=None) or ()) == 2 for each in ids)


def test_memory_is_set_changed_deleted_and_forgotten(store: Store) -> None:
    def memory() -> dict[tuple[str, str], dict[str, JsonText]]:
        with store.transaction(HOLDER) as transaction:
            return transaction.memory({("A", "s"), ("A", "t"), ("B", "s")})

    write(
        store,
        memory={
            ("A", "s", "x"): JsonText("1"),
            ("A", "s", TEXT): JsonText(f'"{TEXT[:3]}"'),
            ("A", "t", "x"): JsonText("2"),
            ("B", "s", "x"): JsonText("3"),
        },
    )
    write(
        store,
        memory={
            ("A", "s", "x"): JsonText("1.0"),
            ("A", "s", TEXT): None,
            ("A", "s", "never"): None,
            ("B", "s", "y"): JsonText("{}"),
        },
    )
    assert memory() == {
        ("A", "s"): {"x": JsonText("1.0")},
        ("A", "t"): {"x": JsonText("2")},
        ("B", "s"): {"x": JsonText("3"), "y": JsonText("{}")},
    }
    write(store, forgotten={"A", "nobody"}, memory={("A", "s", "late"): JsonText("4")})
    assert memory() == {
        ("A", "s"): {},
        ("A", "t"): {},
        ("B", "s"): {"x": JsonText("3"), "y": JsonText("{}")},
    }


def test_only_the_last_granted_request_is_remembered(store: Store) -> None:
    first = Remembered("r1", (Granted(1, 1), Granted(2, 1)))
    second = Remembered("r2", (Granted(3, 2),))
    write(store, remembered={"box-1": first, TEXT: first})
    write(store, remembered={"box-1": second})
    remembered = load(store, supervisors={"box-1", TEXT}).remembered
    assert remembered == {"box-1": second, TEXT: first}


def test_ids_count_up_from_one(store: Store) -> None:
    assert store.next_ids() == NextIds(1, 1)
    write(store, new_tokens=[token()], new_tasks=[task(1), task(7)], new_timers=[timer(3)])
    assert store.next_ids() == NextIds(8, 4)


def test_a_transaction_that_fails_leaves_nothing(store: Store, reads: Reads) -> None:
    write(store, new_tokens=[token()], entries=[entry()])
    changes = Changes(
        new_tokens=[token("T-2")],
        tokens=[token(seq=9)],
        new_tasks=[task(5)],
        new_timers=[timer(5)],
        entries=[entry(seq=2)],
        memory={("T-1", "coding", "x"): JsonText("1")},
        remembered={"box-1": Remembered("r", (Granted(5, 1),))},
    )

    def write_and_fail() -> None:
        with store.transaction(HOLDER) as transaction:
            transaction.write(changes)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    loaded = load(store, tokens={"T-1", "T-2"}, tasks={5}, timers={5}, supervisors={"box-1"})
    assert loaded.tokens == {"T-1": token()}
    assert (loaded.tasks, loaded.timers, loaded.remembered) == ({}, {}, {})
    assert reads.history("T-1", after=0, limit=None) == [entry()]
    assert store.next_ids() == NextIds(1, 1)
    write(store, new_tokens=[token("T-2")])


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"new_tokens": [token()]}, id="a token's id"),
        pytest.param({"new_tokens": [token("t-1")]}, id="a token's id in another case"),
        pytest.param({"new_tokens": [token("A"), token("a")]}, id="two ids that differ in case"),
        pytest.param({"new_tasks": [task(1)]}, id="a task's id"),
        pytest.param({"new_timers": [timer(1)]}, id="a timer's id"),
        pytest.param({"entries": [entry(seq=1)]}, id="an entry's number"),
        pytest.param({"entries": [entry(seq=2, key="k1")]}, id="an idempotency key"),
        pytest.param({"tokens": [token("absent")]}, id="a token that is not there"),
        pytest.param({"positions": [token("absent")]}, id="a position that is not there"),
        pytest.param({"moves": [token("absent")]}, id="a move of what is not there"),
        pytest.param({"tasks": [task(9)]}, id="a task that is not there"),
        pytest.param({"timers": [timer(9)]}, id="a timer that is not there"),
    ],
)
def test_a_change_that_cannot_be_is_refused_whole(store: Store, changes: dict[str, Any]) -> None:
    before: dict[str, Any] = {
        "new_tokens": [token()],
        "new_tasks": [claimed(1)],
        "new_timers": [timer(1)],
        "entries": [entry(seq=1, key="k1")],
    }
    write(store, **before)

    def write_both() -> None:
        with store.transaction(HOLDER) as transaction:
            transaction.write(Changes(memory={("T-1", "coding", "x"): JsonText("1")}))
            transaction.write(Changes(**changes))

    with pytest.raises(StoreError):
        write_both()
    loaded = load(store, memory_of={1}, tasks={1}, timers={1})
    assert loaded.memory == {("T-1", "coding"): {}}
    assert loaded.tokens == {"T-1": token()}
    assert loaded.tasks == {1: claimed(1)}


def test_a_key_is_one_per_token(store: Store) -> None:
    data = JsonText('{"event":"done","payload":null,"state":"coding"}')
    write(
        store,
        new_tokens=[token("A"), token("B")],
        entries=[
            entry("A", 1, key="k", data=data),
            entry("B", 1, key="k", data=data),
            entry("A", 2, key="K", data=data),
            entry("A", 3),
            entry("A", 4),
        ],
    )
    assert len(load(store, keys={("A", "k"), ("B", "k"), ("A", "K")}).keys) == 3
