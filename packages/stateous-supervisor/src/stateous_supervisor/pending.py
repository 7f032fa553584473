"""The messages on disk that wait for their answer, in order per task (pure)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from stateous_supervisor.messages import Attempt, Message


class Pending:
    """What is to be sent next.

    A task's messages go one after the other, also those of two attempts; tasks do not wait for one
    another. A task whose first message could not go when the supervisor stopped **stays**: all its
    messages wait for the next start, so that none overtakes an earlier one.
    """

    def __init__(self) -> None:
        self._queues: dict[int, deque[Message]] = {}
        self._staying: set[int] = set()

    def add(self, message: Message) -> bool:
        """Queue a message; whether it is the only one of its task, so that somebody must send it."""
        queue = self._queues.setdefault(message.task, deque())
        queue.append(message)
        return len(queue) == 1

    def head(self, task: int) -> Message | None:
        """The message of the task to send now; none when all are gone, or stay."""
        queue = self._queues.get(task)
        return queue[0] if queue and task not in self._staying else None

    def done(self, message: Message) -> None:
        """The message needs no more sending; nothing happens when it is gone already."""
        queue = self._queues.get(message.task)
        if queue is None:
            return
        if message in queue:
            queue.remove(message)
        if not queue:
            del self._queues[message.task]

    def replace(self, message: Message, by: Message) -> None:
        """Put ``by`` in the place of ``message``."""
        queue = self._queues[message.task]
        queue[queue.index(message)] = by

    def forget(self, attempt: Attempt) -> None:
        """Drop all messages of an attempt."""
        queue = self._queues.get(attempt.task)
        if queue is None:
            return
        kept = deque(message for message in queue if message.attempt != attempt)
        if kept:
            self._queues[attempt.task] = kept
        else:
            del self._queues[attempt.task]

    def stay(self, task: int) -> tuple[Message, ...]:
        """The task's messages wait for the next start: they are answered, in order."""
        self._staying.add(task)
        return tuple(self._queues.get(task, ()))

    def stays(self, task: int) -> bool:
        """Whether the task's messages wait for the next start."""
        return task in self._staying

    def tasks(self) -> tuple[int, ...]:
        """The tasks that have messages, those whose first message is oldest first."""
        return tuple(sorted(self._queues, key=lambda task: self._queues[task][0].id))

    def __iter__(self) -> Iterator[Message]:
        return iter(sorted((m for q in self._queues.values() for m in q), key=lambda m: m.id))

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))
