"""How long to wait between the tries of a call that gets no answer: 1, 2, 4, 8, 16, then 30 s."""

from __future__ import annotations

from collections.abc import Sequence


class Backoff:
    """The waits of one call, without end (`docs/spec/authoring.md` 8.6).

    Each call has its own; an answer, also a refusal, begins it anew.
    """

    def __init__(self, steps: Sequence[float] = (1, 2, 4, 8, 16, 30)) -> None:
        self._steps = tuple(steps)
        self._tries = 0

    def unanswered(self) -> float:
        """A try has got no answer: the seconds until the next."""
        step = self._steps[min(self._tries, len(self._steps) - 1)]
        self._tries += 1
        return step

    def answered(self) -> None:
        """An answer came: the next wait is the first again."""
        self._tries = 0
