"""Lengths and clock times (`docs/spec/statechart.md` 1.4, 9)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from stateous.statechart.times import BadTime, Clock, Length, due, read_time


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("90s", 90),
        ("48h", 172_800),
        ("7d", 604_800),
        ("1d2h3m4s", 93_784),
        ("1h30m", 5400),
        ("007s", 7),
        ("0d1s", 1),
        ("3650d", 315_360_000),
        ("87600h", 315_360_000),
    ],
)
def test_a_length(text: str, seconds: int) -> None:
    assert read_time(text) == Length(seconds)


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("18:00", Clock(18, 0)),
        ("00:00", Clock(0, 0)),
        ("23:59", Clock(23, 59)),
        ("mon 09:00", Clock(9, 0, day="mon")),
        ("09:00 Europe/London", Clock(9, 0, "Europe/London")),
        ("sun 00:30 Australia/Lord_Howe", Clock(0, 30, "Australia/Lord_Howe", "sun")),
        ("09:00 UTC", Clock(9, 0)),
        ("09:00 Etc/GMT+5", Clock(9, 0, "Etc/GMT+5")),
    ],
)
def test_a_clock_time(text: str, clock: Clock) -> None:
    assert read_time(text) == clock


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "0s",
        "0d0h",
        "3651d",
        "315360001s",
        "9" * 5000 + "s",
        "1s1m",
        "1.5h",
        "-1s",
        "1 h",
        " 1h",
        "1h ",
        "1h\n",
        "24:00",
        "9:00",
        "12:60",
        "Mon 09:00",
        "mon  09:00",
        "mon09:00",
        "09:00 ",
        "09:00 europe/london",
        "09:00 Nowhere/City",
        "09:00 ../../etc/passwd",
        "09:00 posix/Europe/London",
        "09:00 UTC extra",
        "\u0661s",
        "18:00:00",
    ],
)
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadTime):
        read_time(text)


@pytest.mark.parametrize(
    ("time", "entered", "at"),
    [
        # The table of the specification.
        ("18:00", "2027-01-01T18:00:00Z", "2027-01-02T18:00:00Z"),
        ("mon 00:30 Asia/Tokyo", "2027-01-03T14:00:00Z", "2027-01-03T15:30:00Z"),
        ("02:30 America/New_York", "2027-03-14T05:00:00Z", "2027-03-14T07:30:00Z"),
        ("01:30 America/New_York", "2027-11-07T04:00:00Z", "2027-11-07T05:30:00Z"),
        ("01:30 America/New_York", "2027-11-07T05:30:00Z", "2027-11-08T06:30:00Z"),
        # Around midnight, a week, half an hour of change, a day that a zone left out.
        ("18:00", "2027-01-01T17:59:59.999Z", "2027-01-01T18:00:00Z"),
        ("18:00", "2027-01-01T18:00:00.001Z", "2027-01-02T18:00:00Z"),
        ("fri 18:00", "2027-01-01T18:00:00Z", "2027-01-08T18:00:00Z"),
        ("23:30 America/New_York", "2027-01-02T04:00:00Z", "2027-01-02T04:30:00Z"),
        ("00:10 Asia/Tokyo", "2027-01-01T15:00:00Z", "2027-01-01T15:10:00Z"),
        ("02:15 Australia/Lord_Howe", "2026-10-03T14:00:00Z", "2026-10-03T15:45:00Z"),
        ("01:45 Australia/Lord_Howe", "2027-04-03T14:00:00Z", "2027-04-03T14:45:00Z"),
        ("01:45 Australia/Lord_Howe", "2027-04-03T14:45:00Z", "2027-04-04T15:15:00Z"),
        ("12:00 Pacific/Apia", "2011-12-29T22:00:01Z", "2011-12-30T22:00:00Z"),
        ("fri 12:00 Pacific/Apia", "2011-12-29T12:00:00Z", "2011-12-30T22:00:00Z"),
        ("90s", "2027-01-01T18:00:00.25Z", "2027-01-01T18:01:30.25Z"),
    ],
)
def test_when_a_timer_is_due(time: str, entered: str, at: str) -> None:
    found = due(read_time(time), moment(entered))
    assert found == moment(at)
    assert found.utcoffset() == timedelta(0)


def test_a_timer_is_due_in_utc_wherever_it_was_entered() -> None:
    entered = datetime(2027, 1, 1, tzinfo=UTC)
    assert due(Clock(18, 0, "Asia/Tokyo"), entered) == datetime(2027, 1, 1, 9, tzinfo=UTC)
