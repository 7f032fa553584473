"""The simulation is worth something: each defect that is put into the product, it finds."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from stateous_controlplane.engine import joins, leave, notes, reports
from stateous_controlplane.engine.commands import Claim, Fire
from stateous_controlplane.engine.rows import Task
from stateous_controlplane.engine.tasks import worked_on
from stateous_controlplane.store.memory.store import MemoryStore
from stateous_controlplane.store.memory.transaction import MemoryTransaction
from stateous_controlplane.store.port import DatabaseBusy, Due, NextIds
from stateous_controlplane.writer.batch import Batch
from stateous_controlplane.writer.parked import ParkedClaims
from stateous_controlplane.writer.supply import CommandTime
from stateous_supervisor.messages import Message
from stateous_supervisor.pending import Pending
from tests.sim import plane, world
from tests.sim.world import simulate

#: In how many seeds a defect must be found at the latest.
SOON = 60

Patch = pytest.MonkeyPatch


def no_fence(patch: Patch) -> None:
    @contextmanager
    def transaction(store: MemoryStore, holder: str) -> Iterator[MemoryTransaction]:
        with store._begun(None) as begun:
            yield begun

    patch.setattr(MemoryStore, "transaction", transaction)


def forgotten_number_check(patch: Patch) -> None:
    patch.setattr(notes, "_is_new", lambda draft, task, number: True)


def ignored_keys(patch: Patch) -> None:
    fire = r"POST /tokens/(?P<token>[^/]+)/events/(?P<event>[^/]+)"
    shape = plane.ROUTES[fire]

    def keyless(*given: Any) -> Fire:
        asked: Fire = shape(*given)
        return replace(asked, key=None)

    patch.setitem(plane.ROUTES, fire, keyless)


def double_grant(patch: Patch) -> None:
    repeated = Batch._repeated

    def for_any_request(batch: Batch, claim: Claim) -> Any:
        remembered = batch._working.remembered.get(claim.supervisor)
        request = remembered.request if remembered is not None else None
        return repeated(batch, replace(claim, request=request))

    patch.setattr(Batch, "_repeated", for_any_request)


def grant_of_a_claimed_task(patch: Patch) -> None:
    patch.setattr(Task, "ready", property(lambda task: task.status.open, lambda task, to: None))


def ignored_attempts(patch: Patch) -> None:
    def current(draft: Any, task: int, attempt: int | None) -> Any:
        return worked_on(draft, task, None)

    patch.setattr(reports, "worked_on", current)


def tried_again_in_doubt(patch: Patch) -> None:
    patch.setattr(world, "CommitUnknown", DatabaseBusy)


def a_disk_that_forgets(patch: Patch) -> None:
    kept = MemoryStore.transaction

    @contextmanager
    def sometimes_lost(store: MemoryStore, holder: str) -> Iterator[MemoryTransaction]:
        with kept(store, holder) as transaction:
            yield transaction
            if len(transaction.seen.ledger) % 40 == 0:
                transaction.written = type(transaction.written)()

    patch.setattr(MemoryStore, "transaction", sometimes_lost)


def ids_given_again(patch: Patch) -> None:
    patch.setattr(MemoryStore, "next_ids", lambda store: NextIds(1, 1))


def claims_that_nobody_wakes(patch: Patch) -> None:
    patch.setattr(Batch, "_serve_parked", lambda batch, effects: None)


def claims_that_wait_for_ever(patch: Patch) -> None:
    patch.setattr(ParkedClaims, "over", lambda parked, monotonic: [])


def a_clock_that_is_believed(patch: Patch) -> None:
    patch.setattr(CommandTime, "next", lambda time, family: time._now())


def timers_that_outlive_their_state(patch: Patch) -> None:
    patch.setattr(leave, "cancel_timers", lambda draft, token, **kind: None)


def joins_that_are_not_told(patch: Patch) -> None:
    patch.setattr(joins, "_tell_parent", lambda draft, child: None)


def leases_that_never_end(patch: Patch) -> None:
    due = MemoryTransaction.due

    def timers_only(it: MemoryTransaction, now: datetime, *, leases: bool, limit: int) -> Due:
        return due(it, now, leases=False, limit=limit)

    patch.setattr(MemoryTransaction, "due", timers_only)


def messages_that_overtake(patch: Patch) -> None:
    def in_front(pending: Pending, message: Message) -> None:
        pending._queues.setdefault(message.task, deque()).appendleft(message)

    patch.setattr(Pending, "add", in_front)


DEFECTS: list[tuple[Callable[[Patch], None], str]] = [
    (no_fence, "committed, and .* had taken the hold"),
    (forgotten_number_check, "applied twice|came after"),
    (ignored_keys, "applied twice|was refused, and applied"),
    (double_grant, "was granted to"),
    (grant_of_a_claimed_task, "ready"),
    (ignored_attempts, "in a later attempt|two reports|was answered to|breaks its rules"),
    (tried_again_in_doubt, "applied twice|was refused, and applied"),
    (a_disk_that_forgets, "is not on record|was written twice|not what was committed"),
    (ids_given_again, "500 for|is there already"),
    (claims_that_nobody_wakes, "waits, and task"),
    (claims_that_wait_for_ever, "its time is over"),
    (a_clock_that_is_believed, "not later|back in time"),
    (timers_that_outlive_their_state, "breaks its rules"),
    (joins_that_are_not_told, "breaks its rules"),
    (leases_that_never_end, "never end"),
    (messages_that_overtake, "reported before|applied twice|came after"),
]


@pytest.mark.parametrize(
    ("put_in", "words"), DEFECTS, ids=[put_in.__name__ for put_in, _ in DEFECTS]
)
def test_a_defect_is_found(
    put_in: Callable[[Patch], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in(monkeypatch)
    for seed in range(SOON):
        violation = simulate(seed).violation
        if violation is not None:
            assert re.search(words, violation), violation
            return
    raise AssertionError(f"{SOON} seeds did not find it")
