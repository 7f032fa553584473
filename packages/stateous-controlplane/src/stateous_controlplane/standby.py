"""Standing by: waiting for the hold that another control plane has (`docs/spec/wire.md` 6.1).

Who stands by does not listen, so nothing can ask it how it is. It shows that it waits by a file that
it touches each time it has asked for the hold, about once a second; whatever looks after the process,
such as a container's health check, reads how old the file is. When the wait is over, the file is gone.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from stateous_controlplane.settings import ServeError
from stateous_controlplane.startup import shown
from stateous_controlplane.store.port import DatabaseUnreachable, Store

_log = logging.getLogger("stateous.serve")

#: Seconds between two tries for the hold.
_BETWEEN = 1.0


def wait_for_hold(
    store: Store, holder: str, now: Callable[[], datetime], sleep: Callable[[float], None]
) -> None:
    """Take the hold as soon as it is free; the log says why it waits, when that changes.

    A database that cannot be reached is waited for as well: it may be what ended the other one.

    Raises:
        StoreError: the database cannot be used, and waiting would not help.
    """
    told = ""
    while True:
        try:
            other = store.take_hold(holder, now())
        except DatabaseUnreachable as error:
            reason, sentence = "unreachable", str(error)
        else:
            if other is None:
                return
            reason = "held"
            sentence = f"another control plane ({shown(other)}) serves the database"
        if reason != told:
            _log.info("standing by: %s", sentence)
            told = reason
        sleep(_BETWEEN)


@contextlib.contextmanager
def shown_in(
    file: Path | None, sleep: Callable[[float], None]
) -> Iterator[Callable[[float], None]]:
    """A ``sleep`` that touches ``file`` first; the file is gone after the block.

    Raises:
        ServeError: the file cannot be written.
    """
    if file is None:
        yield sleep
        return

    def touch_and_sleep(seconds: float) -> None:
        try:
            file.touch()
        except OSError as error:
            raise ServeError(f"cannot write --standby-file {file}: {error.strerror}") from None
        sleep(seconds)

    try:
        yield touch_and_sleep
    finally:
        with contextlib.suppress(OSError):
            file.unlink()
