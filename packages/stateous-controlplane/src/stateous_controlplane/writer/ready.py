"""The ready tasks that a batch knows of, by queue, oldest first (`docs/spec/wire.md` 3.8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from typing import NamedTuple

from stateous_controlplane.engine.rows import Task


class _Place(NamedTuple):
    queued_at: datetime
    task: int


@dataclass(slots=True)
class _Queue:
    """``asked``: how many of its oldest were loaded at most, ``loaded``: how many there were."""

    places: list[_Place] = field(default_factory=list)
    known: set[_Place] = field(default_factory=set)
    asked: int = 0
    loaded: int = 0
    last_loaded: _Place | None = None

    def add(self, place: _Place) -> None:
        if place not in self.known:
            self.known.add(place)
            heappush(self.places, place)


class ReadyTasks:
    """A look at the queues: the oldest that were loaded, and what the batch itself has queued.

    Rows are looked up when a task is picked, so that one that was taken or cancelled meanwhile is
    passed over.
    """

    def __init__(self, tasks: Mapping[int, Task]) -> None:
        self._tasks = tasks
        self._queues: dict[str, _Queue] = {}

    def add_queued(self, tasks: Iterable[Task]) -> None:
        """What the batch has queued: younger than all that is on record."""
        for task in tasks:
            if task.ready:
                self._queue(task.queue).add(_Place(task.queued_at, task.id))

    def add_loaded(self, tasks: Iterable[Task], asked: Mapping[str, int]) -> None:
        """The oldest of each queue that was asked for, as many as were asked for or there are."""
        for name, count in asked.items():
            queue = self._queue(name)
            queue.asked, queue.loaded = count, 0
        for task in tasks:
            if task.ready and task.queue in asked:
                queue = self._queue(task.queue)
                place = _Place(task.queued_at, task.id)
                queue.add(place)
                queue.loaded += 1
                queue.last_loaded = max(place, queue.last_loaded or place)

    def oldest(self, queues: Iterable[str]) -> int | None:
        """The task that was queued first among all of ``queues``."""
        heads = [head for name in queues if (head := self._head(self._queue(name))) is not None]
        return min(heads).task if heads else None

    def run_short(self, queues: Iterable[str]) -> dict[str, int]:
        """The queues whose loaded tasks are used up and that may have more on record.

        With how many to ask for now. A batch that takes more than was foreseen comes here.
        """
        return {
            name: 2 * queue.asked
            for name, queue in ((name, self._queue(name)) for name in queues)
            if queue.last_loaded is not None
            and queue.loaded >= queue.asked
            and ((head := self._head(queue)) is None or head > queue.last_loaded)
        }

    def _queue(self, name: str) -> _Queue:
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = _Queue()
        return queue

    def _head(self, queue: _Queue) -> _Place | None:
        while queue.places:
            place = queue.places[0]
            task = self._tasks[place.task]
            if task.ready and task.queued_at == place.queued_at:
                return place
            # A pause and a resume in one batch make a task ready again that was passed over.
            queue.known.discard(heappop(queue.places))
        return None
