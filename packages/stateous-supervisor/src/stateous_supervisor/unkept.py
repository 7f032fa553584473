"""An outbox without a disk, for who runs nothing but scripts (`docs/spec/statechart.md` 17).

What is in it is lost with the process, and then the scripts run again: the control plane has not heard
how they ended. Values that they emitted before stay taken, and are emitted again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import count
from pathlib import Path

from stateous_supervisor.errors import OutboxError
from stateous_supervisor.messages import Attempt, Draft, Message


class UnkeptOutbox:
    """Numbers messages, and passes them on to ``written`` at once, in the order of their numbers."""

    def __init__(self, *, written: Callable[[Sequence[Message]], None]) -> None:
        self._written = written
        self._ids = count(1)
        self._lock = threading.Lock()
        self._closed = False
        self.left: Sequence[Message] = ()
        self.path: Path | None = None

    def put(self, draft: Draft, *, keep: bool = True) -> Future[Message]:
        """Take a message in, and pass it on.

        Raises:
            OutboxError: the outbox is closed.
        """
        with self._lock:
            message = self._numbered(draft)
            self._written((message,))
        return _had(message)

    def replace(self, message: Message, draft: Draft) -> Future[Message]:
        """Take ``draft`` in; who replaces sends it.

        Raises:
            OutboxError: the outbox is closed.
        """
        with self._lock:
            return _had(self._numbered(draft))

    def remove(self, message: Message) -> None:
        """Nothing is kept, so nothing is removed."""

    def forget(self, attempt: Attempt) -> None:
        """Nothing is kept, so nothing is forgotten."""

    def hurry(self) -> None:
        """Nothing is waited for."""

    def close(self) -> None:
        """Take nothing more. May be called twice."""
        self._closed = True

    def _numbered(self, draft: Draft) -> Message:
        if self._closed:
            raise OutboxError("the outbox is closed: the supervisor has stopped")
        return Message(next(self._ids), draft.attempt, draft.token, draft.kind, draft.body)


def _had(message: Message) -> Future[Message]:
    done: Future[Message] = Future()
    done.set_result(message)
    return done
