"""The messages on disk that wait for their answer, in order per task (pure)."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

from stateous.json import write_json
from stateous.limits import MAX_BODY_BYTES
from stateous_supervisor.messages import Attempt, Message

# What one request carries of emitted values. One value may be as long as all of them, and the body of
# a request has twice this.
_MOST_BYTES: Final = MAX_BODY_BYTES
_MOST_VALUES: Final = 500


class Pending:
    """What is to be sent next.

    A task's messages go one after the other, also those of two attempts; tasks do not wait for one
    another. A task whose first message could not go when the supervisor stopped **stays**: all its
    messages wait for the next start, so that none overtakes an earlier one.
    """

    def __init__(self) -> None:
        self._queues: dict[int, deque[Message]] = {}
        self._staying: set[int] = set()

    def add(self, message: Message) -> None:
        """Queue a message behind those of its task."""
        self._queues.setdefault(message.task, deque()).append(message)

    def head(self, task: int) -> Message | None:
        """The message of the task to send now; none when all are gone, or stay."""
        queue = self._queues.get(task)
        return queue[0] if queue and task not in self._staying else None

    def with_followers(self, message: Message) -> tuple[Message, ...]:
        """The first message of a task, and those behind it that go in the same request.

        Emitted values of one attempt, numbered without a hole, go together; all else goes alone.
        """
        if message.kind != "emit":
            return (message,)
        together, size = [message], _size(message)
        for each in islice(self._queues[message.task], 1, _MOST_VALUES):
            size += _size(each)
            if not _follows(each, together[-1]) or size > _MOST_BYTES:
                break
            together.append(each)
        return tuple(together)

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

    def first(self) -> Message | None:
        """The oldest message that is the first of its task and does not stay."""
        heads = [queue[0] for task, queue in self._queues.items() if task not in self._staying]
        return min(heads, key=lambda message: message.id, default=None)


def _follows(message: Message, before: Message) -> bool:
    if message.kind != "emit" or message.attempt != before.attempt:
        return False
    return message.body.get("number") == _number(before) + 1


def _number(message: Message) -> int:
    number = message.body.get("number")
    return number if isinstance(number, int) else 0


def _size(message: Message) -> int:
    return len(write_json(message.body).encode())
