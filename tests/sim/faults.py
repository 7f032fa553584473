"""A store of the product that fails at each named point, and tells the witness what it commits.

::

    before begin    the transaction is asked for      crash, busy, freeze, lost
    before commit   all is written, nothing durable   crash, busy, unknown, lost, freeze
    after commit    all is durable, nobody knows yet  crash, unknown, freeze
    hold taken      the name is in the row            crash
    hold renewed    the tick has begun                crash, busy, freeze, lost
    graph recorded  the document is on record         crash
    sent            a send to a key is in the outbox  crash, freeze
    delivered       one is delivered, nobody knows    crash, unknown, freeze

*Busy* is a lock or a lost connection: nothing was committed, and the control plane knows it. *Unknown* is a
connection that is lost while the commit is on its way: it was done, or it was not, and the control plane does
not know. *Freeze* stops the whole process right there, for long enough that another one may take over. *Lost*
is for a server only: it ends the sessions of the control plane, which has to find out by itself. Whatever is
frozen before its commit has lost them too, because a server ends a session that keeps its locks for long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from stateous_controlplane.store.memory.tables import Tables
from stateous_controlplane.store.port import (
    Changes,
    Due,
    GraphRecord,
    Holder,
    HoldState,
    Loaded,
    Needs,
    NextIds,
    Reads,
    Store,
    Transaction,
)
from tests.sim.databases import SharedDatabase


class _Watched:
    """A transaction whose changes are kept for the witness."""

    def __init__(self, inner: Transaction) -> None:
        self._inner = inner
        self.changes = Changes()

    def load(self, needs: Needs) -> Loaded:
        return self._inner.load(needs)

    def memory(self, places: set[tuple[str, str]]) -> Any:
        return self._inner.memory(places)

    def due(self, now: datetime, *, leases: bool, limit: int) -> Due:
        return self._inner.due(now, leases=leases, limit=limit)

    def undelivered(self, limit: int) -> tuple[tuple[str, int], ...]:
        return self._inner.undelivered(limit)

    def graph(self, checksum: str) -> str | None:
        return self._inner.graph(checksum)

    def write(self, changes: Changes) -> None:
        self.changes = changes
        self._inner.write(changes)


class FaultyStore:
    """One control plane's store. ``point`` is called at each named point, and may raise.

    ``committed`` is told of each commit that changed something: the tables before, the changes, and
    who asked; ``taken`` of each hold that was taken.
    """

    def __init__(
        self,
        database: SharedDatabase,
        inner: Store,
        *,
        point: Callable[[str], None],
        committed: Callable[[str, Tables, Changes], None],
        taken: Callable[[str], None],
    ) -> None:
        self._database = database
        self._inner = inner
        self._point = point
        self._committed = committed
        self._taken = taken

    # ── transactions ────────────────────────────────────────────────────

    @property
    def generation(self) -> int:
        return self._inner.generation

    @contextmanager
    def transaction(self, holder: str) -> Iterator[Any]:
        self._point("before begin")
        before = self._database.tables
        try:
            with self._inner.transaction(holder) as inner:
                watched = _Watched(inner)
                yield watched
                if watched.changes:
                    self._point("before commit")
        finally:
            self._database.changed()
        if watched.changes:
            self._committed(holder, before, watched.changes)
            self._point("after commit")
            if watched.changes.outbox:
                self._point("sent")
            if watched.changes.delivered:
                self._point("delivered")

    # ── the hold, and what is on record ─────────────────────────────────

    def take_hold(self, holder: str, now: datetime) -> Holder | None:
        other = self._inner.take_hold(holder, now)
        if other is None:
            self._taken(holder)
            self._point("hold taken")
        return other

    def renew_hold(self, holder: str, now: datetime) -> HoldState:
        self._point("hold renewed")
        state = self._inner.renew_hold(holder, now)
        if state is HoldState.TAKEN_BACK:
            self._taken(holder)
        elif state is HoldState.LOST:
            # It closes its session; that is over at once here, and not a moment later.
            self._database.cut(self._inner)
        return state

    def give_up_hold(self, holder: str) -> None:
        self._inner.give_up_hold(holder)

    def serve_graph(self, holder: str, record: GraphRecord, now: datetime) -> int:
        live = self._inner.serve_graph(holder, record, now)
        self._database.changed()
        self._point("graph recorded")
        return live

    def next_ids(self) -> NextIds:
        return self._inner.next_ids()

    # ── its end ─────────────────────────────────────────────────────────

    def stop_waiting(self) -> None:
        self._inner.stop_waiting()

    def reads(self) -> Reads:
        return self._inner.reads()

    def close(self) -> None:
        """The process has died."""
        self._database.end(self._inner)

    def cut(self) -> None:
        """The process has been silent for too long, or is cut off from the database."""
        self._database.cut(self._inner)
