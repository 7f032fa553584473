"""The clock that leases are measured with: it never goes back, and goes on while the host sleeps."""

from __future__ import annotations

import sys
import time
from typing import Final

# `time.monotonic` stands still on a suspended host: on Linux, where another clock does not, and on
# macOS, where the one of the C library does not. On Windows it goes on.
_CLOCK: Final[int | None] = getattr(
    time, "CLOCK_MONOTONIC" if sys.platform == "darwin" else "CLOCK_BOOTTIME", None
)


def since_boot() -> float:
    """Seconds since some moment in the past."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
