"""The one database of the simulation, and a store over it that can fail at each named point.

::

    before begin    the transaction is asked for      crash, busy, freeze
    before commit   all is written, nothing durable   crash, busy
    after commit    all is durable, nobody knows yet  crash, unknown, freeze
    hold taken      the name is in the row            crash
    hold renewed    the tick has begun                crash, busy, freeze
    graph recorded  the document is on record         crash

*Busy* is a lock or a lost connection: nothing was committed, and the control plane knows it. *Unknown* is a
connection that is lost while the commit is on its way: it was done, and the control plane does not
know. *Freeze* stops the whole process right there, for long enough that another one may take over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from stateous_controlplane.store.memory.database import MemoryDatabase
from stateous_controlplane.store.memory.store import MemoryStore
from stateous_controlplane.store.memory.tables import Tables
from stateous_controlplane.store.memory.transaction import MemoryTransaction
from stateous_controlplane.store.port import (
    Changes,
    Due,
    GraphRecord,
    Holder,
    HoldState,
    Loaded,
    Needs,
)

#: Each point, and what can go wrong there.
POINTS: Final = {
    "before begin": ("crash", "busy", "freeze"),
    "before commit": ("crash", "busy"),
    "after commit": ("crash", "unknown", "freeze"),
    "hold taken": ("crash",),
    "hold renewed": ("crash", "busy", "freeze"),
    "graph recorded": ("crash",),
}


class _Watched:
    """A transaction whose changes are kept for the witness."""

    def __init__(self, inner: MemoryTransaction) -> None:
        self._inner = inner
        self.changes = Changes()

    def load(self, needs: Needs) -> Loaded:
        return self._inner.load(needs)

    def memory(self, places: set[tuple[str, str]]) -> Any:
        return self._inner.memory(places)

    def due(self, now: datetime, *, leases: bool, limit: int) -> Due:
        return self._inner.due(now, leases=leases, limit=limit)

    def graph(self, checksum: str) -> str | None:
        return self._inner.graph(checksum)

    def write(self, changes: Changes) -> None:
        self.changes = changes
        self._inner.write(changes)


class SimulatedStore(MemoryStore):
    """One control plane's store. ``point`` is called at each named point, and may raise.

    ``committed`` is told of each commit that changed something: the tables before, the changes, and
    who asked; ``taken`` of each hold that was taken.
    """

    def __init__(
        self,
        database: MemoryDatabase,
        *,
        point: Callable[[str], None],
        committed: Callable[[str, Tables, Changes], None],
        taken: Callable[[str], None],
    ) -> None:
        super().__init__(database, busy_timeout=0.0)
        self._point = point
        self._committed = committed
        self._taken = taken

    @contextmanager
    def transaction(self, holder: str) -> Iterator[Any]:
        self._point("before begin")
        before = self.database.tables
        with super().transaction(holder) as inner:
            watched = _Watched(inner)
            yield watched
            if watched.changes:
                self._point("before commit")
        if watched.changes:
            self._committed(holder, before, watched.changes)
            self._point("after commit")

    def take_hold(self, holder: str, now: datetime) -> Holder | None:
        other = super().take_hold(holder, now)
        if other is None:
            self._taken(holder)
            self._point("hold taken")
        return other

    def renew_hold(self, holder: str, now: datetime) -> HoldState:
        self._point("hold renewed")
        state = super().renew_hold(holder, now)
        if state is HoldState.TAKEN_BACK:
            self._taken(holder)
        return state

    def serve_graph(self, holder: str, record: GraphRecord, now: datetime) -> int:
        live = super().serve_graph(holder, record, now)
        self._point("graph recorded")
        return live
