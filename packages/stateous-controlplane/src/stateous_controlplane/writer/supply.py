"""What a command is given besides its rows: a time of its own, and fresh ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from stateous_controlplane.engine.family import Family
from stateous_controlplane.store.port import NextIds

_TICK = timedelta(microseconds=1)


class CommandTime:
    """Gives each command a time later than all that came before it (`docs/spec/wire.md` 3.1)."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._last = now()

    def next(self, family: Family) -> datetime:
        """A time later than the last command's, and than the family's last entries."""
        earliest = self._last
        for token in family.tokens.values():
            if token.at > earliest:
                earliest = token.at
        self._last = max(self._now(), earliest + _TICK)
        return self._last

    def current(self) -> datetime:
        """Now, but not before the last command."""
        return max(self._now(), self._last)


@dataclass(slots=True)
class FreshIds:
    """The ids of the next task and timer. They only go up.

    Ids of a transaction that failed are not given again: whether it was committed after all can be
    unknown, for example when the connection was lost during the commit.
    """

    task: int
    timer: int

    def use(self, *, tasks: int, timers: int) -> None:
        """So many of each have been given."""
        self.task += tasks
        self.timer += timers

    def raise_to(self, ids: NextIds) -> None:
        """Pass over what another control plane has given meanwhile."""
        self.task = max(self.task, ids.task)
        self.timer = max(self.timer, ids.timer)
