"""Connections to a Postgres database, and what its errors mean in one sentence."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.datetime import TimestamptzLoader
from psycopg.types.string import TextLoader

from stateous_controlplane.store.port import (
    DatabaseBusy,
    DatabaseUnreachable,
    StoreError,
    TransactionConflict,
)
from stateous_controlplane.store.url import masked

#: The oldest version that the statements are written for, as the server gives its number.
_OLDEST_SERVER: Final = 150000

# What a URL does not say. A peer that has vanished is noticed within half a minute, whether the
# connection is idle (the first three) or waits for the answer to what was sent (the last).
_DEFAULTS: Final[dict[str, Any]] = {
    "application_name": "stateous",
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    # Of several hosts the one that may be written.
    "target_session_attrs": "read-write",
}

#: Limits of each connection (`docs/spec/wire.md` 5.3). Times are in UTC, in the one form that the
#: codecs read, whatever the server's defaults are.
_SESSION: Final = {
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "client_encoding": "UTF8",
    "standard_conforming_strings": "on",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
}

#: The hot statements are look-ups by an index, each. The planner, which knows nothing of a table
#: that was empty a moment ago, is not to find the walk of a whole table cheaper, nor to plan anew
#: for each batch.
_LOOK_UPS: Final = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}

#: A writer that is suspended in the middle of a transaction would keep whoever takes its hold from
#: writing a name over its own: the server ends its session after this long.
_WRITER: Final = {**_LOOK_UPS, "idle_in_transaction_session_timeout": "5s"}

#: The server notices that the computer of the holder has vanished, and frees its lock.
_HOLDER: Final = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}

_READER: Final = {**_LOOK_UPS, "default_transaction_read_only": "on"}
_LISTER: Final = {"jit": "off", "default_transaction_read_only": "on"}

_CAUSES: Final = {
    "53100": "the disk is full",
    "53300": "it has too many connections",
    "55P03": "another program has locked it",
    "57014": "it took too long",
    "57P01": "it is shutting down",
    "57P02": "it has crashed",
    "57P03": "it is starting up or shutting down",
    "25006": "it may not be written",
    "25P03": "this control plane was suspended in the middle of a transaction",
}

# The transaction was stopped so that others can go on: deadlock, serialization failure.
_CONFLICTS: Final = (errors.DeadlockDetected, errors.SerializationFailure)

Connection = psycopg.Connection[tuple[Any, ...]]


class Server:
    """The database that a URL names, and connections to it."""

    def __init__(self, url: str) -> None:
        """Check ``url``; nothing is opened.

        Raises:
            StoreError: it is no URL that libpq understands, said without the password.
        """
        self.url = url
        #: How the database is named in a sentence.
        self.shown = masked(url)
        try:
            self._parameters = {**_DEFAULTS, **conninfo_to_dict(url)}
        except psycopg.ProgrammingError:
            # libpq's own sentence may quote a part of the password.
            raise StoreError(
                f"{self.shown!r} is not the URL of a Postgres database; write, for example, "
                "postgresql://user:password@host:5432/stateous"
            ) from None

    def writer(self) -> Connection:
        """The connection that transactions use."""
        return self._opened(_WRITER)

    def holder(self) -> Connection:
        """The connection whose session has the lock."""
        return self._opened(_HOLDER)

    def reader(self) -> Connection:
        """A connection for look-ups, which cannot write."""
        return self._opened(_READER)

    def lister(self) -> Connection:
        """A connection for SQLAlchemy to read pages with: the planner chooses."""
        return _lent(self._opened(_LISTER))

    def migrator(self) -> Connection:
        """A connection for Alembic, whose statements take as long as they take."""
        return _lent(self._opened({"statement_timeout": "0"}))

    def _opened(self, settings: dict[str, str]) -> Connection:
        connection = psycopg.connect(**self._parameters, autocommit=True)
        try:
            connection.prepared_max = None
            connection.adapters.register_loader("timestamptz", TextLoader)
            _configure(connection, {**_SESSION, **settings})
        except BaseException:
            connection.close()
            raise
        return connection

    def check_version(self, connection: Connection) -> None:
        """Refuse a server that is too old.

        Raises:
            StoreError: it is.
        """
        version = connection.info.server_version
        if version < _OLDEST_SERVER:
            raise StoreError(
                f"the database {self.shown} is on PostgreSQL {version // 10000}, and Stateous "
                f"needs {_OLDEST_SERVER // 10000} or newer"
            )

    def cannot_open(self, error: psycopg.Error) -> StoreError:
        """The refusal of a start on a database that cannot be used."""
        sentence = f"cannot open the database {self.shown}: {cause(error)}"
        return DatabaseUnreachable(sentence) if is_passing(error) else StoreError(sentence)

    def failure(self, error: psycopg.Error) -> DatabaseBusy | StoreError:
        """What a failed transaction raises: changes refused are a defect, all else is passing."""
        if isinstance(error, (errors.IntegrityError, errors.DataError)):
            return StoreError(f"the database {self.shown} refused the changes: {_words(error)}")
        sentence = f"the database {self.shown} cannot be used now: {cause(error)}"
        return (TransactionConflict if isinstance(error, _CONFLICTS) else DatabaseBusy)(sentence)


def _lent(connection: Connection) -> Connection:
    """``connection`` as SQLAlchemy expects one: the driver begins transactions, and reads moments."""
    connection.autocommit = False
    connection.adapters.register_loader("timestamptz", TimestamptzLoader)
    return connection


def _configure(connection: Connection, settings: dict[str, str]) -> None:
    calls = [f"set_config('{name}', '{value}', false)" for name, value in settings.items()]
    connection.execute(f"SELECT {', '.join(calls)}")
    # An answer leaves after its commit is on disk. A stricter setting than `on` is the operator's.
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
    )


def cause(error: psycopg.Error) -> str:
    """Why it failed, in a few words."""
    return _CAUSES.get(error.sqlstate or "", "") or _words(error)


def is_passing(error: psycopg.Error) -> bool:
    """Whether it may be over the next time: a lock, a limit, a connection that fails or is lost."""
    return isinstance(error, (errors.OperationalError, errors.InterfaceError)) and not isinstance(
        error, errors.InvalidAuthorizationSpecification
    )


def is_lost(connection: Connection) -> bool:
    """Whether the connection is over, as far as the driver has noticed."""
    return connection.closed or connection.broken


def is_over(connection: Connection, error: psycopg.Error) -> bool:
    """Whether ``error`` has ended the connection, or is about to.

    The server says so first: the driver may notice the end of the connection a moment later.
    """
    return is_lost(connection) or error.diag.severity_nonlocalized in ("FATAL", "PANIC")


def _words(error: psycopg.Error) -> str:
    """The driver's or the server's own words, on one line."""
    primary = error.diag.message_primary
    return primary if primary is not None else " ".join(str(error).split()) or type(error).__name__
