"""What a supervisor knows and does next: places, attempts, claims, stopping (pure).

The laws:

* **Driven, never driving.** The loops tell it what happened and when, and ask it what to do. It
  has no clock, no I/O, no threads; times are seconds of any clock that does not go back.
* **One thread calls it.** The heartbeat thread reads :attr:`Session.held` only, which is a tuple
  that is put in place whole.
* **An attempt is held from its grant until its report is answered**, and is renewed as long. It
  occupies a place only while its routine runs.
* **Whoever is lost is forgotten.** What an attempt that is not held does, ends or says counts for
  nothing; so nothing has to be taken back from a thread that cannot be stopped.
* **What cannot be written is not begun.** While the outbox refuses what attempts say, nothing is
  claimed, so that other supervisors do the work. What is held stays so, and is renewed.
* **A claim's request id changes with an answer only.** As long as none came the control plane may
  have granted something to that id, and gives the same again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from stateous.limits import MAX_GRANTS_PER_CLAIM
from stateous_supervisor.backoff import Backoff
from stateous_supervisor.messages import Attempt
from stateous_supervisor.pace import Pace


class Phase(Enum):
    """How far the supervisor is from its end: a signal leads from each to the next."""

    WORKING = "working"
    #: No new claims; what runs is finished, and its messages get one try each.
    DRAINING = "draining"
    #: What runs is cancelled.
    ABORTING = "aborting"


_NEXT_PHASE: Final = {
    Phase.WORKING: Phase.DRAINING,
    Phase.DRAINING: Phase.ABORTING,
    Phase.ABORTING: Phase.ABORTING,
}


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a claim. ``most`` is how many tasks it may bring; None asks for one, the plain way."""

    request: str
    most: int | None


@dataclass(frozen=True, slots=True)
class Recall:
    """Ask what an unanswered claim was granted, and for nothing else."""

    request: str


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to claim now: look again after so many seconds, or (None) when something changes."""

    seconds: float | None


@dataclass(frozen=True, slots=True)
class Over:
    """No more claims."""


ClaimStep: TypeAlias = Ask | Recall | Rest | Over


@dataclass(frozen=True, slots=True)
class Held:
    """An attempt whose lease is to be renewed. ``on_loop``: an `async def` routine runs it."""

    attempt: Attempt
    on_loop: bool


class Session:
    """The state of one supervisor between its start and its end.

    ``places`` is how many routines may run at once; ``fresh_request`` makes a request id.
    """

    def __init__(
        self, places: int, *, fresh_request: Callable[[], str], pace: Pace | None = None
    ) -> None:
        self._places = places
        self._fresh = fresh_request
        self._pace = pace if pace is not None else Pace()
        self._work: dict[Attempt, Held] = {}
        self._running: set[Attempt] = set()
        self._request = fresh_request()
        self._asked_at: float | None = None
        self._unanswered = False
        self._recalled = False
        self._backoff = Backoff(self._pace.backoff)
        self._not_before = 0.0
        self._rest_ends_early = False
        self._muted = False
        self.phase = Phase.WORKING
        #: What heartbeats renew. Replaced whole, so that another thread may read it.
        self.held: tuple[Held, ...] = ()

    # Claims

    def next_claim(self, now: float) -> ClaimStep:
        """What the claim loop does now. An `Ask` or a `Recall` counts as sent at ``now``."""
        if self.phase is Phase.ABORTING:
            return Over()
        if self.phase is Phase.DRAINING:
            if self._unanswered and not self._recalled:
                self._recalled = True
                return Recall(self._request)
            return Over()
        if self._muted and not self._unanswered:
            return Rest(None)
        if self._muted:
            # What a claim that was cut may have been granted would be lost to its lease.
            return Rest(self._not_before - now) if now < self._not_before else Recall(self._request)
        free = self._places - self.running
        if free <= 0:
            return Rest(None)
        if now < self._not_before:
            return Rest(self._not_before - now)
        self._asked_at = now
        self._unanswered = True
        return Ask(self._request, min(free, MAX_GRANTS_PER_CLAIM) if free > 1 else None)

    def claim_answered(self, now: float, granted: Sequence[Held]) -> list[Attempt]:
        """The claim brought these; the answer is which of them are new, and are to be run."""
        new = []
        for held in granted:
            if held.attempt not in self._work:
                self._work[held.attempt] = held
                self._running.add(held.attempt)
                new.append(held.attempt)
        quick = self._asked_at is not None and now - self._asked_at <= self._pace.claim_pause
        self._answered(now + self._pace.claim_pause if quick and not granted else now)
        self._rest_ends_early = not granted
        self._publish()
        return new

    def claim_refused(self, now: float) -> None:
        """The control plane refused the claim: the next one comes a pause later."""
        self._answered(now + self._pace.claim_pause)

    def claim_unreadable(self, now: float) -> None:
        """An answer came that nobody can read: the same request again, a pause later.

        It may have granted something; a new request would leave that to its lease.
        """
        self._not_before = now + self._pace.claim_pause
        self._rest_ends_early = False

    def claim_unanswered(self, now: float) -> float:
        """No answer came: the seconds until the same request is tried again."""
        delay = self._backoff.unanswered()
        self._not_before = now + delay
        self._rest_ends_early = False
        return delay

    def outbox_refuses(self) -> None:
        """What attempts say cannot be written: no new tasks."""
        self._muted = True

    def outbox_takes(self) -> None:
        """What attempts say is written again."""
        self._muted = False

    def _answered(self, not_before: float) -> None:
        self._request = self._fresh()
        self._unanswered = False
        self._backoff.answered()
        self._not_before = not_before
        self._rest_ends_early = False

    # Attempts

    @property
    def running(self) -> int:
        """How many routines run, lost ones not counted."""
        return len(self._running)

    def holds(self, attempt: Attempt) -> bool:
        """Whether what the attempt says and does still counts."""
        return attempt in self._work

    def is_running(self, attempt: Attempt) -> bool:
        """Whether the attempt is held and its routine has not ended."""
        return attempt in self._running

    def ended(self, now: float, attempt: Attempt) -> bool:
        """The routine ended: whether its outcome is to be reported."""
        if attempt not in self._work:
            return False
        self._running.discard(attempt)
        if self._rest_ends_early:
            self._not_before = min(self._not_before, now)
        return True

    def settled(self, attempt: Attempt) -> None:
        """The attempt's report is answered, or there will be none: it is held no longer."""
        if self._work.pop(attempt, None) is not None:
            self._running.discard(attempt)
            self._publish()

    def lost(self, now: float, attempts: Iterable[Attempt]) -> list[Attempt]:
        """A heartbeat brought these back as lost: which of them still ran, and are now forgotten.

        One whose routine has ended is left to the answer to its report, which says more.
        """
        gone = []
        for attempt in attempts:
            if attempt in self._running:
                self.ended(now, attempt)
                del self._work[attempt]
                gone.append(attempt)
        if gone:
            self._publish()
        return gone

    def stop(self) -> Phase:
        """A signal came: the phase that begins."""
        self.phase = _NEXT_PHASE[self.phase]
        return self.phase

    def _publish(self) -> None:
        self.held = tuple(self._work.values())
