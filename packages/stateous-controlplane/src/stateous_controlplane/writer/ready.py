"""The ready tasks by queue, oldest first, as far as they are known (`docs/spec/wire.md` 3.8).

Of each queue its oldest tasks are known up to a *horizon*: all on record that are not younger than
it. A queue that was loaded whole has none. What is queued is added as it comes; it is younger than
all that was there, or made ready again, and then it has its old place. So the head of a queue is its
oldest ready task as long as it does not lie behind the horizon; if it does, more is loaded first.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from stateous_controlplane.engine.rows import Task
from stateous_controlplane.store.port import Loaded, Queued

#: How many are loaded at least: the claims that follow find theirs.
_AHEAD: Final = 16
#: A queue with more known places than this is cut to half of it; its oldest stay.
_MOST: Final = 4096


@dataclass(slots=True)
class _Queue:
    """``places`` ascend; one that is not ``known`` any more is passed over."""

    places: deque[Queued] = field(default_factory=deque)
    known: set[Queued] = field(default_factory=set)
    #: All that is on record up to here is known; None: nothing is.
    horizon: Queued | None = None
    #: All that is on record is known.
    whole: bool = False
    #: How many were asked for last in this batch.
    asked: int = 0
    #: Somebody else has locks on some, which are passed over in this batch.
    passed_over: bool = False

    def add(self, place: Queued) -> None:
        if place in self.known:
            return
        self.known.add(place)
        if not self.places or self.places[-1] < place:
            self.places.append(place)
        else:
            insort(self.places, place)

    def load(self, found: Sequence[Queued], asked: int, tasks: Mapping[int, Task]) -> None:
        """``found`` are the oldest on record, so many as were ``asked`` for; or all there are.

        What stands before the new horizon without a row among ``tasks`` was not found: it is no
        place any more. What lies behind it is looked at when the horizon has come so far.
        """
        self.asked = asked
        self.whole = len(found) < asked
        self.horizon = found[-1] if found else None
        kept: list[Queued] = []
        while self.places and self.reaches(self.places[0]):
            place = self.places.popleft()
            if place in self.known and place.task in tasks:
                kept.append(place)
            else:
                self.known.discard(place)
        self.places.extendleft(reversed(kept))

    def reaches(self, place: Queued) -> bool:
        return self.whole or (self.horizon is not None and place <= self.horizon)

    def cut(self, most: int) -> None:
        self.places = deque(islice(self.places, most))
        self.known.intersection_update(self.places)
        last = self.places[-1]
        if self.reaches(last):
            self.horizon, self.whole = last, False


class ReadyTasks:
    """The queues that were looked at. ``tasks`` are the rows that are known.

    Rows are looked up when a task is picked, so that one that was taken or cancelled meanwhile is
    passed over.
    """

    def __init__(self, tasks: Mapping[int, Task]) -> None:
        self._tasks = tasks
        self._queues: dict[str, _Queue] = {}
        self._touched: set[str] = set()
        # Queues that something was added to, and that nobody has looked at.
        self._unseen: set[str] = set()

    # ── what is known ───────────────────────────────────────────────────

    def add_queued(self, tasks: Iterable[Task]) -> None:
        """What a command has queued, or made ready again."""
        for task in tasks:
            self._queue(task.queue).add(Queued(task.queued_at, task.id))

    def lacking(self, asked: Mapping[str, int]) -> dict[str, int]:
        """Of which queues the oldest are not known, so many as are ``asked`` for; what to load.

        A queue that was not looked at yet is, even if nobody claims from it: most are short, and
        known as a whole from then on.
        """
        short = {
            name: max(count, _AHEAD)
            for name, count in asked.items()
            if not self._has(self._queue(name), count)
        }
        for name in self._unseen:
            short[name] = max(short.get(name, 0), len(self._queue(name).known) + _AHEAD)
        return short

    def _has(self, queue: _Queue, count: int) -> bool:
        for place in queue.places:
            if place not in queue.known:
                continue
            if place.task not in self._tasks or not queue.reaches(place):
                return False
            count -= 1
            if not count:
                return True
        return queue.whole

    def add_loaded(self, asked: Mapping[str, int], loaded: Loaded) -> None:
        """The oldest of each queue that was asked for, as many as were asked for or there are.

        Their rows are known by now. A place whose row is not is none any more.
        """
        for name, count in asked.items():
            self._unseen.discard(name)
            queue = self._queue(name)
            found = loaded.queued.get(name, ())
            queue.load(found, count, self._tasks)
            queue.passed_over = name in loaded.passed_over
            for place in found:
                task = self._tasks.get(place.task)
                if task is not None and task.ready and task.queued_at == place.queued_at:
                    queue.add(place)

    # ── picking ─────────────────────────────────────────────────────────

    def pick(self, queues: Iterable[str]) -> tuple[int | None, dict[str, int]]:
        """The task that was queued first among all of ``queues``; and what to load first, if anything.

        A queue whose known tasks are used up may have more on record: how many of it to ask for now.
        A batch that takes more than was foreseen comes to that.
        """
        oldest: Queued | None = None
        short: dict[str, int] = {}
        for name in queues:
            queue = self._queue(name)
            head = self._head(queue)
            if head is None:
                enough = queue.whole
            else:
                enough = head.task in self._tasks and queue.reaches(head)
                if oldest is None or head < oldest:
                    oldest = head
            if not enough:
                short[name] = max(2 * queue.asked, _AHEAD)
        return None if oldest is None else oldest.task, short

    def _queue(self, name: str) -> _Queue:
        self._touched.add(name)
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = _Queue()
            self._unseen.add(name)
        return queue

    def _head(self, queue: _Queue) -> Queued | None:
        places, known = queue.places, queue.known
        while places:
            place = places[0]
            if place in known:
                task = self._tasks.get(place.task)
                if task is None or (task.ready and task.queued_at == place.queued_at):
                    return place
                # A pause and a resume make a task ready again that was passed over.
                known.discard(place)
            places.popleft()
        return None

    # ── from batch to batch ─────────────────────────────────────────────

    def forget(self, task: Task) -> None:
        """The row of a task that is not ready goes."""
        queue = self._queues.get(task.queue)
        if queue is not None:
            queue.known.discard(Queued(task.queued_at, task.id))

    def settle(self) -> None:
        """The batch is over: what it took is passed over while its rows are still known."""
        for name in self._touched:
            queue = self._queues[name]
            queue.asked = 0
            self._head(queue)
            if queue.passed_over:
                queue.passed_over, queue.whole, queue.horizon = False, False, None
            if len(queue.places) > _MOST:
                queue.cut(_MOST // 2)
        self._touched.clear()
