"""The order of texts by code point: which texts lie between two others, and what they may be.

Texts are those that JSON can carry to a control plane (`docs/spec/wire.md` 1.3): without U+0000 and
without lone surrogates. The bounds may be any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Final

_FIRST: Final = "\x01"
_LAST: Final = "\U0010ffff"
_MOST_CHARACTERS: Final = 100_000
_NICE: Final = ascii_lowercase + ascii_uppercase + digits
_IMPOSSIBLE: Final = re.compile("[\0\ud800-\udfff]")


class TextTooLongError(Exception):
    """Only texts of more than 100,000 code points would do, which nobody wants to see made."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many code points a text may have; None: any number."""

    least: int = 0
    most: int | None = None

    def __contains__(self, text: str) -> bool:
        return self.least <= len(text) and (self.most is None or len(text) <= self.most)

    def __and__(self, other: Lengths) -> Lengths:
        ends = [end for end in (self.most, other.most) if end is not None]
        return Lengths(max(self.least, other.least), min(ends, default=None))


#: No bounds at all.
ANY_LENGTH: Final = Lengths()


def can_occur(text: str) -> bool:
    """Whether JSON that comes in can hold ``text``."""
    return _IMPOSSIBLE.search(text) is None


def between(low: str, high: str | None, lengths: Lengths) -> Iterator[str]:
    """The texts above ``low`` and below ``high``, in order; without ``high`` there is no end.

    Raises:
        TextTooLongError: they must all be longer than the limit.
    """
    text = _after(low, lengths)
    while text is not None and (high is None or text < high):
        yield text
        text = _after(text, lengths)


def few_between(low: str, high: str | None, lengths: Lengths, most: int) -> list[str] | None:
    """The texts of :func:`between`, or None when they are more than ``most``.

    Raises:
        TextTooLongError: as :func:`between`.
    """
    if lengths.most is None and lengths.least <= _MOST_CHARACTERS and can_occur(low):
        # Each of these follows the one before it, so if the last is below `high`, all of them are.
        last = low + _FIRST * (max(1, lengths.least - len(low)) + most)
        if high is None or last < high:
            return None
    inside = list(islice(between(low, high, lengths), most + 1))
    return inside if len(inside) <= most else None


def some_between(low: str, high: str | None, wanted: list[Lengths]) -> list[str] | None:
    """Texts in rising order between ``low`` and ``high``, one for each of ``wanted``.

    Letters and digits are preferred. None when it finds none, although there may be some.
    """
    inside = [
        text
        for text in _nice(low, high)
        if low < text and (high is None or text < high) and can_occur(text)
    ]
    if len(wanted) == 1:
        for text in inside:
            padded = text + "a" * min(wanted[0].least - len(text), _MOST_CHARACTERS)
            if padded in wanted[0] and (high is None or padded < high):
                return [padded]
    for source in (sorted(inside), None):
        found = _rising(low, high, wanted, source)
        if found is not None:
            return found
    return None


def _rising(
    low: str, high: str | None, wanted: list[Lengths], source: list[str] | None
) -> list[str] | None:
    found: list[str] = []
    for lengths in wanted:
        last = found[-1] if found else low
        rest = between(last, high, lengths) if source is None else iter(source)
        text = next((text for text in islice(rest, 1000) if text > last and text in lengths), None)
        if text is None:
            return None
        found.append(text)
    return found


def _nice(low: str, high: str | None) -> Iterator[str]:
    common = low
    while high is not None and not high.startswith(common):
        common = common[:-1]
    for prefix in dict.fromkeys(("", common, low)):
        for letter in _NICE:
            yield prefix + letter


def _after(text: str, lengths: Lengths) -> str | None:
    """The least text above ``text`` with one of ``lengths``."""
    if lengths.least > _MOST_CHARACTERS:
        raise TextTooLongError
    impossible = _IMPOSSIBLE.search(text)
    start = len(text) if impossible is None else impossible.start()
    if lengths.most is not None and lengths.most <= start:
        kept = text[: lengths.most].rstrip(_LAST)
        if not kept:
            return None
        following = kept[:-1] + _next(kept[-1])
    elif start < len(text):  # what cannot occur has no texts behind it
        following = text[:start] + _next(text[start])
    else:
        following = text + _FIRST
    following += _FIRST * (lengths.least - len(following))
    return following if following in lengths else None


def _next(letter: str) -> str:
    number = ord(letter) + 1
    return chr(0xE000) if 0xD800 <= number <= 0xDFFF else chr(number)
