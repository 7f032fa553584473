"""Where the event loop hands requests in, and the thread that the sequencer runs on.

The event loop's thread parses and routes; the writer's thread decides and commits. What the loop
parses is handed over together, and the writer woken once, when a turn of the loop has brought nothing
more: callers whose answers went out together ask again together, and would else be the next batch one
by one, each for a commit of its own. Nobody waits for a time to pass: a turn that finds nothing takes
microseconds. A batch's answers come back to the loop in one call.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from functools import partial

from stateous_controlplane.answers import Answer, unexpected
from stateous_controlplane.engine.commands import Claim
from stateous_controlplane.store.port import Store
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.requests import Asked
from stateous_controlplane.writer.sequencer import MAX_BATCH, NOT_SERVING, Sequencer, Terms
from stateous_controlplane.writer.submission import Submission

_log = logging.getLogger("stateous.serve")


class Broken(Enum):
    """Why the writer ended although nobody asked it to."""

    HOLD_LOST = "another control plane took the database"
    DEFECT = "a defect"


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


class _Bell:
    """Wakes the thread that waits. It is heard, too, when it rang before. One thread may ring it."""

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    def ring(self) -> None:
        """Let the next or present wait end."""
        if self._silent.locked():
            self._silent.release()

    def wait(self, seconds: float | None) -> None:
        """Until it rings, at most for so long."""
        self._silent.acquire(timeout=-1 if seconds is None else seconds)


class _Follower:
    def __init__(self, desk: WriterDesk) -> None:
        self._desk = desk
        self.event = asyncio.Event()

    async def changed(self) -> None:
        if not self.over:
            await self.event.wait()
            self.event.clear()

    @property
    def over(self) -> bool:
        return self._desk.stopping


class WriterDesk:
    """The writer as the event loop sees it. Make, use and stop it on the loop's thread."""

    def __init__(
        self, store: Store, catalog: Catalog, terms: Terms, on_broken: Callable[[Broken], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_broken = on_broken
        self._waiting: dict[Submission, Callable[[Answer], None]] = {}
        self._followers: dict[str, set[_Follower]] = {}
        self._bell = _Bell()
        # What was asked, and not handed over yet.
        self._asked: list[Submission] = []
        self._waits_over = False
        self._end_asked = False
        self._clock = SystemClock()
        self._sequencer = Sequencer(
            store, catalog, terms, self._clock, self._deliver, self._lose_hold
        )
        self.stopping = False
        self._broken = False
        self._thread = threading.Thread(target=self._work, name="stateous-writer", daemon=True)
        self._thread.start()

    # ── on the loop's thread ────────────────────────────────────────────

    @property
    def serving(self) -> bool:
        """Whether the hold is ours, as far as the control plane knows."""
        return not (self._sequencer.lost or self._broken)

    async def ask(self, request: Asked) -> Answer:
        """The answer, once it is durable; cancelling withdraws a claim that waits."""
        future: asyncio.Future[Answer] = self._loop.create_future()
        submission = self.hand_in(request, partial(_settle, future))
        try:
            return await future
        except asyncio.CancelledError:
            if submission is not None:
                self.withdraw(submission)
            raise

    def hand_in(self, request: Asked, answered: Callable[[Answer], None]) -> Submission | None:
        """Have ``answered`` called once with the answer, when it is durable.

        Returns what :meth:`withdraw` takes; None when it was called at once, with a refusal.
        """
        if self._broken:
            answered(unexpected())
            return None
        if self._sequencer.lost or self._end_asked:
            answered(NOT_SERVING)
            return None
        if isinstance(request, Claim) and self.stopping:
            request = replace(request, wait=0)
        submission = Submission(request)
        if isinstance(request, Claim) and request.wait:
            submission.deadline = self._clock.monotonic() + request.wait
        self._waiting[submission] = answered
        if not self._asked:
            self._loop.call_soon(self._collect, 0)
        self._asked.append(submission)
        return submission

    def withdraw(self, submission: Submission) -> None:
        """Nobody waits for its answer any more; a claim that waits gets nothing."""
        submission.withdrawn = True
        self._waiting.pop(submission, None)

    def _collect(self, before: int) -> None:
        """Hand over, unless this turn of the loop has brought more than ``before`` it was there."""
        asked = len(self._asked)
        if before < asked < MAX_BATCH:
            self._loop.call_soon(self._collect, asked)
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        asked, self._asked = self._asked, []
        for submission in asked:
            self._sequencer.submit(submission)
        self._bell.ring()

    @contextmanager
    def follow(self, token: str) -> Iterator[_Follower]:
        """Follow the commits that change ``token``."""
        follower = _Follower(self)
        followers = self._followers.setdefault(token, set())
        followers.add(follower)
        try:
            yield follower
        finally:
            followers.discard(follower)
            if not followers and self._followers.get(token) is followers:
                del self._followers[token]

    def end_waits(self) -> None:
        """The control plane stops: whatever waits is answered as if its time were over."""
        self.stopping = True
        for followers in self._followers.values():
            for follower in followers:
                follower.event.set()
        self._waits_over = True
        self._bell.ring()

    async def end(self) -> None:
        """End the writer's thread, once everything that was handed in is answered."""
        self._hand_over()
        self._end_asked = True
        self._bell.ring()
        await asyncio.to_thread(self._thread.join)

    def _answer(self, answers: list[tuple[Submission, Answer]], tokens: set[str]) -> None:
        for submission, answer in answers:
            answered = self._waiting.pop(submission, None)
            if answered is not None:
                answered(answer)
        if self._followers:
            for token in tokens:
                for follower in self._followers.get(token, ()):
                    follower.event.set()

    def _break(self) -> None:
        # The writer's thread is gone: nobody else answers those who wait.
        self._broken = True
        waiting, self._waiting = self._waiting, {}
        for answered in waiting.values():
            answered(unexpected())
        self._on_broken(Broken.DEFECT)

    # ── on the writer's thread ──────────────────────────────────────────

    def _deliver(self, answers: list[tuple[Submission, Answer]], tokens: set[str]) -> None:
        self._loop.call_soon_threadsafe(self._answer, answers, tokens)

    def _lose_hold(self) -> None:
        self._loop.call_soon_threadsafe(self._on_broken, Broken.HOLD_LOST)

    def _work(self) -> None:
        try:
            while not self._end_asked:
                self._sleep()
                if self._waits_over:
                    self._waits_over = False
                    self._sequencer.end_waits()
                self._sequencer.step()
            self._sequencer.end()
        except Exception:
            _log.exception("the writer met a defect, and this control plane stops")
            self._loop.call_soon_threadsafe(self._break)

    def _sleep(self) -> None:
        """Until there is something to do."""
        while not (self._sequencer.busy or self._waits_over or self._end_asked):
            wake_at = self._sequencer.wake_at()
            left = None if wake_at is None else wake_at - self._clock.monotonic()
            if left is not None and left <= 0:
                return
            self._bell.wait(left)


def _settle(future: asyncio.Future[Answer], answer: Answer) -> None:
    if not future.done():
        future.set_result(answer)
