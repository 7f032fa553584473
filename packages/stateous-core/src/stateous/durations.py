"""Durations as text: ``90s``, ``15m``, ``2h``, ``7d`` (`docs/spec/authoring.md` 1)."""

from __future__ import annotations

import re
from datetime import timedelta

from stateous.limits import MAX_DURATION_DAYS

_DURATION = re.compile(r"([1-9][0-9]*)([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX_SECONDS = MAX_DURATION_DAYS * 86_400
# More digits than the longest duration has: such a text is refused before it becomes a number.
_MAX_DIGITS = len(str(_MAX_SECONDS))


def parse_duration(text: object) -> timedelta:
    """The length of time that ``text`` names.

    Raises:
        ValueError: it is no text of the form, or over 3650 days; the sentence holds the value.
    """
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        shown = repr(text) if len(repr(text)) <= 40 else repr(text)[:39] + "…"
        raise ValueError(
            f"{shown} is not a duration: write a whole number and s, m, h or d, for example '15m'"
        )
    if len(match[1]) > _MAX_DIGITS or int(match[1]) * _SECONDS[match[2]] > _MAX_SECONDS:
        raise ValueError(f"{text!r:.40} is longer than {MAX_DURATION_DAYS} days")
    return timedelta(seconds=int(match[1]) * _SECONDS[match[2]])


def is_duration(text: object) -> bool:
    """Whether :func:`parse_duration` takes ``text``."""
    try:
        parse_duration(text)
    except ValueError:
        return False
    return True


def spell_seconds(seconds: float) -> str:
    """``120`` as ``2 minutes``: the largest unit that divides it, for sentences to people."""
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            count = int(seconds // size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    shown = int(seconds) if float(seconds).is_integer() else seconds
    return f"{shown} second{'' if shown == 1 else 's'}"
