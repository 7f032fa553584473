"""The control plane of a rehearsal: the real writer and engine, over a store in memory.

What the server does with threads is done here by the caller's own thread: a request is handed in,
and the sequencer works until it has nothing left to do.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from stateous.graph.document import GraphDocument
from stateous.graph.machine import freeze
from stateous_cli.testing.clock import FakeClock
from stateous_cli.testing.errors import RehearsalError
from stateous_controlplane.answers import Answer
from stateous_controlplane.engine.commands import Claim, Command, Request
from stateous_controlplane.engine.rows import TaskStatus
from stateous_controlplane.startup import Workflow, put_on_record
from stateous_controlplane.store.memory.database import MemoryDatabase
from stateous_controlplane.store.memory.store import MemoryStore
from stateous_controlplane.store.port import Reads
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.sequencer import TICK_SECONDS, Sequencer, Terms
from stateous_controlplane.writer.submission import Submission

_HOLDER: Final = "rehearsal:1:00000001"
_MOMENT: Final = timedelta(microseconds=1)
#: Steps of the sequencer without an end are a defect of ours.
_MOST_STEPS: Final = 100_000


class ControlPlane:
    """A control plane that serves one workflow, and lives as long as this object.

    ``text`` is the graph file of ``document``. Any thread may ask.
    """

    def __init__(
        self, document: GraphDocument, text: str, clock: FakeClock, lease: timedelta
    ) -> None:
        self.workflow = Workflow(document, freeze(document), text.encode())
        self.lease = lease
        self._clock = clock
        self._database = MemoryDatabase()
        self._answers: dict[Submission, Answer] = {}
        # Routines may ask from threads that they have begun.
        self._asking = threading.RLock()
        store = MemoryStore(self._database)
        store.take_hold(_HOLDER, clock.now())
        put_on_record(store, _HOLDER, self.workflow, clock.now())
        self.reads: Reads = store.reads()
        self._sequencer = Sequencer(
            store,
            Catalog(self.workflow.machine),
            Terms(_HOLDER, lease),
            clock,
            self._deliver,
            lambda: None,
        )
        # No lease ends right after a start (`docs/spec/wire.md` 3.9); that time is over here.
        clock.wait(lease.total_seconds())
        self.tick()

    def ask(self, request: Request | Command) -> Answer:
        """What the control plane answers. A claim does not wait: nothing happens meanwhile."""
        if isinstance(request, Claim):
            request = replace(request, wait=0)
        submission = Submission(request)
        with self._asking:
            self._sequencer.submit(submission)
            self._settle()
            return self._answers.pop(submission)

    def tick(self) -> None:
        """The clock looks for ended leases and due timers, as it does each second."""
        with self._asking:
            self._clock.wait(TICK_SECONDS)
            self._settle()

    @property
    def moment(self) -> datetime:
        """What the rehearsal's clock says."""
        return self._clock.moment

    def next_due(self) -> datetime | None:
        """When the next timer is due or the next lease ends, unless something happens before."""
        return min(self._due(), default=None)

    def memory(self, token: str, state: str) -> dict[str, object]:
        """What routines of ``state`` remember for ``token`` (`docs/spec/authoring.md` 8.4)."""
        rows = sorted(self._database.tables.memory.items(), key=lambda row: row[0])
        return {
            key: value.value
            for (of_token, of_state, key), value in rows
            if (of_token, of_state) == (token, state) and value is not None
        }

    def _due(self) -> Iterator[datetime]:
        tables = self._database.tables
        for timer in tables.timers.values():
            if timer.ready:
                yield timer.due_at
        for task in tables.tasks.values():
            if task.status is TaskStatus.CLAIMED and task.lease_until is not None:
                yield task.lease_until + _MOMENT

    def _settle(self) -> None:
        for _ in range(_MOST_STEPS):
            if not self._sequencer.step():
                return
        raise RehearsalError("the control plane never comes to rest: a defect of Stateous")

    def _deliver(self, answers: list[tuple[Submission, Answer]], tokens: set[str]) -> None:
        self._answers.update(answers)
