"""The Postgres store when the server, a connection or somebody else gets in the way."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from stateous_controlplane.store.port import (
    Changes,
    CommitUnknown,
    DatabaseBusy,
    DatabaseUnreachable,
    Holder,
    HoldLost,
    HoldState,
    Needs,
    StoreError,
    TransactionConflict,
)
from stateous_controlplane.store.postgres import connecting
from stateous_controlplane.store.postgres.store import PostgresStore
from tests.support.databases import OnPostgres
from tests.support.postgres import SharedServer
from tests.support.stores import HOLDER, NOW, after, load, task, token, write

OTHER = "box-2:4711:11111111"


@pytest.fixture
def database(postgres_url: str) -> Iterator[OnPostgres]:
    made = OnPostgres(postgres_url)
    yield made
    made.close()


@pytest.fixture
def store(database: OnPostgres) -> PostgresStore:
    opened = database.open()
    assert isinstance(opened, PostgresStore)
    assert opened.take_hold(HOLDER, NOW) is None
    return opened


def end_session(database: OnPostgres, connection: psycopg.Connection[Any] | None) -> None:
    """The server ends the session of ``connection``."""
    assert connection is not None
    database.query("SELECT pg_terminate_backend(%s, 10000)", connection.info.backend_pid)


@contextmanager
def locked(database: OnPostgres, statement: str) -> Iterator[psycopg.Connection[Any]]:
    """Somebody else's transaction that has run ``statement``."""
    with psycopg.connect(database.url) as other:
        other.execute(statement.encode())
        yield other
        other.rollback()


# ── connections ─────────────────────────────────────────────────────────


def test_a_server_that_cannot_be_reached(postgres_server: SharedServer) -> None:
    url = "postgresql://me:hunter2@127.0.0.1:1/stateous"
    with pytest.raises(DatabaseUnreachable) as refused:
        PostgresStore(url).take_hold(HOLDER, NOW)
    sentence = str(refused.value)
    assert sentence.startswith(
        "cannot open the database postgresql://me:***@127.0.0.1:1/stateous: "
    )
    assert "refused" in sentence
    assert "\n" not in sentence
    with pytest.raises(StoreError, match='database "absent" does not exist'):
        PostgresStore(postgres_server.url("absent")).take_hold(HOLDER, NOW)


def test_of_several_hosts_the_one_that_answers_is_taken(database: OnPostgres) -> None:
    head, address = database.url.rsplit("@", 1)
    store = PostgresStore(f"{head}@127.0.0.1:1,{address}")
    assert store.take_hold(HOLDER, NOW) is None
    write(store, new_tokens=[token()])
    store.close()


def test_a_password_that_is_wrong_is_not_shown(postgres_server: SharedServer) -> None:
    url = postgres_server.url("postgres")
    wrong = url.replace(url.rsplit("@", 1)[0].rsplit(":", 1)[1], "hunter2")
    with pytest.raises(StoreError) as refused:
        PostgresStore(wrong).take_hold(HOLDER, NOW)
    assert "password authentication failed" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_server_that_is_too_old(database: OnPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "_OLDEST_SERVER", 990000)
    with pytest.raises(StoreError, match=r"is on PostgreSQL \d+, and Stateous needs 99 or newer"):
        database.open().take_hold(HOLDER, NOW)
    monkeypatch.undo()
    assert database.open().take_hold(HOLDER, NOW) is None


def test_the_limits_of_a_connection(store: PostgresStore) -> None:
    with store._using() as rounds:
        connection = rounds.connection

        def shown(name: str) -> str:
            (value,) = connection.execute(f"SHOW {name}".encode()).fetchone() or ("",)
            return str(value)

        assert shown("statement_timeout") == "30s"
        assert shown("lock_timeout") == "10s"
        assert shown("synchronous_commit") == "on"
        assert shown("TimeZone") == "UTC"
        parameters = connection.info.get_parameters()
        assert parameters["connect_timeout"] == "10"
        assert parameters["keepalives_idle"] == "10"


def test_an_answer_waits_for_the_disk_whatever_the_databases_default_is(
    database: OnPostgres, new_postgres_url: str
) -> None:
    name = new_postgres_url.rsplit("/", 1)[1]
    for default, used in (("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")):
        database.query(f"ALTER DATABASE {name} SET synchronous_commit = {default}")  # type: ignore[arg-type]
        connection = connecting.Server(new_postgres_url).writer()
        assert connection.execute("SHOW synchronous_commit").fetchone() == (used,)
        connection.close()


def test_a_lost_connection_heals_by_itself(database: OnPostgres, store: PostgresStore) -> None:
    write(store, new_tokens=[token()])
    end_session(database, store._rounds.connection)
    write(store, new_tokens=[token("T-2")])
    assert load(store, tokens={"T-1", "T-2"}).tokens.keys() == {"T-1", "T-2"}


def test_a_connection_that_is_lost_in_a_transaction_leaves_nothing_of_it(
    database: OnPostgres, store: PostgresStore
) -> None:
    def lose() -> None:
        with store.transaction(HOLDER) as transaction:
            transaction.write(Changes(new_tokens=[token()]))
            end_session(database, store._rounds.connection)
            transaction.load(Needs(tokens={"T-1"}))

    with pytest.raises(DatabaseBusy) as busy:
        lose()
    assert not isinstance(busy.value, CommitUnknown)
    assert load(store, tokens={"T-1"}).tokens == {}


def test_a_connection_that_is_lost_with_the_commit_leaves_it_unknown(
    database: OnPostgres, store: PostgresStore
) -> None:
    def lose(changes: Changes) -> None:
        with store.transaction(HOLDER) as transaction:
            transaction.write(changes)
            end_session(database, store._rounds.connection)

    with pytest.raises(CommitUnknown):
        lose(Changes(new_tokens=[token()]))
    with pytest.raises(DatabaseBusy) as busy:
        lose(Changes())
    # What changes nothing may be tried again.
    assert not isinstance(busy.value, CommitUnknown)
    write(store, new_tokens=[token()])


def test_a_text_that_no_database_can_keep_fails_alone(store: PostgresStore) -> None:
    write(store, new_tokens=[token()])
    with pytest.raises(UnicodeEncodeError):
        write(store, new_tokens=[token("T-\ud800")])
    with pytest.raises(StoreError, match="NUL"):
        write(store, new_tokens=[token("T-\x00")])
    reads = store.reads()
    with pytest.raises(StoreError, match="NUL"):
        reads.token("T-1\x00")
    reads.close()
    assert load(store, tokens={"T-1"}).tokens.keys() == {"T-1"}


def test_reads_open_a_lost_connection_again(database: OnPostgres, store: PostgresStore) -> None:
    write(store, new_tokens=[token()])
    reads = store.reads()
    assert reads.token("T-1") is not None
    end_session(database, reads._of_this_thread().connection)
    assert reads.token("T-1") is not None
    assert len(reads._opened) == 1
    reads.close()
    with pytest.raises(DatabaseBusy, match="is closed"):
        reads.token("T-1")


def test_reads_cannot_write(store: PostgresStore) -> None:
    reads = store.reads()
    connection = reads._of_this_thread().connection
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute("UPDATE control_plane SET serving = NULL")
    reads.close()


# ── locks ───────────────────────────────────────────────────────────────


def test_a_claim_skips_families_that_another_transaction_has_locked_and_never_waits(
    database: OnPostgres, store: PostgresStore
) -> None:
    parent = token("P")
    below = token("P.left", top="P", parent="P", parent_state="coding", parent_visit=1)
    write(
        store,
        new_tokens=[parent, below, token("A"), token("B")],
        new_tasks=[
            task(1, "P.left", queued_at=after(0)),
            task(2, "A", queued_at=after(1)),
            task(3, "B", queued_at=after(2)),
        ],
    )
    with locked(database, "SELECT FROM tokens WHERE token = 'P' FOR UPDATE"):
        began = time.monotonic()
        found = load(store, queues={"coding": 2})
        assert found.tasks.keys() == {2, 3}
        assert found.passed_over == {"coding"}
        assert time.monotonic() - began < 5
    found = load(store, queues={"coding": 2})
    assert found.tasks.keys() == {1, 2}
    assert found.passed_over == set()


def test_the_top_tokens_of_a_batch_are_locked_until_its_commit(
    database: OnPostgres, store: PostgresStore
) -> None:
    below = token("P.left", top="P", parent="P", parent_state="coding", parent_visit=1)
    write(store, new_tokens=[token("P"), below, token("A")], new_tasks=[task(1, "P.left")])
    free = "SELECT token FROM tokens ORDER BY token FOR UPDATE SKIP LOCKED"
    with store.transaction(HOLDER) as transaction:
        assert database.query(free) == [("A",), ("P",), ("P.left",)]
        transaction.load(Needs(tasks={1}))
        assert database.query(free) == [("A",), ("P.left",)]
        transaction.load(Needs(folded={"a"}))
        assert database.query(free) == [("P.left",)]
    assert len(database.query(free)) == 3


def test_a_deadlock_is_a_conflict_that_may_be_tried_again(
    database: OnPostgres, store: PostgresStore
) -> None:
    write(store, new_tokens=[token("A"), token("B")])
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"

    def load_b_then_a() -> None:
        with store.transaction(HOLDER) as transaction:
            transaction.load(Needs(tokens={"B"}))
            there.set()
            transaction.load(Needs(tokens={"A"}))

    there = threading.Event()
    ended: list[BaseException | None] = []

    def act() -> None:
        try:
            load_b_then_a()
        except DatabaseBusy as error:
            ended.append(error)
        else:
            ended.append(None)

    with locked(database, "SELECT FROM tokens WHERE token = 'A' FOR UPDATE") as other:
        # The other one is not the one to be stopped: it looks for the deadlock later.
        other.execute("SET deadlock_timeout = '60s'")
        thread = threading.Thread(target=act)
        thread.start()
        assert there.wait(10)
        while database.query(waits) != [(1,)]:
            time.sleep(0.01)
        other.execute("SELECT FROM tokens WHERE token = 'B' FOR UPDATE")
        thread.join(20)
    assert [type(error) for error in ended] == [TransactionConflict]
    assert "deadlock detected" in str(ended[0])
    load_b_then_a()


def test_who_stops_does_not_wait_for_locks(database: OnPostgres, store: PostgresStore) -> None:
    write(store, new_tokens=[token()])
    ended: list[float] = []

    def act() -> None:
        began = time.monotonic()
        with pytest.raises(DatabaseBusy):
            load(store, tokens={"T-1"})
        ended.append(time.monotonic() - began)

    with locked(database, "SELECT FROM tokens WHERE token = 'T-1' FOR UPDATE"):
        thread = threading.Thread(target=act)
        thread.start()
        while not database.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
            time.sleep(0.01)
        store.stop_waiting()
        thread.join(20)
        act()
        assert len(ended) == 2
        assert max(ended) < 5
        store.give_up_hold(HOLDER)
    assert database.query("SELECT serving FROM control_plane") == [(None,)]


def test_who_stops_does_not_wait_to_renew_the_hold(
    database: OnPostgres, store: PostgresStore
) -> None:
    ended: list[float] = []

    def renew() -> None:
        began = time.monotonic()
        with pytest.raises(DatabaseBusy):
            store.renew_hold(HOLDER, after(60))
        ended.append(time.monotonic() - began)

    with database.locked():
        thread = threading.Thread(target=renew)
        thread.start()
        while not database.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
            time.sleep(0.01)
        store.stop_waiting()
        thread.join(20)
        renew()
        assert len(ended) == 2
        assert max(ended) < 5
    store.give_up_hold(HOLDER)
    assert database.query("SELECT serving FROM control_plane") == [(None,)]


# ── the hold ────────────────────────────────────────────────────────────


def test_a_lost_hold_connection_is_replaced_and_the_lock_taken_again(
    database: OnPostgres, store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    end_session(database, store._hold._connection)
    with caplog.at_level(logging.WARNING, "stateous.store"):
        assert store.renew_hold(HOLDER, after(1)) is HoldState.OURS
    assert [record.getMessage() for record in caplog.records] == [
        "the connection that has the lock of the database was lost",
        "the lock of the database was taken again, on a new connection",
    ]
    assert database.open().take_hold(OTHER, after(60)) == Holder(HOLDER, NOW)
    caplog.clear()
    assert store.renew_hold(HOLDER, after(2)) is HoldState.OURS
    assert caplog.records == []


def test_as_long_as_the_row_is_ours_the_hold_is_whoever_has_the_lock(
    database: OnPostgres, store: PostgresStore, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(database.url, autocommit=True) as other:
        database.drop_lock()
        # A start that has the lock, and has not written its name yet.
        (taken,) = other.execute(
            "SELECT pg_try_advisory_lock(%s)", (int.from_bytes(b"stateous"),)
        ).fetchone() or (False,)
        assert taken
        assert store.renew_hold(HOLDER, after(6)) is HoldState.OURS
        assert "is another session's" in caplog.text
        write(store, new_tokens=[token()])
    while store._hold._locked is False:
        assert store.renew_hold(HOLDER, after(7)) is HoldState.OURS
    assert "was taken again" in caplog.text


def test_a_server_that_is_away_is_a_tick_that_fails(
    database: OnPostgres, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_session(database, store._hold._connection)
    monkeypatch.setitem(store._server._parameters, "port", 1)
    with pytest.raises(DatabaseBusy, match="cannot be used now"):
        store.renew_hold(HOLDER, after(1))
    monkeypatch.undo()
    assert store.renew_hold(HOLDER, after(2)) is HoldState.OURS


def test_a_taker_waits_for_the_commit_that_is_under_way(
    database: OnPostgres, store: PostgresStore
) -> None:
    other = database.open()
    took: list[object] = []
    with store.transaction(HOLDER) as transaction:
        transaction.write(Changes(new_tokens=[token()]))
        database.drop_lock()
        taker = threading.Thread(target=lambda: took.append(other.take_hold(OTHER, NOW)))
        taker.start()
        while not database.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
            time.sleep(0.01)
        assert took == []
    taker.join(20)
    assert took == [None]
    with pytest.raises(HoldLost):
        write(store, new_tokens=[token("T-2")])
    with other.transaction(OTHER) as transaction:
        assert transaction.load(Needs(tokens={"T-1", "T-2"})).tokens.keys() == {"T-1"}


def test_a_writer_that_is_suspended_in_a_transaction_does_not_keep_the_taker_out(
    database: OnPostgres, store: PostgresStore
) -> None:
    other = database.open()

    def stay_in_a_transaction() -> None:
        with store.transaction(HOLDER) as transaction:
            transaction.write(Changes(new_tokens=[token()]))
            database.drop_lock()
            assert other.take_hold(OTHER, NOW) is None  # it takes as long as the server's patience

    with pytest.raises(DatabaseBusy):
        stay_in_a_transaction()
    with other.transaction(OTHER) as transaction:
        assert transaction.load(Needs(tokens={"T-1"})).tokens == {}


def test_one_of_many_that_race_gets_the_hold(postgres_url: str) -> None:
    stores = [PostgresStore(postgres_url) for _ in range(8)]
    start = threading.Barrier(len(stores))
    took: dict[int, Holder | None] = {}

    def race(number: int) -> None:
        start.wait(20)
        took[number] = stores[number].take_hold(f"box:{number}:00000000", datetime.now(UTC))

    racing = [threading.Thread(target=race, args=(number,)) for number in range(len(stores))]
    for thread in racing:
        thread.start()
    for thread in racing:
        thread.join(30)
    (winner,) = [number for number, other in took.items() if other is None]
    assert len(took) == len(stores)
    with stores[winner].transaction(f"box:{winner}:00000000"):
        pass
    for store in stores:
        store.close()


def test_one_of_two_that_race_makes_the_tables(new_postgres_url: str) -> None:
    stores = [PostgresStore(new_postgres_url) for _ in range(2)]
    took: list[Holder | None] = []

    def race(store: PostgresStore, number: int) -> None:
        took.append(store.take_hold(f"box:{number}:00000000", NOW))

    racing = [threading.Thread(target=race, args=(store, at)) for at, store in enumerate(stores)]
    for thread in racing:
        thread.start()
    for thread in racing:
        thread.join(60)
    assert len(took) == 2
    assert took.count(None) == 1
    (refused,) = [other for other in took if other is not None]
    assert refused.name == "its name is not on record yet" or refused.name.startswith("box:")
    for store in stores:
        store.close()
