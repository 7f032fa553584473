"""Where in an author's files a call stands (`docs/spec/authoring.md` 2.2)."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import Final, NamedTuple

_OWN_PACKAGES: Final = frozenset(
    {
        "stateous",
        "stateous_client",
        "stateous_compiler",
        "stateous_controlplane",
        "stateous_supervisor",
        "stateous_cli",
    }
)


class Place(NamedTuple):
    """A file, as Python's code objects name it, and a line in it. Prints as ``flow.py:31``."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{PurePath(self.file).name}:{self.line}"


def calling_place() -> Place:
    """The call that is running in the innermost frame outside the stateous packages.

    Since Python 3.11 a frame's line is the first line of the call that it is in, however many
    lines the arguments take. Of a method on a line of its own that is the line of its name.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _OWN_PACKAGES
