"""The clock of a rehearsal: it stands still until the test moves it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

_MOMENT: Final = timedelta(microseconds=1)


class FakeClock:
    """Wall clock and monotonic clock of a rehearsal.

    Each look at the wall clock takes a microsecond. The engine gives every command a time of its
    own; as the clock keeps up with these, what was set for six hours is due when six hours have
    passed, and not a few microseconds later.
    """

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._wall = start
        self._waited = 0.0

    def now(self) -> datetime:
        """The wall clock, a moment later than at the last look."""
        self._wall += _MOMENT
        return self._wall

    def monotonic(self) -> float:
        """What the control plane counts by: the seconds that passed, and those of :meth:`wait`."""
        return self.elapsed + self._waited

    @property
    def moment(self) -> datetime:
        """The wall clock, looked at without moving it."""
        return self._wall

    @property
    def elapsed(self) -> float:
        """The seconds since the rehearsal began."""
        return (self._wall - self._start).total_seconds()

    def move_to(self, moment: datetime) -> None:
        """Let time pass until ``moment``, unless that has passed."""
        self._wall = max(self._wall, moment)

    def wait(self, seconds: float) -> None:
        """Let so much of the control plane's own waiting be over, without any time passing."""
        self._waited += seconds
