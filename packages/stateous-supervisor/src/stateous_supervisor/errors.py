"""What keeps a supervisor from starting: one sentence each."""

from __future__ import annotations

from stateous.errors import StateousError


class SupervisorError(StateousError):
    """An expected failure at the start. Its text is the sentence after ``error: ``; exit code 1."""


class OutboxError(SupervisorError):
    """The outbox cannot be opened, or a message cannot be written to it."""
