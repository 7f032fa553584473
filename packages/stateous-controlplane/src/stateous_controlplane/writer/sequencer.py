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
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from stateous.wire.problems import Code, Refusal
from stateous_controlplane.answers import Answer, refused, unexpected
from stateous_controlplane.engine.commands import Deliver, EndAttempt, EndLease, FireTimer
from stateous_controlplane.store.port import (
    CommitUnknown,
    DatabaseBusy,
    Due,
    HoldLost,
    HoldState,
    Store,
)
from stateous_controlplane.writer.batch import Batch, LeaseTerms, Outcome, nothing_for
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.outgoing import MAX_LOOKED_UP, Outgoing
from stateous_controlplane.writer.parked import ParkedClaim, ParkedClaims
from stateous_controlplane.writer.settling import Failed, settle
from stateous_controlplane.writer.submission import Answering, Clock, Submission
from stateous_controlplane.writer.supply import CommandTime, FreshIds
from stateous_controlplane.writer.working_set import MAX_WEIGHT, WorkingSet

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
    """Who this control plane is, how long its leases are, and how many bytes of rows it keeps."""

    holder: str
    lease: timedelta
    kept: int = MAX_WEIGHT
    #: What the values of tickets are derived with (`docs/spec/statechart.md` 8.1).
    ticket_key: bytes = field(default=b"", repr=False)


class Sequencer:
    """Runs submissions in batches against one store. Only :meth:`submit` may come from outside."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        terms: Terms,
        clock: Clock,
        deliver: Answering,
        on_lost: Callable[[], None],
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._terms = terms
        self._clock = clock
        self._deliver = deliver
        self._on_lost = on_lost
        self._time = CommandTime(clock.now)
        ids = store.next_ids()
        self._ids = FreshIds(ids.task, ids.timer)
        self._waiting: deque[Submission] = deque()
        self._parked = ParkedClaims()
        # What is known of the database: none while a transaction is under way, nor after it failed.
        self._known: WorkingSet | None = None
        self._generation = -1
        self._next_tick = clock.monotonic() + TICK_SECONDS
        self._due_left = False
        self._last_due: Due | None = None
        self._outgoing = Outgoing()
        self._waits_over = False
        # Another control plane may have served since what is known here was read.
        self._behind = False
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
        return bool(self._waiting) or self._due_left or self._outgoing.waiting

    def wake_at(self) -> float | None:
        """When, in monotonic time, there is something to do even if nothing is submitted."""
        if self.lost:
            return None
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
        self._answer_empty(self._parked.over(monotonic))
        deliveries = self._deliveries() if self._outgoing.waiting else []
        batch = [*deliveries, *self._take(MAX_BATCH)]
        if batch:
            self._run(batch)
        if self._due_left and not self.lost:
            self._run_due_safely()
            return True
        return bool(batch)

    def end_waits(self) -> None:
        """From now on no claim waits: those that do are answered as if their time were over."""
        self._waits_over = True
        self._answer_empty(self._parked.drain())

    def end(self) -> None:
        """Serve what was submitted, and answer the claims that wait."""
        self.end_waits()
        while not self.lost:
            batch = self._take(MAX_BATCH)
            if not batch:
                break
            self._run(batch)
        self._refuse_all()

    # ── batches ─────────────────────────────────────────────────────────

    def _take(self, most: int | None = None) -> list[Submission]:
        # Others append meanwhile: the queue is emptied from its front, and never walked.
        taken: list[Submission] = []
        while self._waiting and (most is None or len(taken) < most):
            submission = self._waiting.popleft()
            if not submission.withdrawn:
                taken.append(submission)
        return taken

    def _run(self, batch: list[Submission]) -> None:
        for failed in settle(batch, self._attempt):
            refused_now = failed.batch
            if any(isinstance(each.request, Deliver) for each in failed.batch):
                self._outgoing.failed()
            if isinstance(failed.error, DatabaseBusy):
                answer = _busy(failed.error)
                if not failed.began:
                    # Those that queued up behind have waited as long, and need not do so again.
                    refused_now = [*refused_now, *self._take()]
            else:
                _log.error(
                    "a transaction met a defect; nothing of it was done", exc_info=failed.error
                )
                answer = unexpected()
            self._send([(each, answer) for each in refused_now])

    def _attempt(self, batch: list[Submission]) -> Failed | None:
        """Commit ``batch`` as a whole, then answer it."""
        began = False
        try:
            self._catch_up()
            with self._store.transaction(self._terms.holder) as transaction:
                began = True
                known = self._take_known()
                outcome = Batch(
                    transaction,
                    self._catalog,
                    self._time,
                    self._ids,
                    self._lease_terms(),
                    self._parked,
                    known,
                    self._terms.ticket_key,
                ).run(batch)
        except HoldLost:
            self._lose()
            self._send([(each, NOT_SERVING) for each in batch])
        except CommitUnknown as error:
            # Claims that wait may have been granted something, which they get by asking again.
            self._outgoing.failed()
            answer = _busy(error)
            self._send([(each.submission, answer) for each in self._parked.drain()])
            return Failed(batch, error, began)
        except Exception as error:
            return Failed(batch, error, began)
        else:
            known.settle()
            self._known = known
            self._finish(outcome)
        return None

    def _take_known(self) -> WorkingSet:
        """The rows to work on. They evolve, and are put back once the transaction has committed."""
        known, self._known = self._known, None
        generation = self._store.generation
        if known is None or generation != self._generation:
            self._generation = generation
            return WorkingSet(self._terms.kept)
        return known

    def _finish(self, outcome: Outcome) -> None:
        for served in outcome.parking.served:
            self._parked.remove(served)
        if self._waits_over:
            self._answer_empty(outcome.parking.added)
        else:
            for parked in outcome.parking.added:
                self._parked.park(parked)
        self._outgoing.committed(outcome.changes.outbox)
        self._send(outcome.answers, outcome.changes.touched)

    def _send(
        self, answers: list[tuple[Submission, Answer]], tokens: set[str] | None = None
    ) -> None:
        asked = [answer for answer in answers if answer[0].asked]
        if asked or tokens:
            self._deliver(asked, tokens or set())

    def _answer_empty(self, parked: list[ParkedClaim]) -> None:
        if parked:
            self._send([(each.submission, nothing_for(each.claim)) for each in parked])

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
                self._behind = True
            self._catch_up()
            self._outgoing.tick()
            self._run_due()
        except HoldLost:
            self._lose()
        except CommitUnknown as error:
            # The row has our name next time, whether it was taken back now or never free.
            self._begin_grace()
            self._behind = True
            self._tick_failed(error)
        except Exception as error:
            self._tick_failed(error)
        finally:
            self._next_tick = self._clock.monotonic() + TICK_SECONDS

    def _catch_up(self) -> None:
        """After another control plane may have served: its ids are used, its queues filled.

        Nothing is decided before that is known, however often the database fails to tell it.
        """
        if self._behind:
            self._known = None
            self._outgoing.failed()
            self._ids.raise_to(self._store.next_ids())
            self._behind = False
            self._answer_empty(self._parked.drain())

    def _deliveries(self) -> list[Submission]:
        if self._outgoing.look_now:
            self._look_up_sends()
        return [Submission(each, asked=False) for each in self._outgoing.take(MAX_BATCH)]

    def _look_up_sends(self) -> None:
        try:
            with self._store.transaction(self._terms.holder) as transaction:
                places = transaction.undelivered(MAX_LOOKED_UP)
            self._outgoing.found(places)
        except HoldLost:
            self._lose()
        except Exception as error:
            self._outgoing.failed()
            self._tick_failed(error)

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
        """End leases and attempts, fire timers: each a command of its own, looked at again."""
        self._due_left = False
        with self._store.transaction(self._terms.holder) as transaction:
            due = transaction.due(
                self._time.current(), leases=not self._lease_terms().grace, limit=MAX_DUE
            )
        ended = [Submission(EndLease(task, self._terms.lease), asked=False) for task in due.leases]
        late = [Submission(EndAttempt(task), asked=False) for task in due.overtime]
        fired = [Submission(FireTimer(timer), asked=False) for timer in due.timers]
        if not (ended or late or fired):
            return
        failures = settle([*ended, *late, *fired], self._attempt)
        if failures:
            raise failures[0].error
        # A full portion means that more may be due. The same once more means that nothing helps.
        self._due_left = MAX_DUE in (len(ended), len(late), len(fired)) and due != self._last_due
        self._last_due = due

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
        refused_now = [*self._take(), *(each.submission for each in self._parked.drain())]
        self._send([(each, NOT_SERVING) for each in refused_now])
        return bool(refused_now)


def _busy(error: Exception) -> Answer:
    sentence = str(error)
    _log.warning("%s", sentence)
    return refused(Refusal(Code.DATABASE_BUSY, sentence))
