"""The serving hold on Postgres: a session advisory lock on a connection of its own, and the row.

The lock is the database's: it reaches every host, and is free as soon as the session of its holder
ends, however that comes. So whoever has it may write a name into the row, whatever stands there. The
row tells people who serves, and is the fence: each transaction of the writer shares a lock on it and
must find its own name there, and whoever takes the hold changes it, which waits for the
transactions that are under way.

A session can end while its control plane goes on: the server restarts, a network drops the
connection. Each tick therefore uses the connection, and tries the lock on a new one when it is gone.
As long as the row has the old name, nobody has served in between, and the hold is still ours.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final

import psycopg

from stateous_controlplane.store import hold
from stateous_controlplane.store.moments import moment_or_none, text_of
from stateous_controlplane.store.port import (
    CommitUnknown,
    DatabaseBusy,
    Holder,
    HoldState,
    StoreError,
)
from stateous_controlplane.store.postgres.connecting import Connection, Server, is_lost, is_over

_log = logging.getLogger("stateous.store")

# Any number that no other program takes; it is scoped to the database. ASCII of "stateous".
_LOCK: Final = int.from_bytes(b"stateous")
_TRY_LOCK: Final = "SELECT pg_try_advisory_lock(%s)"
_HAS_ROW: Final = "SELECT to_regclass('control_plane') IS NOT NULL"
_ON_RECORD: Final = "SELECT serving, since FROM control_plane WHERE id = 1"
_SERVE: Final = "UPDATE control_plane SET serving = %s, since = %s::timestamptz WHERE id = 1"
_RENEW: Final = f"{_SERVE} AND (serving = %s OR serving IS NULL)"
_GIVE_UP: Final = (
    "UPDATE control_plane SET serving = NULL, since = NULL WHERE id = 1 AND serving = %s"
)

#: Once the control plane stops, a renewal does not wait for another program's lock.
_NO_WAIT: Final = "SET lock_timeout = '1ms'"
# A graceful stop does not wait for another program's lock as long as a command does.
_STOPPING_LIMITS: Final = "SET lock_timeout = '2s'; SET statement_timeout = '2s'"


class SessionHold:
    """The hold of one control plane. Used by one thread at a time."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection: Connection | None = None
        self._locked = False

    def try_lock(self) -> Connection | None:
        """Take the lock; the connection that has it, or None: somebody else has it.

        Raises:
            psycopg.Error, StoreError: the database cannot be used.
        """
        connection = self._connected()
        if not self._locked:
            (taken,) = connection.execute(_TRY_LOCK, (_LOCK,)).fetchone() or (False,)
            self._locked = taken
        return connection if self._locked else None

    def holder(self) -> Holder:
        """Who has the lock, as far as it is on record.

        Raises:
            psycopg.Error: the database cannot be used.
        """
        connection = self._connected()
        (has_row,) = connection.execute(_HAS_ROW).fetchone() or (False,)
        serving, since = _on_record(connection) if has_row else (None, None)
        return Holder(serving or "its name is not on record yet", since)

    def write_name(self, name: str, now: datetime) -> None:
        """Put ``name`` into the row; only with the lock.

        Raises:
            psycopg.Error: the database cannot be used.
            StoreError: there is no row.
        """
        done = self._connected().execute(_SERVE, (name, text_of(now)))
        if done.rowcount != 1:
            raise StoreError(
                f"the database {self._server.shown} lacks the row of its table control_plane: "
                "restore it from a backup"
            )

    @property
    def connection(self) -> Connection | None:
        """The connection that has the lock, or tries to get it."""
        return self._connection

    def renew(self, name: str, now: datetime, *, wait: bool = True) -> HoldState:
        """Find out whether the hold is still ours, and renew the row when that is due.

        ``wait``: for another program's lock on the row, as long as a command does.

        Raises:
            CommitUnknown: the row was free, and may have our name now.
            DatabaseBusy: it cannot be found out now.
        """
        try:
            if not wait:
                self._connected().execute(_NO_WAIT)
            return self._renew(name, now)
        except psycopg.Error as error:
            raise self._server.failure(error) from error

    def _renew(self, name: str, now: datetime) -> HoldState:
        connection, serving, since = self._asked()
        state = hold.found(name, serving)
        if state is HoldState.TAKEN_BACK and not self._locked:
            # Somebody has the lock, and is about to write a name.
            state = HoldState.LOST
        if state is HoldState.TAKEN_BACK or (
            state is HoldState.OURS and hold.renewal_is_due(since, now)
        ):
            try:
                renewed = connection.execute(_RENEW, (name, text_of(now), name))
            except psycopg.Error as error:
                if state is HoldState.TAKEN_BACK and is_over(connection, error):
                    raise CommitUnknown(str(self._server.failure(error))) from error
                raise
            if renewed.rowcount == 0:
                state = HoldState.LOST
        if state is HoldState.LOST:
            self.close()
        return state

    def _asked(self) -> tuple[Connection, str | None, datetime | None]:
        """What is on record, asked on the connection that has the lock, or else on a new one."""
        if self._connection is not None and self._locked:
            try:
                return self._connection, *_on_record(self._connection)
            except psycopg.Error as error:
                if not is_over(self._connection, error):
                    raise
                self._connection.close()
        if self._connection is not None and is_lost(self._connection):
            _log.warning("the connection that has the lock of the database was lost")
        had_lock = self._locked
        self._drop_if_lost()
        connection = self.try_lock()
        if connection is not None:
            _log.warning("the lock of the database was taken again, on a new connection")
        elif had_lock:
            _log.warning("the lock of the database is another session's; it is tried again")
        connection = self._connected()
        return connection, *_on_record(connection)

    def give_up(self, name: str) -> None:
        """Clear the row when it has ``name``, and free the lock whatever happens.

        Raises:
            DatabaseBusy: the row could not be cleared; nobody needs it to be.
        """
        try:
            if self._connection is not None:
                self._connection.execute(_STOPPING_LIMITS)
                self._connection.execute(_GIVE_UP, (name,))
        except psycopg.Error as error:
            failure = self._server.failure(error)
            raise (
                failure if isinstance(failure, DatabaseBusy) else DatabaseBusy(str(failure))
            ) from error
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection, which frees the lock; the row stays as it is."""
        connection, self._connection, self._locked = self._connection, None, False
        if connection is not None:
            connection.close()

    def _connected(self) -> Connection:
        self._drop_if_lost()
        if self._connection is None:
            self._connection = self._server.holder()
        return self._connection

    def _drop_if_lost(self) -> None:
        if self._connection is not None and is_lost(self._connection):
            self.close()


def _on_record(connection: Connection) -> tuple[str | None, datetime | None]:
    serving, since = connection.execute(_ON_RECORD).fetchone() or (None, None)
    return serving, moment_or_none(since)
