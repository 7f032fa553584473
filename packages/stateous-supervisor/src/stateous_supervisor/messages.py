"""What a supervisor tells the control plane about an attempt, and what any outbox does with it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from stateous.json import JsonObject

Kind: TypeAlias = Literal["report", "note", "memory", "emit"]


@dataclass(frozen=True, slots=True, order=True)
class Attempt:
    """One attempt at a task. Two attempts at a task may overlap, so the task alone names neither.

    ``number`` counts the attempts of the task from 1, as the grant has it.
    """

    task: int
    number: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that is not on disk yet.

    ``body`` by kind: a note ``{"text"}``; a memory write ``{"key", "value"}``, null deletes; an
    emitted value ``{"number", "event", "data"}``, numbered within the attempt from 1; a report is
    the outcome without the supervisor's name (`docs/spec/wire.md` 1.5).
    """

    attempt: Attempt
    token: str
    kind: Kind
    body: JsonObject


@dataclass(frozen=True, slots=True)
class Message:
    """A message on disk. ``id`` is its row in the outbox: later messages have greater ones."""

    id: int
    attempt: Attempt
    token: str
    kind: Kind
    body: JsonObject

    @property
    def task(self) -> int:
        """The task that it is about; the messages of a task are sent in order."""
        return self.attempt.task


class Outgoing(Protocol):
    """An outbox: it has each message until it is answered. Called from any thread."""

    @property
    def left(self) -> Sequence[Message]:
        """The messages of an earlier run, in order."""

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""

    def put(self, draft: Draft, *, keep: bool = True) -> Future[Message]:
        """Take a message in; the future has it once it is safe, or the error that kept it out.

        Raises:
            OutboxError: the outbox is closed.
        """

    def replace(self, message: Message, draft: Draft) -> Future[Message]:
        """Take ``draft`` in for ``message``, both or neither.

        Raises:
            OutboxError: the outbox is closed.
        """

    def remove(self, message: Message) -> None:
        """The message is answered."""

    def forget(self, attempt: Attempt) -> None:
        """The attempt is lost: its messages go."""

    def hurry(self) -> None:
        """The supervisor stops: nothing is waited for any more."""

    def close(self) -> None:
        """Take nothing more. May be called twice."""
