"""From a grant to its report in the outbox: begins attempts, and ends, times out or forgets them.

Lives on the supervisor's own event loop. Whatever other threads tell is posted there first, so that
the session has one user.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, Protocol

from stateous.json import JsonObject
from stateous_supervisor import job_outcome
from stateous_supervisor.aftermath import Entry
from stateous_supervisor.leases import Leases
from stateous_supervisor.loops.bell import Bell
from stateous_supervisor.loops.delivery import DeliveryLoop
from stateous_supervisor.messages import Attempt, Draft, Message, Outgoing
from stateous_supervisor.outcome import idle_timers, told
from stateous_supervisor.session import Session
from stateous_supervisor.work import Queue, queue_of, title_of

_log: Final = logging.getLogger("stateous.supervisor")


class Performer(Protocol):
    """Does the work of grants, and tells :meth:`Attempts.ended` of each end."""

    def start(self, attempt: Attempt, grant: Mapping[str, Any]) -> None:
        """Begin."""

    def cancel(self, attempt: Attempt) -> None:
        """End as soon as may be; nothing happens when it has ended."""


class Attempts:
    """The attempts of this supervisor. Its methods are called on the event loop.

    ``performers`` does the work of each queue. ``post`` has the loop call a function, from any thread. ``bell`` is rung when a place gets free
    or an attempt is settled.
    """

    def __init__(
        self,
        session: Session,
        outbox: Outgoing,
        delivery: DeliveryLoop,
        leases: Leases,
        *,
        performers: Mapping[Queue, Performer],
        bell: Bell,
        post: Callable[..., None],
        clock: Callable[[], float],
    ) -> None:
        self._session = session
        self._outbox = outbox
        self._delivery = delivery
        self._leases = leases
        self._performers = performers
        self._bell = bell
        self._post = post
        self._clock = clock
        self._entries: dict[Attempt, Entry] = {}
        self._at_work: dict[Attempt, Performer] = {}
        self._timeouts: dict[Attempt, asyncio.TimerHandle] = {}

    def begin(self, attempt: Attempt, grant: Mapping[str, Any], granted_at: float) -> None:
        """Run the routine of a grant that the session holds."""
        # Who is granted a task again has lost it before, and has not heard of it yet.
        self.lost([it for it in self._entries if it.task == attempt.task])
        token, title = grant["token"], title_of(grant)
        self._entries[attempt] = Entry(token, grant["state"], grant["visit"])
        self._leases.granted(attempt, granted_at)
        _log.info("task %d: %s of %s, attempt %d", attempt.task, title, token, attempt.number)
        timeout = grant.get("timeout")
        if timeout is not None:
            self._timeouts[attempt] = asyncio.get_running_loop().call_later(
                timeout, self._timed_out, attempt, timeout
            )
        performer = self._performers[queue_of(grant)]
        self._at_work[attempt] = performer
        performer.start(attempt, grant)

    def ended(self, attempt: Attempt, outcome: JsonObject | None) -> None:
        """The work ended. Without an outcome, because it was cancelled, nothing is reported."""
        if self._at_work.pop(attempt, None) is None:
            return  # its time was over, which is reported already
        self._no_timeout(attempt)
        if self._session.ended(self._clock(), attempt):
            if outcome is None:
                self.settled(attempt)
            else:
                self._report(attempt, outcome)
        self._bell.ring()

    def written(self, messages: Sequence[Message]) -> None:
        """These are on disk. Those of a lost attempt go no further."""
        for message in messages:
            if self._session.holds(message.attempt):
                self._delivery.send(message)
            else:
                self._outbox.remove(message)

    def lost(self, attempts: Sequence[Attempt]) -> None:
        """A heartbeat brought these back as lost."""
        for attempt in self._session.lost(self._clock(), attempts):
            _log.warning(
                "task %d of %s: the control plane took it back; cancelling its routine",
                attempt.task,
                self._entries.pop(attempt).token,
            )
            self._leases.over(attempt)
            self._no_timeout(attempt)
            self._cancel(attempt)
            self._delivery.forget(attempt)
        self._bell.ring()

    def renewed(self, attempts: Sequence[Attempt], at: float) -> None:
        """A heartbeat that was sent at ``at`` renewed those."""
        self._leases.renewed(attempts, at)

    def ran_out(self, attempt: Attempt) -> None:
        """The lease of the attempt ran out while nobody here could see it."""
        if not self._session.is_running(attempt):
            _log.warning(
                "task %d of %s: the lease of attempt %d ran out before its report could go; the "
                "report is dropped",
                attempt.task,
                self._entries[attempt].token,
                attempt.number,
            )
            self._delivery.forget(attempt)
            return self.settled(attempt)
        return self.lost((attempt,))

    def entry(self, attempt: Attempt) -> Entry | None:
        """What the attempt belongs to; None when this run did not begin it, or it is over."""
        return self._entries.get(attempt)

    def settled(self, attempt: Attempt) -> None:
        """The attempt is over for this supervisor."""
        self._session.settled(attempt)
        self._timeouts.pop(attempt, None)
        self._leases.over(attempt)
        self._entries.pop(attempt, None)
        self._bell.ring()

    def cancel_all(self) -> None:
        """Cancel every routine that runs; a routine may still end with an outcome."""
        for held in self._session.held:
            self._cancel(held.attempt)

    def _timed_out(self, attempt: Attempt, seconds: float) -> None:
        performer = self._at_work.pop(attempt, None)
        if performer is None or not self._session.ended(self._clock(), attempt):
            return
        _log.warning(
            "task %d of %s: attempt %d ran for longer than its timeout of %g s; cancelling it",
            attempt.task,
            self._entries[attempt].token,
            attempt.number,
            seconds,
        )
        performer.cancel(attempt)
        self._report(attempt, job_outcome.timed_out(seconds, attempt.number))
        self._bell.ring()

    def _no_timeout(self, attempt: Attempt) -> None:
        timeout = self._timeouts.pop(attempt, None)
        if timeout is not None:
            timeout.cancel()

    def _cancel(self, attempt: Attempt) -> None:
        performer = self._at_work.get(attempt)
        if performer is not None:
            performer.cancel(attempt)

    def _report(self, attempt: Attempt, outcome: JsonObject) -> None:
        token = self._entries[attempt].token
        timers = idle_timers(outcome)
        if timers:
            _log.warning(
                "task %d of %s: the timers of %s have no effect: the move by %s cancels them",
                attempt.task,
                token,
                ", ".join(timers),
                told(outcome),
            )
        written = self._outbox.put(Draft(attempt, token, "report", outcome))
        written.add_done_callback(functools.partial(self._look, attempt))

    def _look(self, attempt: Attempt, written: Future[Message]) -> None:
        error = written.exception()
        if error is not None:
            # What cannot be kept cannot be reported safely: the end of its lease settles it.
            _log.error("task %d: its report is lost: %s", attempt.task, error)
            self._post(self.settled, attempt)
