"""The Postgres store: the hold, what is on record, and the writer's transactions.

The writer's connection is used by one thread at a time. A lost connection is opened again by the
next transaction; nothing but the transaction that was under way is lost with it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final, TypeVar

import psycopg

from stateous_controlplane.store.migrating import migrate
from stateous_controlplane.store.port import (
    CommitUnknown,
    DatabaseBusy,
    GraphRecord,
    Holder,
    HoldLost,
    HoldState,
    KeyOnRecord,
    NewGraph,
    NextIds,
    StoreError,
    TransactionConflict,
)
from stateous_controlplane.store.postgres.connecting import Connection, Server, is_lost
from stateous_controlplane.store.postgres.hold import SessionHold
from stateous_controlplane.store.postgres.reads import PostgresReads
from stateous_controlplane.store.postgres.rounds import Rounds, Statement
from stateous_controlplane.store.postgres.transaction import PostgresTransaction
from stateous_controlplane.store.postgres.writes import graphs_of
from stateous_controlplane.store.postgres.writing import ROWS_MISSING
from stateous_controlplane.store.versions import VERSION_TABLE, Verdict, judge

_T = TypeVar("_T")

_FENCE: Final = "SELECT serving FROM control_plane WHERE id = 1 FOR SHARE"
_TABLES: Final = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
_VERSIONS: Final = f"SELECT version_num FROM {VERSION_TABLE}"
_STRUCTURE: Final = "SELECT structure FROM control_plane WHERE id = 1"
_LIVE: Final = "SELECT count(*) FROM tokens WHERE kind = 'token' AND status IN ('active', 'paused')"
_RECORD: Final = "UPDATE control_plane SET structure = %s, checksum = %s WHERE id = 1"
_PIN: Final = (
    "UPDATE tokens SET graph = %s WHERE kind = 'token' AND status IN ('active', 'paused') "
    "AND graph <> %s"
)
_KEY: Final = (
    "SELECT ticket_key, key_fingerprint, "
    "(SELECT count(*) FROM tickets WHERE status = 'open') FROM control_plane WHERE id = 1"
)
_RECORD_KEY: Final = "UPDATE control_plane SET ticket_key = %s, key_fingerprint = %s WHERE id = 1"
_LAST_IDS: Final = (
    "SELECT coalesce((SELECT max(id) FROM tasks), 0), coalesce((SELECT max(id) FROM timers), 0)"
)

_BEGIN: Final[Statement] = ("BEGIN", ())
_COMMIT: Final[Statement] = ("COMMIT", ())
_ROLL_BACK: Final[Statement] = ("ROLLBACK", ())
#: Plans are made once, for tables as they were then: a look-up in one that was nearly empty may walk
#: an index that has grown since. So they are made anew every now and then, in seconds.
_PLAN_ANEW: Final[Statement] = ("DISCARD PLANS", ())
_PLAN_EVERY: Final = 5.0
#: In a transaction that begins once the control plane stops: it does not wait for locks.
_NO_WAIT: Final[Statement] = ("SET LOCAL lock_timeout = '1ms'", ())

# A transaction that is not done so many seconds after the control plane stopped waits for a lock.
_STOP_PATIENCE: Final = 0.25
_CANCEL_TIMEOUT: Final = 2.0


class PostgresStore:
    """A database on a Postgres server.

    ``migrate`` brings the database that a URL names to the newest version.

    Raises:
        StoreError: ``url`` cannot be read.
    """

    def __init__(
        self,
        url: str,
        *,
        migrate: Callable[[str], None] = migrate,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = Server(url)
        self._migrate = migrate
        self._monotonic = monotonic
        self._planned = monotonic()
        self._hold = SessionHold(self._server)
        self._rounds: Rounds | None = None
        #: Which connection it is: what happened between two of them is not known.
        self.generation = 0
        self._idle = threading.Event()
        self._idle.set()
        self._opened = False
        self._stopping = False

    # ── the hold ────────────────────────────────────────────────────────

    def take_hold(self, holder: str, now: datetime) -> Holder | None:
        """Take the lock, then write the name; then migrate.

        A database without tables has no row: there the lock alone is the hold until they are made.
        """
        try:
            connection = self._hold.try_lock()
            if connection is None:
                return self._hold.holder()
            self._server.check_version(connection)
            self._make_ours(connection, holder, now)
            self._opened = True
            self._connected()
        except psycopg.Error as error:
            self.close()
            raise self._server.cannot_open(error) from error
        except BaseException:
            self.close()
            raise
        return None

    def _make_ours(self, connection: Connection, holder: str, now: datetime) -> None:
        verdict = judge(*_versions(connection))
        if verdict is Verdict.EMPTY:
            self._migrate(self._server.url)
        self._hold.write_name(holder, now)
        if verdict is Verdict.OLDER:
            try:
                self._migrate(self._server.url)
            except StoreError:
                self.give_up_hold(holder)
                raise

    def renew_hold(self, holder: str, now: datetime) -> HoldState:
        """Ask the connection that has the lock, and renew the row when it is 5 s old.

        Raises:
            DatabaseBusy: it does not answer now.
        """
        self._idle.clear()
        try:
            return self._hold.renew(holder, now, wait=not self._stopping)
        finally:
            self._idle.set()

    def give_up_hold(self, holder: str) -> None:
        """Clear the row when it is ours, and free the lock whatever happens."""
        self._hold.give_up(holder)

    # ── what is on record ───────────────────────────────────────────────

    def serve_graph(self, holder: str, record: GraphRecord, now: datetime) -> int:
        """Record what is served and pin live tokens to it, unless the structure rule forbids."""
        return self._once_more(lambda: self._serve_graph(holder, record, now))

    def _serve_graph(self, holder: str, record: GraphRecord, now: datetime) -> int:
        with self.transaction(holder), self._using() as rounds:
            (((structure,),), ((live,),)) = rounds.ask((_STRUCTURE, ()), (_LIVE, ()))
            if structure != record.structure and live:
                return int(live)
            rounds.ask(
                (_RECORD, (record.structure, record.checksum)),
                *graphs_of([NewGraph(record, now)]),
                (_PIN, (record.checksum, record.checksum)),
            )
        return 0

    def ticket_key(self) -> KeyOnRecord:
        """What the row knows of it."""
        with self._using() as rounds:
            ((row,),) = rounds.ask((_KEY, ()))
        return KeyOnRecord(*row)

    def record_ticket_key(self, holder: str, *, key: str | None, fingerprint: str) -> None:
        """Put it into the row."""
        self._once_more(lambda: self._record_key(holder, key, fingerprint))

    def _record_key(self, holder: str, key: str | None, fingerprint: str) -> None:
        with self.transaction(holder), self._using() as rounds:
            rounds.ask((_RECORD_KEY, (key, fingerprint)))

    def next_ids(self) -> NextIds:
        """One more than the greatest on record: rows of tasks and timers stay."""
        with self._using() as rounds:
            (((task, timer),),) = rounds.ask((_LAST_IDS, ()))
        return NextIds(task + 1, timer + 1)

    def _once_more(self, act: Callable[[], _T]) -> _T:
        try:
            return act()
        except TransactionConflict:
            return act()

    # ── transactions and reads ──────────────────────────────────────────

    @contextmanager
    def transaction(self, holder: str) -> Iterator[PostgresTransaction]:
        """A transaction that found ``holder`` in the row, with a lock that keeps it there."""
        self._idle.clear()
        try:
            rounds = self._begun(holder)
            transaction = PostgresTransaction(rounds)
            try:
                yield transaction
                self._commit(rounds, transaction.unsent())
            except psycopg.Error as error:
                _roll_back(rounds)
                raise self._failure(error) from error
            except BaseException:
                _roll_back(rounds)
                raise
        finally:
            self._idle.set()

    def _begun(self, holder: str) -> Rounds:
        """A connection with an open transaction that has passed the fence.

        A connection that turns out to be lost is opened again: nothing has been done on it.
        """
        beginning = self._beginning()
        try:
            rounds = self._connected()
            try:
                on_record = rounds.ask(*beginning, (_FENCE, ()))[-1]
            except psycopg.Error:
                if not is_lost(rounds.connection):
                    _roll_back(rounds)
                    raise
                rounds = self._connected()
                on_record = rounds.ask(*beginning, (_FENCE, ()))[-1]
        except psycopg.Error as error:
            raise self._failure(error) from error
        serving = on_record[0][0] if on_record else None
        if serving != holder:
            _roll_back(rounds)
            raise HoldLost(
                "another control plane took this database "
                f"({serving or 'nobody is on record'}); nothing was changed"
            )
        return rounds

    def _beginning(self) -> list[Statement]:
        beginning = [_BEGIN]
        if self._stopping:
            beginning.append(_NO_WAIT)
        if self._monotonic() - self._planned >= _PLAN_EVERY:
            self._planned = self._monotonic()
            beginning.append(_PLAN_ANEW)
        return beginning

    def _commit(self, rounds: Rounds, changes: list[Statement]) -> None:
        try:
            rounds.ask(*changes, _COMMIT)
        except psycopg.Error as error:
            # What only looked has changed nothing, whether or not it was committed.
            if not is_lost(rounds.connection) or not changes:
                raise
            raise CommitUnknown(
                f"the connection to the database {self._server.shown} was lost during a commit, "
                "which may have been done"
            ) from error

    def _failure(self, error: psycopg.Error) -> Exception:
        if error.sqlstate == ROWS_MISSING:
            return StoreError(f"a row to change is not there in the database {self._server.shown}")
        return self._server.failure(error)

    @contextmanager
    def _using(self) -> Iterator[Rounds]:
        try:
            yield self._connected()
        except psycopg.Error as error:
            raise self._failure(error) from error

    def _connected(self) -> Rounds:
        if not self._opened:
            raise StoreError(
                f"the database {self._server.shown} is not open: its hold was not taken"
            )
        if self._rounds is None or is_lost(self._rounds.connection):
            if self._stopping:
                raise DatabaseBusy(f"the connection to the database {self._server.shown} is lost")
            self._rounds = Rounds(self._server.writer())
            self.generation += 1
        return self._rounds

    def stop_waiting(self) -> None:
        """Let whatever waits for a lock give up; what is to come does not wait at all.

        The writer's thread is in a transaction or renews the hold. A connection that waits for
        nothing is not disturbed when it is told to cancel.
        """
        self._stopping = True
        rounds = self._rounds
        if not self._idle.wait(_STOP_PATIENCE):
            for connection in (
                None if rounds is None else rounds.connection,
                self._hold.connection,
            ):
                if connection is not None:
                    with contextlib.suppress(psycopg.Error):
                        connection.cancel_safe(timeout=_CANCEL_TIMEOUT)

    def reads(self) -> PostgresReads:
        """Reads of this database, on connections of their own."""
        return PostgresReads(self._server)

    def close(self) -> None:
        """Close all connections, which frees the lock; the row stays as it is."""
        rounds, self._rounds = self._rounds, None
        self._opened = False
        if rounds is not None:
            rounds.connection.close()
        self._hold.close()


def _versions(connection: Connection) -> tuple[list[str], list[str]]:
    tables = [name for (name,) in connection.execute(_TABLES)]
    if VERSION_TABLE not in tables:
        return tables, []
    return tables, [version for (version,) in connection.execute(_VERSIONS)]


def _roll_back(rounds: Rounds) -> None:
    # A connection that is lost has rolled back already, or is going to.
    if not is_lost(rounds.connection):
        with contextlib.suppress(psycopg.Error):
            rounds.ask(_ROLL_BACK)
