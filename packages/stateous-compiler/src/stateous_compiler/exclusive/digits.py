"""Whole numbers of any length as decimal text: Python's own conversions stop at 4300 digits."""

from __future__ import annotations

from typing import Final

_CHUNK: Final = 4000
_BASE: Final = 10**_CHUNK


def decimal(number: int) -> str:
    """``number`` as ``str`` writes it."""
    rest, chunks = abs(number), []
    while rest >= _BASE:
        rest, chunk = divmod(rest, _BASE)
        chunks.append(f"{chunk:0{_CHUNK}d}")
    return ("-" if number < 0 else "") + str(rest) + "".join(reversed(chunks))


def whole(text: str) -> int:
    """The number that :func:`decimal` wrote."""
    number = 0
    for start in range(0, len(digits := text.removeprefix("-")), _CHUNK):
        chunk = digits[start : start + _CHUNK]
        number = number * 10 ** len(chunk) + int(chunk)
    return -number if text.startswith("-") else number
