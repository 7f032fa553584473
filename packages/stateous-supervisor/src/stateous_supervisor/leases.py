"""Until when the lease of each held attempt lasts for sure (pure).

A supervisor that was suspended, or whose host was, cannot know what the control plane did meanwhile.
What it can know is when it asked for the last renewal that was answered: the lease lasts that long
at least, and from then on it is **in doubt**. What an attempt says while its lease is in doubt is
not sent before a heartbeat has told that the attempt is still ours.

Times are seconds of a clock that goes on while the host sleeps (:mod:`stateous_supervisor.clock`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from stateous.limits import DEFAULT_LEASE
from stateous_supervisor.messages import Attempt

_DEFAULT: Final = float(DEFAULT_LEASE)


class Leases:
    """The leases of one supervisor. ``announced`` is the length that the control plane announced.

    Without an announcement a lease is as long as `docs/spec/wire.md` 3.8 has it, two minutes.
    """

    def __init__(self, announced: Callable[[], float | None]) -> None:
        self._announced = announced
        self._begun: dict[Attempt, float] = {}

    def granted(self, attempt: Attempt, at: float) -> None:
        """The attempt was granted at ``at``, or later."""
        self._begun[attempt] = at

    def renewed(self, attempts: Iterable[Attempt], at: float) -> None:
        """A heartbeat that was sent at ``at`` renewed those; one that is over is passed by."""
        for attempt in attempts:
            begun = self._begun.get(attempt)
            if begun is not None:
                self._begun[attempt] = max(begun, at)

    def over(self, attempt: Attempt) -> None:
        """The attempt is held no longer."""
        self._begun.pop(attempt, None)

    def in_doubt(self, attempt: Attempt, now: float) -> bool:
        """Whether the lease may have run out; never for an attempt of an earlier run."""
        begun = self._begun.get(attempt)
        if begun is None:
            return False
        return now - begun > (self._announced() or _DEFAULT)
