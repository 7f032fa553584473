"""The disk of a simulated supervisor: what outlives its processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from stateous_supervisor.messages import Draft, Message


@dataclass
class Disk:
    """The outbox's file: rows by id, in order. It outlives its supervisor.

    While it is ``full``, it neither takes a row nor lets go of one.
    """

    rows: dict[int, Message] = field(default_factory=dict)
    full: bool = False
    _ids: Any = field(default_factory=lambda: count(1))

    def insert(self, draft: Draft) -> Message:
        message = Message(next(self._ids), draft.attempt, draft.token, draft.kind, draft.body)
        self.rows[message.id] = message
        return message
