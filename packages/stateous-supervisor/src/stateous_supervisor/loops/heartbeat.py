"""The heartbeat loop: renews leases from a thread of its own, over a connection of its own (8.6).

Nothing that the rest of the process does may keep a heartbeat back: not the claims and deliveries,
whose event loop it shares no more than their connections, and not the routines. It reads one thing
of the session, the attempts that are held, which is put in place whole; and it posts one thing
back, which of them are lost. Each heartbeat has a deadline of one interval, so that a connection
that hangs costs one heartbeat of the four that a lease has.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from stateous.limits import MAX_TASKS_PER_HEARTBEAT
from stateous_client import Client, ClientError
from stateous_supervisor.backoff import Backoff
from stateous_supervisor.loops.answers import refusal, unanswered
from stateous_supervisor.messages import Attempt
from stateous_supervisor.pace import Pace
from stateous_supervisor.session import Held
from stateous_supervisor.watch import LoopWatch

# How long the thread sleeps at most, so that a shorter lease is noticed and the loop is watched.
_LOOK: Final = 1.0

_log: Final = logging.getLogger("stateous.supervisor")


class Pulse:
    """When the next heartbeat is due (pure); times are seconds of a clock that never goes back."""

    def __init__(self, now: float, pace: Pace) -> None:
        self._pace = pace
        self._last = now
        self._retry_at: float | None = None
        self._backoff = Backoff(pace.backoff)

    def interval(self, lease: float | None) -> float:
        """A quarter of the announced lease."""
        return lease / 4 if lease is not None else self._pace.heartbeat

    def due_in(self, now: float, lease: float | None) -> float:
        """The seconds until the next heartbeat; 0 when it is due."""
        due = self._retry_at if self._retry_at is not None else self._last + self.interval(lease)
        return max(0.0, due - now)

    def beaten(self, now: float) -> None:
        """A heartbeat was sent at ``now`` and answered, or there was nothing to renew."""
        self._last = now
        self._retry_at = None
        self._backoff.answered()

    def unanswered(self, now: float) -> float:
        """No answer came: the seconds until the next try."""
        delay = self._backoff.unanswered()
        self._retry_at = now + delay
        return delay


class HeartbeatLoop:
    """Renews what ``held`` gives, and tells ``lost`` (on its thread) which attempts are not ours.

    ``connect`` makes a client whose calls take at most so many seconds; ``lease`` is the lease
    that was announced to others last. Of two that differ the shorter one counts.
    """

    def __init__(
        self,
        *,
        supervisor: str,
        connect: Callable[[float], Client],
        held: Callable[[], Sequence[Held]],
        lost: Callable[[Sequence[Attempt]], None],
        lease: Callable[[], float | None],
        watch: LoopWatch,
        pace: Pace,
        clock: Callable[[], float],
    ) -> None:
        self._supervisor = supervisor
        self._connect = connect
        self._held = held
        self._lost = lost
        self._lease = lease
        self._watch = watch
        self._pace = pace
        self._clock = clock
        self._blocked: str | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeats", daemon=True)

    def start(self) -> None:
        """Begin; the first heartbeat comes an interval later."""
        self._thread.start()

    def close(self, timeout: float) -> None:
        """Beat no more. A heartbeat in flight is waited for at most ``timeout`` seconds."""
        self._stopped.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        pulse = Pulse(self._clock(), self._pace)
        lease = self._lease()
        while not self._stopped.is_set():
            # A client keeps its deadline for its life: another lease needs another client.
            with self._connect(min(pulse.interval(lease), self._pace.http_timeout)) as client:
                beating_for = lease
                while lease == beating_for:
                    if self._stopped.wait(min(_LOOK, pulse.due_in(self._clock(), lease))):
                        return
                    self._look_at_loop()
                    if pulse.due_in(self._clock(), lease) == 0:
                        self._beat(client, pulse)
                    lease = _shorter(self._lease(), client.lease)

    def _beat(self, client: Client, pulse: Pulse) -> None:
        now = self._clock()
        held = [it for it in self._held() if not (it.on_loop and self._blocked is not None)]
        try:
            for first in range(0, len(held), MAX_TASKS_PER_HEARTBEAT):
                self._renew(client, held[first : first + MAX_TASKS_PER_HEARTBEAT])
        except ClientError as error:
            silence = unanswered(error)
            if silence is not None:
                delay = pulse.unanswered(self._clock())
                _log.warning(
                    "cannot reach the control plane at %s (%s); trying again in %gs",
                    client.url,
                    silence.reason,
                    delay,
                )
                return
            _log.warning("the control plane refused a heartbeat: %s", refusal(error).text)
        except Exception:
            _log.exception("a heartbeat failed")
        pulse.beaten(now)

    def _renew(self, client: Client, held: Sequence[Held]) -> None:
        lost = set(client.heartbeat(self._supervisor, [it.attempt.task for it in held]))
        gone = [it.attempt for it in held if it.attempt.task in lost]
        if gone:
            self._lost(gone)

    def _look_at_loop(self) -> None:
        blocked = self._watch.look(self._clock())
        if blocked is not None and self._blocked is None:
            _log.warning(
                "the routine %s has blocked the event loop of the async routines for over %gs: "
                "their leases are not renewed until it lets go",
                blocked,
                self._pace.blocked,
            )
        self._blocked = blocked


def _shorter(one: float | None, other: float | None) -> float | None:
    leases = [lease for lease in (one, other) if lease is not None]
    return min(leases, default=None)
