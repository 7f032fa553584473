"""The ready tasks that a batch knows of, by queue, oldest first (`docs/spec/wire.md` 3.8)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime

from stateous_controlplane.engine.rows import Task


class ReadyTasks:
    """A look at the queues: what was loaded, and what the batch itself has queued since.

    Rows are looked up when a task is picked, so that one that was taken or cancelled meanwhile is
    passed over. What the batch queues is younger than all that was loaded, and goes to the end.
    """

    def __init__(self, tasks: Mapping[int, Task]) -> None:
        self._tasks = tasks
        self._queues: dict[str, deque[tuple[datetime, int]]] = {}

    def add(self, tasks: Iterable[Task]) -> None:
        """Take in ready tasks; others are ignored."""
        for task in sorted(tasks, key=lambda each: (each.queued_at, each.id)):
            if task.ready:
                self._queues.setdefault(task.queue, deque()).append((task.queued_at, task.id))

    def oldest(self, queues: Iterable[str]) -> int | None:
        """The task that was queued first among all of ``queues``."""
        heads = [head for queue in queues if (head := self._head(queue)) is not None]
        return min(heads)[1] if heads else None

    def _head(self, queue: str) -> tuple[datetime, int] | None:
        waiting = self._queues.get(queue)
        while waiting:
            queued_at, task_id = waiting[0]
            task = self._tasks[task_id]
            if task.ready and task.queued_at == queued_at:
                return waiting[0]
            waiting.popleft()
        return None
