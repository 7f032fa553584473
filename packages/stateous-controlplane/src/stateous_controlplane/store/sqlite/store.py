"""The SQLite store: the hold, what is on record, and the writer's transactions.

The writer's connection is used by one thread at a time. The lock of the operating system is taken
before the database is opened, so that nothing is written or migrated without it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from stateous_controlplane.store import hold
from stateous_controlplane.store.migrating import migrate
from stateous_controlplane.store.moments import moment_or_none, text_of
from stateous_controlplane.store.port import (
    DatabaseBusy,
    GraphRecord,
    Holder,
    HoldLost,
    HoldState,
    KeyOnRecord,
    NewGraph,
    NextIds,
    StoreError,
)
from stateous_controlplane.store.sqlite import connecting
from stateous_controlplane.store.sqlite.lock import FileLock, has_other_names
from stateous_controlplane.store.sqlite.reads import SqliteReads
from stateous_controlplane.store.sqlite.transaction import SqliteTransaction
from stateous_controlplane.store.sqlite.writes import add_graphs
from stateous_controlplane.store.versions import VERSION_TABLE, Verdict, judge

_SERVING: Final = "SELECT serving, since FROM control_plane WHERE id = 1"
_FENCE: Final = "SELECT serving FROM control_plane WHERE id = 1"
_SERVE: Final = "UPDATE control_plane SET serving = ?, since = ? WHERE id = 1"
_GIVE_UP: Final = (
    "UPDATE control_plane SET serving = NULL, since = NULL WHERE id = 1 AND serving = ?"
)
_LIVE: Final = "SELECT count(*) FROM tokens WHERE kind = 'token' AND status IN ('active', 'paused')"
_PIN: Final = (
    "UPDATE tokens SET graph = ?1 WHERE kind = 'token' AND status IN ('active', 'paused') "
    "AND graph <> ?1"
)
_RECORD: Final = "UPDATE control_plane SET structure = ?, checksum = ? WHERE id = 1"
_KEY: Final = (
    "SELECT ticket_key, key_fingerprint, "
    "(SELECT count(*) FROM tickets WHERE status = 'open') FROM control_plane WHERE id = 1"
)
_RECORD_KEY: Final = "UPDATE control_plane SET ticket_key = ?, key_fingerprint = ? WHERE id = 1"
_DATA_VERSION: Final = "PRAGMA data_version"
_LAST_IDS: Final = "SELECT name, seq FROM sqlite_sequence WHERE name IN ('tasks', 'timers')"

# A graceful stop does not wait for another program's lock as long as a command does, in seconds.
_STOPPING_TIMEOUT: Final = 2.0

# SQLite waits in a call that nothing interrupts: it is asked again and again for so long, in seconds.
_WAIT_SLICE: Final = 0.25


class SqliteStore:
    """A database in one file.

    ``busy_timeout``: how long each transaction waits for another program's lock, in seconds.
    ``migrate`` brings the database that a URL names to the newest version.
    """

    def __init__(
        self,
        file: Path,
        *,
        busy_timeout: float = connecting.BUSY_TIMEOUT,
        migrate: Callable[[str], None] = migrate,
    ) -> None:
        self._file = file.resolve()
        self._busy_timeout = busy_timeout
        #: How long a transaction waits from now on, in seconds; read anew while it waits.
        self._patience = busy_timeout
        self._migrate = migrate
        self._lock = FileLock(self._file.with_name(f"{self._file.name}.lock"))
        self._connection: sqlite3.Connection | None = None
        #: SQLite's own count of the commits of others, as this connection has seen them.
        self.generation = 0
        # Which file was opened: another one under its name, or none, is not our database.
        self._opened: tuple[int, int] | None = None

    # ── the hold ────────────────────────────────────────────────────────

    def take_hold(self, holder: str, now: datetime) -> Holder | None:
        """Take the lock of the operating system, then the row; then migrate.

        A database without tables has no row: there the lock alone is the hold until they are made.
        """
        try:
            if not self._lock.take():
                return self._other_holder()
        except OSError as error:
            raise connecting.cannot_open(self._file, error) from error
        self._disconnect()
        try:
            other = self._take_row(holder, now)
        except BaseException:
            self.close()
            raise
        if other is not None:
            self.close()
        return other

    def _other_holder(self) -> Holder:
        try:
            with connecting.reading(self._file, self._busy_timeout) as connection:
                name, since = _on_record(connection)
        except sqlite3.Error:
            name, since = None, None  # it is just making the tables
        return Holder(name or "its name is not on record yet", since)

    def _take_row(self, holder: str, now: datetime) -> Holder | None:
        connecting.check_library()
        try:
            self._refuse_other_names()
            connection = connecting.open_writer(self._file, self._busy_timeout)
            self._connection = connection
            self._opened = _identity(self._file)
            verdict = judge(*_versions(connection))
            if verdict is Verdict.EMPTY:
                self._migrate(self._url)
            other = self._write_name(connection, holder, now)
            if other is not None:
                return other
            connection.execute("PRAGMA journal_mode=WAL")
            wait = min(self._busy_timeout, _WAIT_SLICE)
            connection.execute(f"PRAGMA busy_timeout={wait * 1000:.0f}")
        except (sqlite3.Error, OSError) as error:
            raise connecting.cannot_open(self._file, error) from error
        if verdict is Verdict.OLDER:
            try:
                self._migrate(self._url)
            except StoreError:
                self.give_up_hold(holder)
                raise
        return None

    def _refuse_other_names(self) -> None:
        if has_other_names(self._file):
            raise StoreError(
                f"cannot open the database {self._file}: it has another name, a hard link, under "
                "which a second control plane could serve it unseen; remove that name "
                f"(`find DIRECTORY -samefile {self._file}` tells it), or serve a copy"
            )

    @property
    def _url(self) -> str:
        return f"sqlite:///{self._file}"

    def _write_name(
        self, connection: sqlite3.Connection, holder: str, now: datetime
    ) -> Holder | None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if connection.execute(_SERVING).fetchone() is None:
                raise StoreError(
                    f"the database {self._file} lacks the row of its table control_plane: "
                    "restore it from a backup"
                )
            serving, since = _on_record(connection)
            if not hold.free_for(holder, serving=serving, since=since, now=now):
                connection.execute("ROLLBACK")
                return Holder(serving or "", since)
            connection.execute(_SERVE, (holder, text_of(now)))
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        return None

    def renew_hold(self, holder: str, now: datetime) -> HoldState:
        """Look whose name stands in the row; write ``since`` when it is 5 s old, or the row free.

        Raises:
            DatabaseBusy: the row could not be read or written.
        """
        with self._begun() as connection:
            serving, since = _on_record(connection)
            state = hold.found(holder, serving)
            if state is HoldState.TAKEN_BACK or (
                state is HoldState.OURS and hold.renewal_is_due(since, now)
            ):
                connection.execute(_SERVE, (holder, text_of(now)))
        return state

    def give_up_hold(self, holder: str) -> None:
        """Clear the row when it is ours, and free the lock whatever happens.

        Raises:
            DatabaseBusy: the row could not be cleared. It then speaks for another 30 s to other
                hosts; this one needs only the lock.
        """
        try:
            if self._connection is not None:
                self._patience = min(self._busy_timeout, _STOPPING_TIMEOUT)
                with self._begun() as connection:
                    connection.execute(_GIVE_UP, (holder,))
        finally:
            self._lock.free()

    # ── what is on record ───────────────────────────────────────────────

    def serve_graph(self, holder: str, record: GraphRecord, now: datetime) -> int:
        """Record what is served and pin live tokens to it, unless the structure rule forbids."""
        with self._begun(holder) as connection:
            structure = connection.execute(
                "SELECT structure FROM control_plane WHERE id = 1"
            ).fetchone()[0]
            if structure != record.structure:
                live: int = connection.execute(_LIVE).fetchone()[0]
                if live:
                    return live
            connection.execute(_RECORD, (record.structure, record.checksum))
            add_graphs(connection, [NewGraph(record, now)])
            connection.execute(_PIN, (record.checksum,))
        return 0

    def ticket_key(self) -> KeyOnRecord:
        """What the row knows of it."""
        with self._begun() as connection:
            return KeyOnRecord(*connection.execute(_KEY).fetchone())

    def record_ticket_key(self, holder: str, *, key: str | None, fingerprint: str) -> None:
        """Put it into the row."""
        with self._begun(holder) as connection:
            connection.execute(_RECORD_KEY, (key, fingerprint))

    def next_ids(self) -> NextIds:
        """One more than the greatest that a row ever had."""
        with self._begun() as connection:
            last: dict[str, int] = dict(connection.execute(_LAST_IDS).fetchall())
        return NextIds(last.get("tasks", 0) + 1, last.get("timers", 0) + 1)

    # ── transactions and reads ──────────────────────────────────────────

    @contextmanager
    def transaction(self, holder: str) -> Iterator[SqliteTransaction]:
        """A transaction that found ``holder`` in the row after it had the database's lock."""
        with self._begun(holder) as connection:
            yield SqliteTransaction(connection)

    @contextmanager
    def _begun(self, holder: str | None = None) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        if connection is None:
            raise StoreError(f"the database {self._file} is not open: its hold was not taken")
        try:
            self._begin(connection)
            self._refuse_another_file()
            if holder is not None:
                (serving,) = connection.execute(_FENCE).fetchone() or (None,)
                if serving != holder:
                    raise HoldLost(
                        "another control plane took this database "
                        f"({serving or 'nobody is on record'}); nothing was changed"
                    )
            self.generation = connection.execute(_DATA_VERSION).fetchone()[0]
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            _roll_back(connection)
            self._refuse_another_file()
            raise connecting.failure(self._file, error) from error
        except BaseException:
            _roll_back(connection)
            raise

    def _refuse_another_file(self) -> None:
        if _identity(self._file) != self._opened:
            raise DatabaseBusy(
                f"the database {self._file} was removed or replaced under this control "
                "plane; nothing was changed: stop it, put the file back, and start it again"
            )

    def _begin(self, connection: sqlite3.Connection) -> None:
        began = time.monotonic()
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not connecting.is_busy(error) or time.monotonic() - began >= self._patience:
                    raise
            else:
                return

    def stop_waiting(self) -> None:
        """Let a transaction that waits give up within the slice of time that it waits for now."""
        self._patience = 0.0

    def reads(self) -> SqliteReads:
        """Reads of this file, on connections of their own."""
        return SqliteReads(self._file, busy_timeout=self._busy_timeout)

    def close(self) -> None:
        """Close the connection and the lock's file; the row stays as it is."""
        self._disconnect()
        self._lock.free()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _versions(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    tables = [
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    ]
    if VERSION_TABLE not in tables:
        return tables, []
    recorded = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall()
    return tables, [version for (version,) in recorded]


def _on_record(connection: sqlite3.Connection) -> tuple[str | None, datetime | None]:
    serving, since = connection.execute(_SERVING).fetchone() or (None, None)
    return serving, moment_or_none(since)


def _roll_back(connection: sqlite3.Connection) -> None:
    # Some errors (a full disk) have rolled back already.
    if connection.in_transaction:
        connection.execute("ROLLBACK")
