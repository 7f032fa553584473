"""Simulated time: one queue of happenings, one source of chance, hosts, and processes on them.

Nothing here knows what it simulates. A happening is a call at a time; two at one time come in the
order in which they were asked for. All chance comes from one seeded generator, so a seed and the
code make a run, down to the last word of its trace.

A *process* is a generator that yields what it waits for, in the words of the client's courses:
`Sleep`, `Send`, and :class:`Until` a bell is rung. It lives on a :class:`Host`. A host has clocks of
its own; it can be *frozen* (SIGSTOP, a suspended laptop: nothing of it happens until it wakes) and
it can *crash* (SIGKILL, the power: its processes are gone, what it has on disk stays).
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeAlias

from stateous_client.protocol.courses import Send, Sleep
from stateous_client.protocol.exchange import Reply, Request

#: The shortest time that passes.
_MOMENT = 1e-6
EPOCH = datetime(2027, 3, 1, 12, tzinfo=UTC)


class Crashed(BaseException):
    """The host goes down at this very point. No `except Exception` of the product may catch it."""


class Timeline:
    """The queue of happenings, the time now (in seconds from 0), and the trace of what happened."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.trace: list[str] = []
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def at(self, time: float, act: Callable[[], None]) -> None:
        """Let ``act`` happen at this time, which has not passed."""
        heapq.heappush(self._queue, (max(time, self.now), next(self._order), act))

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Let ``act`` happen in so many seconds; no wait is so short that no time passes."""
        self.at(self.now + (max(seconds, _MOMENT) if seconds else 0.0), act)

    def tell(self, who: str, what: str) -> None:
        """Put a line into the trace."""
        self.trace.append(f"{self.now:10.4f}  {who:<8}  {what}")

    def run_until(self, end: float, reached: Callable[[], bool] = lambda: False) -> None:
        """Let happen what happens before ``end``, or until ``reached``; may be called inside one."""
        while self._queue and self._queue[0][0] <= end and not reached():
            self.now, _, act = heapq.heappop(self._queue)
            act()
        if not reached():
            self.now = max(self.now, end)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability


class Bell:
    """Rung when something changed; every process that waits for it goes on."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []

    def ring(self) -> None:
        """Wake all who wait now."""
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()

    def heard_by(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` at the next ring."""
        self._waiting.append(wake)


@dataclass(frozen=True, slots=True)
class Until:
    """Wait for the next ring of a bell, or so many seconds; None: only for the ring."""

    bell: Bell
    seconds: float | None


Steps: TypeAlias = Generator[Any, Any, Any]
Port: TypeAlias = Callable[[Request[Any], Callable[[Reply], None]], None]


@dataclass(eq=False)
class Host:
    """A computer: its clocks, its processes, and whether it is up.

    ``skew`` is by how many seconds its wall clock is wrong. The monotonic clock is never wrong; it
    begins anew with each boot. ``crashed`` is what else ends with its processes.
    """

    timeline: Timeline
    name: str
    port: Port | None = None
    skew: float = 0.0
    frozen_until: float = 0.0
    up: bool = False
    crashed: Callable[[], None] = lambda: None
    _booted: float = 0.0
    _processes: list[_Process] = field(default_factory=list)

    def now(self) -> datetime:
        """The wall clock."""
        return EPOCH + timedelta(seconds=round(self.timeline.now + self.skew, 6))

    def monotonic(self) -> float:
        """Seconds since the boot."""
        return self.timeline.now - self._booted

    @property
    def frozen(self) -> bool:
        """Whether nothing happens on it now."""
        return self.frozen_until > self.timeline.now

    def boot(self) -> None:
        """The host comes up."""
        self.up = True
        self._booted = self.timeline.now
        self.frozen_until = 0.0

    def crash(self) -> None:
        """Everything that is not on disk is gone."""
        if not self.up:
            return
        self.up = False
        self.timeline.tell(self.name, "is down")
        processes, self._processes = self._processes, []
        for process in processes:
            process.kill()
        self.crashed()

    def guarded(self, act: Callable[[], None]) -> None:
        """Do something on this host; a crash in it is the host's, and goes no further."""
        try:
            act()
        except Crashed:
            self.crash()

    def run(self, steps: Steps) -> _Process:
        """Begin a process. The caller is never part of it: its first step is a happening too."""
        process = _Process(self, steps)
        self._processes.append(process)
        self.timeline.after(0.0, lambda: process.go_on(None))
        return process

    def forget(self, process: _Process) -> None:
        """The process has ended."""
        if process in self._processes:
            self._processes.remove(process)


class _Process:
    """A generator that is going on. A process that ends with an error fails the simulation."""

    def __init__(self, host: Host, steps: Steps) -> None:
        self._host = host
        self._steps = steps
        self._over = False
        self._stepping = False
        self._waits = 0

    def kill(self) -> None:
        """It does not go on. One that is killed by its own step is closed when that is done."""
        self._over = True
        if not self._stepping:
            self._steps.close()

    def go_on(self, value: Any) -> None:
        """Send ``value`` in, and see to what it waits for next."""
        if self._over:
            return
        timeline = self._host.timeline
        if self._host.frozen:
            timeline.at(self._host.frozen_until, lambda: self.go_on(value))
            return
        self._host.guarded(lambda: self._step(value))

    def _step(self, value: Any) -> None:
        self._stepping = True
        try:
            step = self._steps.send(value)
        except StopIteration:
            self._over = True
            self._host.forget(self)
            return
        finally:
            self._stepping = False
        if self._over:
            self._steps.close()
            return
        self._waits += 1
        match step:
            case Sleep(seconds):
                self._host.timeline.after(seconds, self._waker())
            case Until(bell, seconds):
                wake = self._waker()
                # Who rings must not be run over by those who hear it.
                bell.heard_by(lambda: self._host.timeline.after(0.0, wake))
                if seconds is not None:
                    self._host.timeline.after(seconds, wake)
            case Send(request):
                assert self._host.port is not None
                self._host.port(request, self._waker())
            case _:
                raise AssertionError(f"a process waits for {step!r}")

    def _waker(self) -> Callable[..., None]:
        """What lets the process go on, once, as long as it waits for this and nothing later."""
        this = self._waits

        def wake(value: Any = None) -> None:
            if this == self._waits:
                self._waits += 1
                self.go_on(value)

        return wake
