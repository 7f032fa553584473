"""The simulation of runs is worth something: each defect that is put into the product, it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import pytest

from stateous_controlplane.engine import decide, timers
from stateous_controlplane.engine.commands import Deliver, Emit
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.rows import Entry, TimerStatus
from stateous_controlplane.engine.runs import agenda, clients, delivery, reports, submit
from stateous_controlplane.engine.runs.offered import Offered
from stateous_controlplane.store.memory import runs as memory_runs
from stateous_controlplane.store.memory.transaction import MemoryTransaction
from stateous_controlplane.store.port import Changes, Due
from stateous_controlplane.store.sqlite import runs as sqlite_runs
from stateous_controlplane.writer.outgoing import Outgoing
from tests.sim.databases import in_files, in_memory
from tests.sim.test_simulation_can_fail import found_in
from tests.sim.world import World
from tests.support.run_ledgers import broken_promises

Patch = pytest.MonkeyPatch


# ── sends ───────────────────────────────────────────────────────────────


def a_delivery_that_leaves_its_row(patch: Patch) -> None:
    deliver = decide.deliver

    def leaving(draft: Any, command: Deliver) -> Any:
        reply = deliver(draft, command)
        draft.effects.delivered.clear()
        return reply

    patch.setattr(decide, "deliver", leaving)


def a_send_that_is_not_written(patch: Patch) -> None:
    write = MemoryTransaction.write

    def forgetful(transaction: MemoryTransaction, changes: Changes) -> None:
        if len(transaction.seen.ledger) % 3 == 0:
            changes.outbox.clear()
        write(transaction, changes)

    patch.setattr(MemoryTransaction, "write", forgetful)


def a_record_that_nobody_looks_at(patch: Patch) -> None:
    begin = Outgoing.__init__

    def beginning(outgoing: Outgoing) -> None:
        begin(outgoing)
        outgoing.found(())

    patch.setattr(Outgoing, "__init__", beginning)
    patch.setattr(Outgoing, "tick", lambda outgoing: None)


def deliveries_in_reverse(patch: Patch) -> None:
    take = Outgoing.take
    patch.setattr(Outgoing, "take", lambda outgoing, most: take(outgoing, most)[::-1])


def a_delivery_that_does_nothing(patch: Patch) -> None:
    patch.setattr(delivery, "_undelivered", lambda draft, sent, reason: None)


def a_send_in_the_family_that_vanishes(patch: Patch) -> None:
    patch.setattr(agenda, "_arrive", lambda course, post: None)


def sends_that_arrive_twice(patch: Patch) -> None:
    arrive = agenda._arrive

    def twice(course: Any, post: Any) -> None:
        arrive(course, post)
        arrive(course, post)

    patch.setattr(agenda, "_arrive", twice)


# ── keys ────────────────────────────────────────────────────────────────


def a_key_that_is_started_again(patch: Patch) -> None:
    patch.setattr(memory_runs, "_check_keys", lambda seen: None)
    patch.setattr(delivery, "_holder", lambda draft, key: None)


def a_key_that_is_submitted_again(patch: Patch) -> None:
    patch.setattr(memory_runs, "_check_keys", lambda seen: None)
    patch.setattr(submit, "_bad_key", lambda draft, key: None)


# ── timers, tickets, results ────────────────────────────────────────────


def timers_that_go_on(patch: Patch) -> None:
    fire_timer = timers.fire_timer

    def again(draft: Any, command: Any) -> Any:
        reply = fire_timer(draft, command)
        row = draft.effects.timers.get(command.timer)
        if row is not None and row.status is TimerStatus.FIRED:
            row.status, row.ready = TimerStatus.PENDING, True
        return reply

    patch.setattr(decide, "fire_timer", again)


def a_timer_that_never_comes(patch: Patch) -> None:
    due = MemoryTransaction.due

    def without(it: MemoryTransaction, now: datetime, *, leases: bool, limit: int) -> Due:
        found = due(it, now, leases=leases, limit=limit)
        rows = it.seen.timers
        return found._replace(timers=tuple(e for e in found.timers if rows[e].event != "soon"))

    patch.setattr(MemoryTransaction, "due", without)


def tickets_that_stay_open(patch: Patch) -> None:
    patch.setattr(clients, "replace", lambda ticket, **status: ticket)


def answers_without_their_keys(patch: Patch) -> None:
    patch.setattr(clients, "_repeated", lambda *given: None)


def results_that_count_again(patch: Patch) -> None:
    reported = reports.reported

    def whatever_it_is(draft: Any, task: int, attempt: int | None, supervisor: str | None) -> Any:
        row = draft.family.tasks.get(task)
        if row is not None and row.job is not None and row.attempt == attempt:
            return row
        return reported(draft, task, attempt, supervisor)

    patch.setattr(reports, "reported", whatever_it_is)


def emitted_values_that_count_again(patch: Patch) -> None:
    emit = decide.emit

    def as_if_it_were_new(draft: Any, command: Emit) -> Any:
        task = draft.family.tasks.get(command.task)
        if task is not None and task.job is not None and command.number <= task.job.emitted:
            draft.family.tasks[task.id] = replace(
                task, job=replace(task.job, emitted=command.number - 1)
            )
        return emit(draft, command)

    patch.setattr(decide, "emit", as_if_it_were_new)


# ── what waits ──────────────────────────────────────────────────────────


def held_events_that_are_forgotten(patch: Patch) -> None:
    patch.setattr(Offered, "replay", lambda conduct, draft, held: draft.release(held))


def kept_events_that_are_offered_twice(patch: Patch) -> None:
    patch.setattr(Draft, "unkeep", lambda draft, kept: None)


#: A statement that changes nothing, in the place of one that deletes a row of the outbox.
_NOTHING: Final = "UPDATE outbox SET seq = seq WHERE token = ? AND seq = ?"


def deliveries_that_stay_in_the_file(patch: Patch) -> None:
    patch.setattr(sqlite_runs, "_DELIVERED", _NOTHING)


DEFECTS: list[tuple[Callable[[Patch], None], str]] = [
    (a_delivery_that_leaves_its_row, "the outbox has"),
    (a_send_that_is_not_written, "the outbox has"),
    (a_record_that_nobody_looks_at, "came to nothing"),
    (deliveries_in_reverse, "came after"),
    (a_delivery_that_does_nothing, "the outbox has"),
    (a_send_in_the_family_that_vanishes, "came to nothing"),
    (sends_that_arrive_twice, "came to .* and to"),
    (a_key_that_is_started_again, "both have the key"),
    (a_key_that_is_submitted_again, "both have the key"),
    (timers_that_go_on, "fired twice|breaks its rules"),
    (a_timer_that_never_comes, "was due, and never fired"),
    (tickets_that_stay_open, "answered twice|breaks its rules"),
    (answers_without_their_keys, "was refused, and applied|applied twice|500 for"),
    (results_that_count_again, "was done twice|no 'done' of"),
    (emitted_values_that_count_again, "applied twice"),
    (held_events_that_are_forgotten, "wait for ever|breaks its rules"),
    (kept_events_that_are_offered_twice, "settled twice|breaks its rules|never comes to rest"),
]
DEFECTS_OF_THE_FILE: list[tuple[Callable[[Patch], None], str]] = [
    (deliveries_that_stay_in_the_file, "the outbox has"),
]


@pytest.mark.parametrize(("put_in", "words"), DEFECTS, ids=[each.__name__ for each, _ in DEFECTS])
def test_a_defect_is_found(put_in: Callable[[Patch], None], words: str, monkeypatch: Patch) -> None:
    put_in(monkeypatch)
    found_in("charts", words, in_memory)


@pytest.mark.parametrize(
    ("put_in", "words"),
    DEFECTS_OF_THE_FILE,
    ids=[each.__name__ for each, _ in DEFECTS_OF_THE_FILE],
)
def test_a_defect_of_the_file_is_found(
    put_in: Callable[[Patch], None], words: str, monkeypatch: Patch
) -> None:
    with in_files() as new:
        put_in(monkeypatch)
        found_in("charts", words, new)


# ── what is read from ledgers alone ─────────────────────────────────────


@pytest.fixture(scope="module")
def ledger() -> list[Entry]:
    """The ledgers of runs that all have ended."""
    with in_memory() as database:
        world = World(2, database, "charts")
        world.run()
        return list(database.tables.ledger.values())


def test_ledgers_that_tell_of_kept_promises(ledger: list[Entry]) -> None:
    assert broken_promises(ledger) == []


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("undelivered", "came to 2 things"),
        ("timer_fired", "too often"),
        ("event_replayed", "settled twice"),
        ("task_done", "2 times"),
        ("branch_ended", "2 times"),
        ("completed", "has ended 2 times"),
    ],
)
def test_what_is_there_twice_is_found(ledger: list[Entry], kind: str, words: str) -> None:
    again = next(entry for entry in ledger if entry.kind == kind)
    assert words in " ".join(broken_promises([*ledger, again._replace(seq=10**6)]))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("undelivered", "came to 0 things"),
        ("event_replayed", "waits for ever"),
        ("sent", "came to 1 things"),
    ],
)
def test_what_is_missing_is_found(ledger: list[Entry], kind: str, words: str) -> None:
    lost = next(
        entry for entry in ledger if entry.kind == kind and "delivery" not in entry.data.value
    )
    assert words in " ".join(broken_promises([entry for entry in ledger if entry != lost]))
