"""Time in a scenario: it stands still, and a step of the scenario moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_LOOK: Final = timedelta(microseconds=1)
_MOVE: Final = timedelta(milliseconds=1)


class VirtualClock:
    """The clocks of a control plane: a scenario's instant, and a little more.

    The engine gives each command a time of its own, some microseconds behind the one before. So the
    wall clock is the scenario's instant and what it has gone on since the beginning: it grows with
    each look and each move, and never comes near a second. What was set for an hour is then due once
    the instant is an hour later, whatever has happened meanwhile.
    """

    def __init__(self, instant: datetime) -> None:
        self.instant = whole_seconds(instant)
        self._gone = timedelta()
        self._monotonic = 0.0

    def now(self) -> datetime:
        """The wall clock."""
        self._gone += _LOOK
        assert self._gone < timedelta(seconds=1), "too much has happened for one scenario"
        return self.instant + self._gone

    def monotonic(self) -> float:
        """What the control plane counts its own waits by."""
        return self._monotonic

    def wait(self, seconds: float) -> None:
        """Let so much of the control plane's own waits be over; the instant stays."""
        self._monotonic += seconds

    def move_to(self, instant: datetime) -> None:
        """Go to a later instant."""
        assert instant >= self.instant, f"{instant} is before {self.instant}"
        self.instant = instant
        self._gone += _MOVE


def whole_seconds(moment: datetime) -> datetime:
    """The second that a moment is in, in UTC: that is how exact timers are."""
    return moment.astimezone(UTC).replace(microsecond=0)
