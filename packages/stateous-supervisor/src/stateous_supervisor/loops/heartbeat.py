"""The heartbeat loop: renews leases from a thread of its own, over a connection of its own (8.6).

Nothing that the rest of the process does may keep a heartbeat back: not the claims and deliveries,
whose event loop it shares no more than their connections, and not the routines. It reads one thing
of the session, the attempts that are held, which is put in place whole; and it posts back which of
them were renewed, and which are lost.

**A beat has a deadline that nothing gets around.** Its call runs on a thread of its own, because
there are waits that no timeout of a connection covers: a look-up of the control plane's name blocks
for ten seconds and more when the name server is away. A call that is not back in time is left alone,
and the next beat has a new thread and a new connection. When the late call comes back after all,
what it brings counts, and its connection serves the next beat: so a name server that always needs
longer than the deadline costs the first beat only.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from stateous.limits import DEFAULT_LEASE, MAX_TASKS_PER_HEARTBEAT
from stateous_client import Client, ClientError
from stateous_supervisor.backoff import Backoff
from stateous_supervisor.loops.answers import refusal, unanswered
from stateous_supervisor.messages import Attempt
from stateous_supervisor.pace import Pace
from stateous_supervisor.session import Held
from stateous_supervisor.watch import LoopWatch

# How long the thread sleeps at most, so that a shorter lease is noticed and the loop is watched.
_LOOK: Final = 1.0
# Calls that are not back, above which no new one is begun: threads are not for ever.
_MOST_OUT: Final = 8

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

    def deadline(self, lease: float | None) -> float:
        """How long a beat may take before it counts as unanswered."""
        return min(self.interval(lease), self._pace.beat_timeout)

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


@dataclass(slots=True)
class _Beat:
    """One heartbeat for ``held``, sent at ``at``; ``back`` is set when its call has returned."""

    held: Sequence[Held]
    at: float
    back: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None


class HeartbeatLoop:
    """Renews what ``held`` gives, and tells what came of it.

    ``renewed`` gets attempts and when their renewal was sent, ``lost`` those that are not ours;
    both are called on threads of the loop. ``connect`` makes a client whose calls take at most so
    many seconds, as far as it can help; ``lease`` is the lease that was announced to others last.
    Of two that differ the shorter one counts.
    """

    def __init__(
        self,
        *,
        supervisor: str,
        url: str,
        connect: Callable[[float], Client],
        held: Callable[[], Sequence[Held]],
        renewed: Callable[[Sequence[Attempt], float], None],
        lost: Callable[[Sequence[Attempt]], None],
        lease: Callable[[], float | None],
        watch: LoopWatch,
        pace: Pace,
        clock: Callable[[], float],
    ) -> None:
        self._supervisor = supervisor
        self._url = url
        self._connect = connect
        self._held = held
        self._renewed = renewed
        self._lost = lost
        self._others_lease = lease
        self._watch = watch
        self._pace = pace
        self._clock = clock
        self._blocked: str | None = None
        self._announced: float | None = None
        # Clients whose calls have returned, with the deadline that each was made for.
        self._idle: list[tuple[float, Client]] = []
        self._out: list[_Beat] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeats", daemon=True)

    def start(self) -> None:
        """Begin; the first heartbeat comes an interval later."""
        self._thread.start()

    def close(self, timeout: float) -> None:
        """Beat no more. The loop is waited for at most ``timeout`` seconds, its calls are not."""
        self._stopped.set()
        for beat in tuple(self._out):
            beat.back.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        pulse = Pulse(self._clock(), self._pace)
        try:
            while not self._sleep(min(_LOOK, pulse.due_in(self._clock(), self._lease()))):
                self._look_at_loop()
                if pulse.due_in(self._clock(), self._lease()) == 0:
                    self._beat(pulse)
        finally:
            while self._idle:
                self._idle.pop()[1].close()

    def _lease(self) -> float | None:
        leases = [it for it in (self._others_lease(), self._announced) if it is not None]
        return min(leases, default=None)

    def _sleep(self, seconds: float) -> bool:
        """Whether the loop was stopped meanwhile."""
        before = self._clock()
        stopped = self._stopped.wait(seconds)
        gone = self._clock() - before
        if gone - seconds > (self._lease() or DEFAULT_LEASE) / 2:
            _log.warning(
                "this process stood still for %.0f s: what its routines say waits for a heartbeat",
                gone,
            )
        return stopped

    def _beat(self, pulse: Pulse) -> None:
        held = [it for it in self._held() if not (it.on_loop and self._blocked is not None)]
        beat = _Beat(held, self._clock())
        if not held:
            return pulse.beaten(beat.at)
        deadline = pulse.deadline(self._lease())
        self._out = [it for it in self._out if not it.back.is_set()]
        if len(self._out) < _MOST_OUT:
            self._out.append(beat)
            threading.Thread(
                target=self._call, args=(beat, deadline), name="heartbeat", daemon=True
            ).start()
        back = beat.back.wait(deadline)
        if self._stopped.is_set():
            return None
        silence = _silence(beat) if back else f"no answer within {deadline:g} seconds"
        if silence is not None:
            delay = pulse.unanswered(self._clock())
            _log.warning(
                "cannot reach the control plane at %s (%s); trying again in %gs",
                self._url,
                silence,
                delay,
            )
            return None
        if isinstance(beat.error, ClientError):
            _log.warning("the control plane refused a heartbeat: %s", refusal(beat.error).text)
        elif beat.error is not None:
            _log.error("a heartbeat failed", exc_info=beat.error)
        return pulse.beaten(beat.at)

    # On the thread of one beat

    def _call(self, beat: _Beat, deadline: float) -> None:
        client: Client | None = None
        try:
            client = self._client(deadline)
            for first in range(0, len(beat.held), MAX_TASKS_PER_HEARTBEAT):
                self._renew(client, beat, beat.held[first : first + MAX_TASKS_PER_HEARTBEAT])
            self._announced = client.lease
        except Exception as error:
            beat.error = error
        finally:
            if client is not None:
                self._idle.append((deadline, client))
                if self._stopped.is_set():
                    client.close()
            beat.back.set()

    def _client(self, deadline: float) -> Client:
        while True:
            try:
                made_for, client = self._idle.pop()
            except IndexError:
                return self._connect(deadline)
            if made_for == deadline:
                return client
            client.close()  # a client keeps its timeout for its life

    def _renew(self, client: Client, beat: _Beat, held: Sequence[Held]) -> None:
        lost = set(client.heartbeat(self._supervisor, [it.attempt.task for it in held]))
        self._renewed([it.attempt for it in held if it.attempt.task not in lost], beat.at)
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


def _silence(beat: _Beat) -> str | None:
    """Why nobody answered; None when somebody did, or something else went wrong."""
    if not isinstance(beat.error, ClientError):
        return None
    silence = unanswered(beat.error)
    return silence.reason if silence is not None else None
