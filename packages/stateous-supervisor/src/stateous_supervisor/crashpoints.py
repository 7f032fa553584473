"""Named points at which a test lets the supervisor die as by SIGKILL; nobody else arms one.

::

    before-write-KIND    after-write-KIND      the outbox's transaction that puts a message
    before-send-KIND     after-send-KIND       its request, and its answer
    before-removal-KIND  after-removal-KIND    the transaction that takes an answered one away
    before-call          after-call            the routine; what it returned is not looked at yet
    before-note after-note before-memory after-memory     inside `ctx.note` and `ctx.memory`

KIND is `note`, `memory` or `report`. The variable STATEOUS_CRASH_AT holds one of these names, or
`NAME:N` for its n-th passage. Dying is all that a point can do, so an armed one can do nothing that
a power cut could not do as well.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Final, get_args

from stateous_supervisor.messages import Kind

VARIABLE: Final = "STATEOUS_CRASH_AT"

_ON_THE_WAY: Final = [
    f"{when}-{step}-{kind}"
    for kind in get_args(Kind)
    for step in ("write", "send", "removal")
    for when in ("before", "after")
]
_IN_THE_ROUTINE: Final = [
    f"{when}-{what}" for what in ("call", "note", "memory") for when in ("before", "after")
]
#: Every point there is.
POINTS: Final = (*_ON_THE_WAY, *_IN_THE_ROUTINE)


class _Armed:
    """The point that kills, and how many passages are left until it does."""

    def __init__(self, name: str, passages: int) -> None:
        self.name = name
        self._left = passages
        self._counting = threading.Lock()

    def passed(self) -> bool:
        with self._counting:
            self._left -= 1
            return self._left == 0


_armed: _Armed | None = None


def arm(given: str | None) -> None:
    """Arm what the variable holds; nothing when it is not set.

    Raises:
        ValueError: there is no such point.
    """
    global _armed
    if not given:
        _armed = None
        return
    name, _, passages = given.partition(":")
    if name not in POINTS:
        raise ValueError(f"{VARIABLE} is {given!r}, which is no point to crash at")
    _armed = _Armed(name, int(passages or 1))


def reached(name: str) -> None:
    """The supervisor is at this point now."""
    if _armed is not None and _armed.name == name and _armed.passed():
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
