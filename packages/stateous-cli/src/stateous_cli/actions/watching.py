"""Watching a history for longer than the control plane lives: over its restarts, and takeovers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from stateous_cli.answer import Aside
from stateous_client import Unavailable, Unreachable

#: Between two tries, in seconds. Each try repeats itself some times, as all calls of a client do.
_PAUSE: Final = 1.0


def patiently(
    watch: Callable[[int], Iterator[Any]], sleep: Callable[[float], None]
) -> Iterator[Any]:
    """The entries of ``watch``, which is begun anew behind the last one when nobody answers.

    ``watch`` takes the ``seq`` of the last entry that is known, 0 for none. Each time that it
    breaks off, one :class:`Aside` says so.

    Raises:
        Unreachable, Unavailable: nobody has answered yet, so nobody may be there.
    """
    after, told = 0, False
    while True:
        try:
            for entry in watch(after):
                after, told = entry["seq"], False
                yield entry
        except (Unreachable, Unavailable) as error:
            if not after:
                raise
            if not told:
                yield Aside(f"{error}; the watch goes on when it answers again")
            told = True
            sleep(_PAUSE)
        else:
            return
