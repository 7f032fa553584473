"""The process of a supervisor ends soon after it, whatever its routines leave behind.

Python waits at its end for threads that are no daemons, and for what an executor has begun. A
routine may leave one of these behind that never ends, and a supervisor that was told to stop must
not hang on that.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import Final

_log: Final = logging.getLogger("stateous.supervisor")


class Leftovers:
    """The threads that are begun from now on."""

    def __init__(self) -> None:
        self._before = frozenset(threading.enumerate())

    def here(self) -> list[threading.Thread]:
        """Those that still run."""
        return [thread for thread in threading.enumerate() if thread not in self._before]


def part(left: Sequence[threading.Thread], code: int, *, grace: float) -> None:
    """See to it that the process ends with ``code`` within ``grace`` seconds of its main thread.

    Nothing is done when no thread is ``left``, and nothing happens when Python ends by itself.
    """
    if not left:
        return
    over = threading.Event()
    # Python's own executors wait for their work in this place too, the only one that comes before
    # the wait for threads. The last that is registered is called first.
    threading._register_atexit(over.set)  # type: ignore[attr-defined]
    threading.Thread(
        target=_end, args=(over, left, code, grace), name="parting", daemon=True
    ).start()


def _end(over: threading.Event, left: Sequence[threading.Thread], code: int, grace: float) -> None:
    over.wait()
    # This thread ends with Python: who comes to the end of this wait is in a process that hangs.
    time.sleep(grace)
    _log.warning(
        "this process does not end by itself, so it is ended: routines have left %s",
        ", ".join(sorted(thread.name for thread in left if thread.is_alive())),
    )
    logging.shutdown()
    os._exit(code)
