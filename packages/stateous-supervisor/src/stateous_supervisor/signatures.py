"""Whether a routine can be called as the runner calls it: with one argument, the `ctx` (8.3).

Found at the start, and not by the first task, which it would cost an attempt.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

_STARS: Final[Mapping[int, str]] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def misfit(place: str, routine: Callable[..., Any]) -> str | None:
    """Why ``routine`` cannot be called with a `ctx` alone, in one sentence; None when it can.

    What Python cannot tell the signature of is left to its first call.
    """
    try:
        signature = inspect.signature(routine)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(None)
    except TypeError as error:
        takes = ", ".join(_STARS.get(it.kind, "") + it.name for it in signature.parameters.values())
        return f"{place}({takes}) is called with one argument, the ctx: {error}"
    return None
