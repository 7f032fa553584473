"""The sequencer: collects submissions, runs them in batches, answers after the commit.

It is a synchronous core that something else drives: a thread in the server, the test or simulation
elsewhere. :meth:`Sequencer.step` does one piece of work; :meth:`Sequencer.wake_at` tells when there
is more to do without a new submission. Batches form by themselves: what arrives while one is in the
database is the next.

The clock's tick is a step like the others, 1.0 s after the end of the last one: it renews the hold,
then ends leases that are over, then fires timers that are due, a bounded number at a time, so that
requests are served between them (`docs/spec/wire.md` 6.3).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from stateous.wire.problems import Code, Refusal
from stateous_controlplane.answers import Answer, refused, unexpected
from stateous_controlplane.engine.commands import EndLease, FireTimer
from stateous_controlplane.store.port import (
    DatabaseBusy,
    HoldLost,
    HoldState,
    Store,
)
from stateous_controlplane.writer.batch import Batch, LeaseTerms, Outcome, nothing_for
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.parked import ParkedClaims
from stateous_controlplane.writer.submission import Clock, CommandTime, Deliver, Submission

_log = logging.getLogger("stateous.serve")

TICK_SECONDS: Final = 1.0
MAX_BATCH: Final = 64
#: How many leases, and how many timers, the clock takes in one transaction.
MAX_DUE: Final = 250
#: After a start or takeover no lease ends for this part of its length (`docs/spec/wire.md` 3.9).
GRACE: Final = 3 / 8

NOT_SERVING = refused(
    Refusal(Code.NOT_SERVING, "another control plane took this database; ask that one")
)


@dataclass(frozen=True, slots=True)
class Terms:
    """Who this control plane is, and how long its leases are."""

    holder: str
    lease: timedelta


class Sequencer:
    """Runs submissions in batches against one store. Only :meth:`submit` may come from outside."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        terms: Terms,
        clock: Clock,
        deliver: Deliver,
        on_lost: Callable[[], None],
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._terms = terms
        self._clock = clock
        self._deliver = deliver
        self._on_lost = on_lost
        self._time = CommandTime(clock.now)
        self._ids = store.next_ids()
        self._waiting: deque[Submission] = deque()
        self._parked = ParkedClaims()
        self._next_tick = clock.monotonic() + TICK_SECONDS
        self._due_left = False
        self._begin_grace()
        self.lost = False

    # ── from outside ────────────────────────────────────────────────────

    def submit(self, submission: Submission) -> None:
        """Hand in a submission; any thread may."""
        self._waiting.append(submission)

    # ── driving ─────────────────────────────────────────────────────────

    @property
    def busy(self) -> bool:
        """Whether there is something to do at once."""
        return bool(self._waiting) or self._due_left

    def wake_at(self) -> float:
        """When, in monotonic time, there is something to do even if nothing is submitted."""
        deadline = self._parked.next_deadline()
        return self._next_tick if deadline is None else min(self._next_tick, deadline)

    def step(self) -> bool:
        """Do one piece of work; false when there was none."""
        if self.lost:
            return self._refuse_all()
        monotonic = self._clock.monotonic()
        if monotonic >= self._next_tick:
            self._tick()
            return True
        self._answer_over(monotonic)
        batch = self._take()
        if batch:
            self._run(batch)
        if self._due_left and not self.lost:
            self._run_due_safely()
            return True
        return bool(batch)

    def end_waits(self) -> None:
        """Answer waiting claims as if their time were over."""
        self._send([(each.submission, nothing_for(each.claim)) for each in self._parked.drain()])

    def end(self) -> None:
        """Serve what was submitted, and answer the claims that wait."""
        while self._waiting and not self.lost:
            self._run(self._take())
        self._refuse_all()
        self.end_waits()

    # ── batches ─────────────────────────────────────────────────────────

    def _take(self) -> list[Submission]:
        batch: list[Submission] = []
        while self._waiting and len(batch) < MAX_BATCH:
            submission = self._waiting.popleft()
            if not submission.withdrawn:
                batch.append(submission)
        return batch

    def _run(self, batch: list[Submission]) -> None:
        began = False
        try:
            with self._store.transaction(self._terms.holder) as transaction:
                began = True
                outcome = Batch(
                    transaction,
                    self._catalog,
                    self._time,
                    self._ids,
                    self._lease_terms(),
                    self._parked,
                ).run(batch)
        except HoldLost:
            self._lose()
            self._send([(each, NOT_SERVING) for each in batch])
        except Exception as error:
            if began and len(batch) > 1:
                # The batch as a whole could not be committed: whoever is to blame stands alone.
                for submission in batch:
                    self._run([submission])
            else:
                self._fail(batch, error)
        else:
            self._finish(outcome)

    def _finish(self, outcome: Outcome) -> None:
        self._ids = outcome.ids
        for served in outcome.served:
            self._parked.remove(served)
        for parked in outcome.parked:
            self._parked.park(parked)
        changes = outcome.changes
        touched = {
            row.token
            for rows in (changes.new_tokens, changes.tokens, changes.positions)
            for row in rows
        }
        self._send(outcome.answers, touched)

    def _fail(self, batch: list[Submission], error: Exception) -> None:
        if isinstance(error, DatabaseBusy):
            _log.warning("the database is busy: %s", error)
            # Those that queued up behind have waited as long: they need not wait once more.
            batch = batch + list(self._waiting)
            self._waiting.clear()
            answer = refused(Refusal(Code.DATABASE_BUSY, f"the database is busy: {error}"))
        else:
            _log.error("a transaction met a defect; nothing of it was done", exc_info=error)
            answer = unexpected()
        self._send([(each, answer) for each in batch])

    def _send(
        self, answers: list[tuple[Submission, Answer]], tokens: set[str] | None = None
    ) -> None:
        if answers or tokens:
            self._deliver(answers, tokens or set())

    def _answer_over(self, monotonic: float) -> None:
        self._send(
            [(each.submission, nothing_for(each.claim)) for each in self._parked.over(monotonic)]
        )

    # ── the clock ───────────────────────────────────────────────────────

    def _tick(self) -> None:
        try:
            state = self._store.renew_hold(self._terms.holder, self._clock.now())
            if state is HoldState.LOST:
                self._lose()
                return
            if state is HoldState.TAKEN_BACK:
                _log.warning("the hold on the database was free; this control plane took it back")
                self._begin_grace()
            self._run_due()
        except HoldLost:
            self._lose()
        except Exception as error:
            self._tick_failed(error)
        finally:
            self._next_tick = self._clock.monotonic() + TICK_SECONDS

    def _run_due_safely(self) -> None:
        try:
            self._run_due()
        except HoldLost:
            self._lose()
        except Exception as error:
            self._due_left = False
            self._tick_failed(error)

    def _tick_failed(self, error: Exception) -> None:
        _log.warning(
            "the clock's tick failed (%s: %s); it tries again in %s seconds",
            type(error).__name__,
            error,
            TICK_SECONDS,
        )

    def _run_due(self) -> None:
        """End leases and fire timers that are due: each a command of its own, looked at again."""
        self._due_left = False
        now = self._time.current()
        with self._store.transaction(self._terms.holder) as transaction:
            due = transaction.due(now, leases=not self._lease_terms().grace, limit=MAX_DUE)
            if not due.leases and not due.timers:
                return
            ended = [Submission(EndLease(task, self._terms.lease)) for task in due.leases]
            fired = [Submission(FireTimer(timer)) for timer in due.timers]
            outcome = Batch(
                transaction,
                self._catalog,
                self._time,
                self._ids,
                self._lease_terms(),
                self._parked,
            ).run([*ended, *fired])
        # A full portion means that more may be due; one that changed nothing must not spin.
        full = MAX_DUE in (len(due.leases), len(due.timers))
        self._due_left = full and bool(outcome.changes)
        own = {id(each) for each in (*ended, *fired)}
        outcome.answers = [each for each in outcome.answers if id(each[0]) not in own]
        self._finish(outcome)

    def _begin_grace(self) -> None:
        self._grace_until = self._clock.monotonic() + GRACE * self._terms.lease.total_seconds()

    def _lease_terms(self) -> LeaseTerms:
        return LeaseTerms(self._terms.lease, self._clock.monotonic() < self._grace_until)

    # ── the end of the hold ─────────────────────────────────────────────

    def _lose(self) -> None:
        if not self.lost:
            self.lost = True
            _log.error("another control plane took this database; this one stops")
            self._refuse_all()
            self._on_lost()

    def _refuse_all(self) -> bool:
        if not self.lost:
            return False
        refused_now = [*self._waiting, *(each.submission for each in self._parked.drain())]
        self._waiting.clear()
        self._send([(each, NOT_SERVING) for each in refused_now])
        return bool(refused_now)
