"""Where a routine's notes, memory writes and emitted values go, while it runs.

The supervisor's sink commits each message to its outbox and sends it from there, in order. In a
``def`` routine a call returns when the message is on disk, and raises when it could not be
written: the routine then knows that nothing was kept.
"""

from __future__ import annotations

from typing import Protocol

from stateous.json import Json


class Sink(Protocol):
    """Takes what a routine says at once, before it reports (`docs/spec/authoring.md` 8.4)."""

    def note(self, text: str) -> None:
        """Take a note: trimmed, 1 to 500 characters."""

    def memory(self, key: str, value: Json) -> None:
        """Take a write to the memory of this token and state; None deletes ``key``."""


class JobSink(Sink, Protocol):
    """Takes what the routine of a job says at once (`docs/spec/statechart.md` 10.3)."""

    def emit(self, event: str, value: Json) -> None:
        """Take a value. The values of an attempt are taken in the order of the calls."""
