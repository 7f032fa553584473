"""Moments as SQLite keeps them: fixed-width text in UTC, so that text order is time order.

`2027-03-01T14:51:53.873706Z`: always six fraction digits. Both directions stand on the hot path,
and use what the interpreter does in C.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


# All rows and entries of a command have its moment; writing one out costs ten look-ups.
@lru_cache(maxsize=4096)
def text_of(moment: datetime) -> str:
    """The stored form of an aware ``moment``."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


# All entries of a command that a history shows have its moment, and so one value.
@lru_cache(maxsize=4096)
def moment_of(text: str) -> datetime:
    """The moment, in UTC, that :func:`text_of` wrote."""
    return datetime.fromisoformat(text)


def text_or_none(moment: datetime | None) -> str | None:
    """:func:`text_of` of a moment that may be absent."""
    return None if moment is None else text_of(moment)


def moment_or_none(text: str | None) -> datetime | None:
    """:func:`moment_of` of a text that may be absent."""
    return None if text is None else moment_of(text)
