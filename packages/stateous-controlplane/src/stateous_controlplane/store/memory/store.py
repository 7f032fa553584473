"""The store in memory: its hold, what is on record, transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from stateous_controlplane.engine.rows import TicketStatus
from stateous_controlplane.store import hold
from stateous_controlplane.store.memory.database import MemoryDatabase
from stateous_controlplane.store.memory.reads import MemoryReads
from stateous_controlplane.store.memory.tables import copy_of_token
from stateous_controlplane.store.memory.transaction import MemoryTransaction
from stateous_controlplane.store.port import (
    DatabaseBusy,
    GraphRecord,
    Holder,
    HoldLost,
    HoldState,
    KeyOnRecord,
    NewGraph,
    NextIds,
)


class MemoryStore:
    """One control plane's view of ``database``; without one it has a database of its own.

    ``busy_timeout``: how long a transaction waits for another store's, in seconds.
    """

    def __init__(
        self, database: MemoryDatabase | None = None, *, busy_timeout: float = 30.0
    ) -> None:
        self.database = MemoryDatabase() if database is None else database
        self._busy_timeout = busy_timeout
        self._last_seen = self.database.tables
        #: Grows when the tables are not those that this store committed last.
        self.generation = 0

    def take_hold(self, holder: str, now: datetime) -> Holder | None:
        """Take the lock, then the row."""
        row = self.database.tables.control_plane[1]
        if self.database.held_by not in (None, self):
            return Holder(row.serving or "its name is not on record yet", row.since)
        if not hold.free_for(holder, serving=row.serving, since=row.since, now=now):
            return Holder(row.serving or "", row.since)
        self.database.held_by = self
        with self._begun(None) as transaction:
            self._put(transaction, serving=holder, since=now)
        return None

    def renew_hold(self, holder: str, now: datetime) -> HoldState:
        """Renew ``since`` when it is 5 s old; find out whether the hold is still ours."""
        with self._begun(None) as transaction:
            row = transaction.seen.control_plane[1]
            state = hold.found(holder, row.serving)
            if state is HoldState.TAKEN_BACK or (
                state is HoldState.OURS and hold.renewal_is_due(row.since, now)
            ):
                self._put(transaction, serving=holder, since=now)
        return state

    def give_up_hold(self, holder: str) -> None:
        """Clear the row when it is ours, and free the lock."""
        with self._begun(None) as transaction:
            if transaction.seen.control_plane[1].serving == holder:
                self._put(transaction, serving=None, since=None)
        self._unlock()

    def serve_graph(self, holder: str, record: GraphRecord, now: datetime) -> int:
        """Record what is served and pin live tokens to it, unless the structure rule forbids."""
        with self._begun(holder) as transaction:
            seen = transaction.seen
            live = [
                token for token in seen.tokens.values() if token.status.live and token.run is None
            ]
            if seen.control_plane[1].structure != record.structure and live:
                return len(live)
            self._put(transaction, structure=record.structure, checksum=record.checksum)
            if record.checksum not in seen.graphs:
                transaction.written.graphs[record.checksum] = NewGraph(record, now)
            for token in live:
                transaction.written.tokens[token.token] = replace(
                    copy_of_token(token), graph=record.checksum
                )
        return 0

    def ticket_key(self) -> KeyOnRecord:
        """What the row knows of it."""
        row = self.database.tables.control_plane[1]
        tickets = self.database.tables.tickets.values()
        opened = sum(ticket.status is TicketStatus.OPEN for ticket in tickets)
        return KeyOnRecord(row.ticket_key, row.key_fingerprint, opened)

    def record_ticket_key(self, holder: str, *, key: str | None, fingerprint: str) -> None:
        """Put it into the row."""
        with self._begun(holder) as transaction:
            self._put(transaction, ticket_key=key, key_fingerprint=fingerprint)

    def next_ids(self) -> NextIds:
        """One more than the greatest; no row is ever deleted here."""
        tables = self.database.tables
        return NextIds(max(tables.tasks, default=0) + 1, max(tables.timers, default=0) + 1)

    @contextmanager
    def transaction(self, holder: str) -> Iterator[MemoryTransaction]:
        """A transaction that found ``holder`` in the row."""
        with self._begun(holder) as transaction:
            yield transaction

    @contextmanager
    def _begun(self, holder: str | None) -> Iterator[MemoryTransaction]:
        if not self.database.writing.acquire(timeout=self._busy_timeout):
            raise DatabaseBusy("the database in memory is locked by another store")
        try:
            serving = self.database.tables.control_plane[1].serving
            if holder is not None and serving != holder:
                raise HoldLost(
                    f"another control plane took this database ({serving or 'nobody'} is on "
                    "record); nothing was changed"
                )
            if self.database.tables is not self._last_seen:
                self.generation += 1
            transaction = MemoryTransaction(self.database.tables)
            yield transaction
            self.database.tables = self._last_seen = transaction.seen
        finally:
            self.database.writing.release()

    @staticmethod
    def _put(transaction: MemoryTransaction, **values: str | datetime | None) -> None:
        row = transaction.seen.control_plane[1]
        transaction.written.control_plane[1] = replace(row, **values)  # type: ignore[arg-type]

    def _unlock(self) -> None:
        if self.database.held_by is self:
            self.database.held_by = None

    def stop_waiting(self) -> None:
        """Let no further transaction wait; the others of this process last a moment only."""
        self._busy_timeout = 0.0

    def reads(self) -> MemoryReads:
        """Reads of what is committed."""
        return MemoryReads(self.database)

    def close(self) -> None:
        """Free the lock, as the end of a process does; the row stays as it is."""
        self._unlock()
