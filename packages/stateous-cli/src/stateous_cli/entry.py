"""Where the process begins: Ctrl-C while the command is still loading ends it quietly, too."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from types import ModuleType

#: How a shell names a process that Ctrl-C ended.
INTERRUPTED = 130


def main() -> int:
    """Load the command and run it; its exit code."""
    # httpx has a command of its own, with all of rich and pygments: 0.15 s that nobody needs here.
    sys.modules["httpx._main"] = cast("ModuleType", None)
    try:
        from stateous_cli.app import main as run

        return run()
    except KeyboardInterrupt:
        return _quietly(INTERRUPTED)
    except OSError as error:
        # Expected failures have their own sentences; this is stdout or stderr that takes no more.
        return _quietly(_complain(error))


def _complain(error: OSError) -> int:
    reason = error.strerror or str(error)
    try:
        print(f"error: cannot write the output: {reason}", file=sys.stderr)  # noqa: T201
    except OSError:
        return 1
    return 1


def _quietly(code: int) -> int:
    # What is still buffered cannot be written either; Python would say so at exit.
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code
