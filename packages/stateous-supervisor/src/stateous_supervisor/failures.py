"""Where in the author's code a routine failed, and the rest of what the log has to say about it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final

# A text of this length, or its traceback, is for nobody to read.
_MOST_OF_A_TEXT: Final = 10_000


def raised_at(trace: TracebackType | None, folder: Path) -> str | None:
    """The innermost line of the folder's own code that an exception came through.

    ``review.py, line 12, in check``; the innermost of all when none is the folder's.
    """
    frames = traceback.extract_tb(trace)
    if not frames:
        return None
    own = [frame for frame in frames if _is_in(frame.filename, folder)]
    frame = (own or frames)[-1]
    file = Path(frame.filename)
    shown = file.relative_to(folder) if own else file
    return f"{shown}, line {frame.lineno}, in {frame.name}"


def defined_at(routine: Callable[..., Any], folder: Path) -> str:
    """Where a routine begins: ``review.py, line 9``; its name when nobody can tell."""
    code = getattr(routine, "__code__", None)
    if code is None:
        return repr(routine)
    file = Path(code.co_filename)
    shown = file.relative_to(folder) if _is_in(code.co_filename, folder) else file
    return f"{shown}, line {code.co_firstlineno}"


def cut(text: str) -> str:
    """``text`` as far as it is worth reading in a log."""
    return text if len(text) <= _MOST_OF_A_TEXT else text[:_MOST_OF_A_TEXT] + "…"


def shown_trace(error: BaseException, trace: TracebackType | None, told: str) -> str:
    """The traceback for the log. ``told`` is the error in words, of any length."""
    if len(told) <= _MOST_OF_A_TEXT:
        return "".join(traceback.format_exception(type(error), error, trace)).rstrip()
    return "".join(traceback.format_tb(trace)) + cut(told)


def _is_in(filename: str, folder: Path) -> bool:
    return Path(filename).is_relative_to(folder)
