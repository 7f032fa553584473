"""The process of a supervisor ends soon after it, whatever its routines leave behind.

Python waits at its end for every thread that is no daemon. A routine may have begun one that never
ends, and a supervisor that was told to stop must not hang on that.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable
from typing import Final

_log: Final = logging.getLogger("stateous.supervisor")


class Leftovers:
    """The threads that are begun from now on, without those that Python does not wait for."""

    def __init__(self) -> None:
        self._before = frozenset(threading.enumerate())

    def here(self) -> list[threading.Thread]:
        """Those that still run."""
        return [
            thread
            for thread in threading.enumerate()
            if thread not in self._before and not thread.daemon
        ]


def part(left: Iterable[threading.Thread], code: int, *, grace: float) -> None:
    """See to it that the process ends with ``code`` within ``grace`` seconds of its main thread.

    Nothing is done when none is ``left``; and nothing happens when they end in time, as the workers
    of an executor do.
    """
    threads = tuple(left)
    if threads:
        threading.Thread(
            target=_end, args=(threads, code, grace), name="parting", daemon=True
        ).start()


def _end(left: tuple[threading.Thread, ...], code: int, grace: float) -> None:
    threading.main_thread().join()
    for thread in left:
        thread.join(grace)
        if thread.is_alive():
            _log.warning("a routine's thread does not end, and is left: %s", thread.name)
            logging.shutdown()
            os._exit(code)
