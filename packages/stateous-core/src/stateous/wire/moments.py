"""Moments as they stand in JSON: ISO 8601, UTC, ``Z`` (`docs/spec/wire.md` 1.1)."""

from __future__ import annotations

from datetime import UTC, datetime


def write_moment(moment: datetime) -> str:
    """``2027-03-01T14:51:53.873706Z``: six fraction digits, none when the microseconds are 0."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat().removesuffix("+00:00") + "Z"


def read_moment(text: str) -> datetime:
    """The moment that ``text`` names, in UTC.

    Raises:
        ValueError: it is no ISO 8601 date and time with ``Z`` or an offset.
    """
    if "T" not in text.upper() and " " not in text:
        raise ValueError(f"{text!r} is not a moment with a date and a time")
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone: end it with Z or an offset")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is out of range") from None
