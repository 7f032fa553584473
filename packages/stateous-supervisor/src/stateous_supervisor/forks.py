"""A process that a routine forks must not become a second supervisor.

Such a child has the thread of the routine, and copies of all that the supervisor knows. As long as
it does what the routine has it do, that is the routine's affair: `multiprocessing` and the like
never come back from there. A child that comes back, because the routine returned or raised or
waited in it, is ended on the spot: no `finally`, no `atexit`, no buffer that is written twice.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import weakref
from typing import Final, NoReturn

#: The exit code of a child that came back: EX_SOFTWARE.
CAME_BACK: Final = 70

_log: Final = logging.getLogger("stateous.supervisor")


class Home:
    """The process that made it."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def stay(self) -> None:
        """Return in this process only; a child of it ends here."""
        if os.getpid() != self._process:
            leave()


def leave() -> NoReturn:
    """End this child."""
    _log.error("a process that a routine forked came back from the routine, and was ended")
    os._exit(CAME_BACK)


class ForkedLoops:
    """Event loops that do not turn in a child that one of their own callbacks forks.

    The child would go on with the other routines of the loop, which the parent goes on with too.
    """

    def __init__(self) -> None:
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, int] = (
            weakref.WeakKeyDictionary()
        )
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called on the thread that turns the loop."""
        self._loops[loop] = threading.get_ident()

    def _in_child(self) -> None:
        here = threading.get_ident()
        for loop, thread in self._loops.items():
            # What is to be run next is the loop's own affair; but nothing public comes before it.
            ready = getattr(loop, "_ready", None)
            if thread == here and ready is not None:
                ready.appendleft(asyncio.Handle(leave, (), loop))


forked_loops: Final = ForkedLoops()
