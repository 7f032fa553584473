"""What a supervisor tells the control plane about an attempt: notes, memory writes, the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from stateous.json import JsonObject

Kind: TypeAlias = Literal["report", "note", "memory"]


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

    ``body`` by kind: a note ``{"text"}``; a memory write ``{"key", "value"}``, null deletes; a
    report is the outcome without the supervisor's name (`docs/spec/wire.md` 1.5).
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
