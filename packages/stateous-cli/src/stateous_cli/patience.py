"""Trying again while nobody listens yet (`docs/spec/statechart.md` 17).

A command may be typed right behind `stateous serve … &`. A connection that is refused has carried
nothing, so that trying again is safe whatever is asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from stateous_client import Unreachable

T = TypeVar("T")

#: Seconds for which a refused connection is tried again, and between two tries.
PATIENCE: Final = 5.0
PAUSE: Final = 0.1


def patiently(
    ask: Callable[[], T],
    *,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> T:
    """What ``ask`` returns, asked again while the connection is refused.

    Raises:
        Unreachable: as the last try, after five seconds; at once for anything but a refusal.
    """
    end = now() + PATIENCE
    while True:
        try:
            return ask()
        except Unreachable as error:
            if not error.refused or now() >= end:
                raise
        sleep(PAUSE)
