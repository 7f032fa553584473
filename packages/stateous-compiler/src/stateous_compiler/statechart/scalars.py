"""What a plain scalar stands for: the YAML 1.2 core schema, as far as charts have it.

`docs/spec/statechart.md` 1: ``on``, ``off`` and ``18:00`` are texts; there is no infinity.
"""

from __future__ import annotations

import math
import re
from typing import Final

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE: Final = frozenset({"true", "True", "TRUE"})
_FALSE: Final = frozenset({"false", "False", "FALSE"})
_WHOLE: Final = re.compile(r"[-+]?[0-9]+", re.ASCII)
_OCTAL: Final = re.compile(r"0o([0-7]+)", re.ASCII)
_HEXADECIMAL: Final = re.compile(r"0x([0-9a-fA-F]+)", re.ASCII)
_DECIMAL: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NO_NUMBER: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", re.ASCII)
#: Python makes no number of a longer text; neither does the reader of JSON.
_MOST_DIGITS: Final = 4300


def resolve(text: str) -> bool | int | float | str | None:
    """The value of a scalar that stands there without quotes.

    Raises:
        ValueError: it is a number that JSON does not have; the sentence holds it.
    """
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _WHOLE.fullmatch(text):
        return _whole(text, 10)
    for pattern, base in ((_OCTAL, 8), (_HEXADECIMAL, 16)):
        match = pattern.fullmatch(text)
        if match is not None:
            return _whole(match[1], base)
    if _NO_NUMBER.fullmatch(text):
        raise ValueError(f"{text} has no form in JSON")
    if _DECIMAL.fullmatch(text):
        number = float(text)
        if math.isfinite(number):
            return number
        raise ValueError(f"{text:.40} is too large for a number")
    return text


def _whole(digits: str, base: int) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits is too long")
    return int(digits, base)
