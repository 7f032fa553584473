"""The simulation is worth something: each defect that is put into the product, it finds.

Those of a store are put into the real ones too, and found by runs over these.
"""

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
from stateous_controlplane.store.postgres.store import PostgresStore
from stateous_controlplane.store.sqlite import writes as sqlite_writes
from stateous_controlplane.store.sqlite.store import SqliteStore
from stateous_controlplane.store.sqlite.transaction import SqliteTransaction
from stateous_controlplane.writer.batch import Batch
from stateous_controlplane.writer.parked import ParkedClaims
from stateous_controlplane.writer.sequencer import Sequencer
from stateous_controlplane.writer.supply import CommandTime
from stateous_supervisor.messages import Message
from stateous_supervisor.pending import Pending
from tests.sim import plane, world
from tests.sim.databases import New, in_files, in_memory, on_server
from tests.sim.world import simulate
from tests.support.postgres import SharedServer

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


# ── in the real stores ──────────────────────────────────────────────────


def no_fence_of_the_file(patch: Patch) -> None:
    begun = SqliteStore._begun
    patch.setattr(SqliteStore, "_begun", lambda store, holder=None: begun(store, None))


def a_commit_that_is_none(patch: Patch) -> None:
    kept = SqliteStore.transaction

    @contextmanager
    def sometimes_undone(store: SqliteStore, holder: str) -> Iterator[SqliteTransaction]:
        with kept(store, holder) as transaction:
            yield transaction
            connection = transaction._connection
            (entries,) = connection.execute("SELECT count(*) FROM ledger").fetchone()
            if entries % 40 == 0:
                connection.execute("ROLLBACK")
                connection.execute("BEGIN")

    patch.setattr(SqliteStore, "transaction", sometimes_undone)


def brothers_that_are_not_loaded(patch: Patch) -> None:
    patch.setattr(SqliteTransaction, "_siblings", lambda transaction, found: None)


def memory_that_outlives_its_token(patch: Patch) -> None:
    patch.setattr(sqlite_writes, "_forgotten", lambda connection, tokens: None)


def no_fence_of_the_server(patch: Patch) -> None:
    begun = PostgresStore._begun

    def whoever_serves(store: PostgresStore, holder: str) -> Any:
        with store._using() as rounds:
            (((serving,),),) = rounds.ask(("SELECT serving FROM control_plane WHERE id = 1", ()))
        return begun(store, serving)

    patch.setattr(PostgresStore, "_begun", whoever_serves)


def a_control_plane_that_does_not_catch_up(patch: Patch) -> None:
    patch.setattr(Sequencer, "_catch_up", lambda sequencer: None)


DEFECTS: list[tuple[Callable[[Patch], None], str]] = [
    (no_fence, "committed, and .* had taken the hold"),
    (forgotten_number_check, "applied twice|came after"),
    (ignored_keys, "applied twice|was refused, and applied"),
    (double_grant, "was granted to"),
    (grant_of_a_claimed_task, "ready"),
    (
        ignored_attempts,
        "in a later attempt|two reports|was answered to|breaks its rules|was reported before",
    ),
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


DEFECTS_OF_THE_FILE: list[tuple[Callable[[Patch], None], str]] = [
    (no_fence_of_the_file, "committed, and .* had taken the hold"),
    (a_commit_that_is_none, "is not on record|was written twice|not what was committed"),
    (brothers_that_are_not_loaded, "breaks its rules|500 for"),
    (memory_that_outlives_its_token, "breaks its rules"),
]
DEFECTS_OF_THE_SERVER: list[tuple[Callable[[Patch], None], str]] = [
    (no_fence_of_the_server, "committed, and .* had taken the hold"),
    (a_control_plane_that_does_not_catch_up, "500 for|waits, and task"),
]


def _names(defects: list[tuple[Callable[[Patch], None], str]]) -> list[str]:
    return [put_in.__name__ for put_in, _ in defects]


def is_found(words: str, new_database: New, first: int = 0) -> None:
    """A violation comes, soon, and is called so."""
    found_in("workflows", words, new_database, first)


def found_in(cast: str, words: str, new_database: New, first: int = 0) -> None:
    """A violation comes, soon, in a simulation of that kind, and is called so."""
    for seed in range(first, first + SOON):
        violation = simulate(seed, new_database, cast).violation
        if violation is not None:
            assert re.search(words, violation), violation
            return
    raise AssertionError(f"{SOON} seeds did not find it")


@pytest.mark.parametrize(("put_in", "words"), DEFECTS, ids=_names(DEFECTS))
def test_a_defect_is_found(
    put_in: Callable[[Patch], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in(monkeypatch)
    is_found(words, in_memory)


@pytest.mark.parametrize(("put_in", "words"), DEFECTS_OF_THE_FILE, ids=_names(DEFECTS_OF_THE_FILE))
def test_a_defect_of_the_file_is_found(
    put_in: Callable[[Patch], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_files() as new:
        put_in(monkeypatch)
        is_found(words, new)


@pytest.mark.parametrize(
    ("put_in", "words"), DEFECTS_OF_THE_SERVER, ids=_names(DEFECTS_OF_THE_SERVER)
)
def test_a_defect_of_the_server_is_found(
    put_in: Callable[[Patch], None],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    postgres_server: SharedServer,
) -> None:
    with on_server(postgres_server.empty_database) as new:
        put_in(monkeypatch)
        # In the seeds before these, nobody takes over from one that is frozen.
        is_found(words, new, first=10)
