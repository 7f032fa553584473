"""A timer's time: a length, or a clock time at its next occurrence (`docs/spec/statechart.md` 9).

::

    length = [n "d"] [n "h"] [n "m"] [n "s"]       at least one part; 1 second to 3650 days
    clock  = [day " "] hh ":" mm [" " zone]        00:00 to 23:59; UTC without a zone

Zone data are those of the package ``tzdata``, the same on every computer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from importlib import resources
from typing import Final, TypeAlias, assert_never
from zoneinfo import ZoneInfo

from stateous.errors import StateousError
from stateous.limits import MAX_DURATION_DAYS, MAX_LENGTH_SECONDS
from stateous.statechart.tickets import mask

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_LENGTH: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)
_CLOCK: Final = re.compile(
    rf"(?:({'|'.join(DAYS)}) )?([01]\d|2[0-3]):([0-5]\d)(?: (\S+))?", re.ASCII
)
_UNITS: Final = (86_400, 3600, 60, 1)
# More digits than the longest length has in seconds: refused before they become a number.
_MAX_DIGITS: Final = len(str(MAX_LENGTH_SECONDS))
_DAY: Final = timedelta(days=1)
# A week and a day hold each day of the week after any moment, and one date more stands in for an
# occurrence that a change of the clocks moved to before it.
_DATES: Final = 10


class BadTime(StateousError, ValueError):
    """A text that is neither a length nor a clock time, or one with an unknown zone."""


@dataclass(frozen=True, slots=True)
class Length:
    """A length of time from entry on."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day in a zone; ``day`` is one of :data:`DAYS`, or None for every day."""

    hour: int
    minute: int
    zone: str = "UTC"
    day: str | None = None


Time: TypeAlias = Length | Clock


def read_time(text: str) -> Time:
    """The time that ``text`` says.

    Raises:
        BadTime: it says none; the sentence holds the text.
    """
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        day, hour, minute, zone = clock.groups()
        return Clock(int(hour), int(minute), _zone_name(zone or "UTC"), day)
    length = _LENGTH.fullmatch(text) if text else None
    if length is None:
        raise BadTime(
            f"{_shown(text)} is no time: write a length as '90s' or '1h30m', or a clock time as "
            "'18:00' or 'mon 09:00 Europe/London'"
        )
    return Length(_seconds(text, length.groups()))


def _seconds(text: str, parts: tuple[str | None, ...]) -> int:
    if any(part is not None and len(part.lstrip("0")) > _MAX_DIGITS for part in parts):
        raise BadTime(f"{_shown(text)} is longer than {MAX_DURATION_DAYS} days")
    seconds = sum(int(part) * unit for part, unit in zip(parts, _UNITS, strict=True) if part)
    if seconds < 1:
        raise BadTime(f"{_shown(text)} is shorter than a second")
    if seconds > MAX_LENGTH_SECONDS:
        raise BadTime(f"{_shown(text)} is longer than {MAX_DURATION_DAYS} days")
    return seconds


def due(time: Time, entered: datetime) -> datetime:
    """When a timer with this time is due that starts at ``entered``, in UTC."""
    match time:
        case Length(seconds):
            return entered + timedelta(seconds=seconds)
        case Clock():
            return _next(time, entered)
        case _:
            assert_never(time)


def _next(clock: Clock, entered: datetime) -> datetime:
    """The first occurrence strictly after ``entered``.

    With ``fold=0`` a wall time that occurs twice is its first occurrence, and one that the clocks
    skip is read with the offset from before, which moves it later by the length of the gap.
    """
    zone = zone_of(clock.zone)
    wall = time(clock.hour, clock.minute)
    first = entered.astimezone(zone).date() - _DAY
    for days in range(_DATES):
        on: date = first + days * _DAY
        if clock.day is not None and DAYS[on.weekday()] != clock.day:
            continue
        instant = datetime.combine(on, wall, zone).astimezone(UTC)
        if instant > entered:
            return instant
    raise AssertionError("a week has each of its days")


def _zone_name(name: str) -> str:
    if name not in zones():
        raise BadTime(f"{_shown(name)} is no time zone: write one as 'Europe/London'")
    return name


@lru_cache(1)
def zones() -> frozenset[str]:
    """The names of all IANA zones."""
    listed = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    return frozenset(listed.split())


@lru_cache(None)
def zone_of(name: str) -> ZoneInfo:
    """The zone of that name, which is one of :func:`zones`."""
    data = resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
    with data.open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def _shown(text: str) -> str:
    # A part of a ticket's value would pass every mask behind this.
    text = mask(text)
    return repr(text) if len(text) <= 40 else repr(text[:39]) + "…"
