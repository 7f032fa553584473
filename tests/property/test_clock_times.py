"""Clock times beside another library's opinion of them (`docs/spec/statechart.md` 9).

The naive reading: every date from the day before entry on, its wall time put into the zone, the
first instant that is later than entry. `whenever` does the putting; in a gap it moves later by the
length of the gap, and of two it takes the first.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st
from whenever import Date, Instant, Time

from stateous.statechart.times import DAYS, Clock, due

# London, New York and Lord Howe (half an hour) change their clocks; Tokyo does not.
ZONES = ("Europe/London", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "UTC")

clocks = st.builds(
    Clock,
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
    zone=st.sampled_from(ZONES),
    day=st.none() | st.sampled_from(DAYS),
)
# Around the changes of 2027, where it is interesting, and anywhere.
around_changes = st.builds(
    lambda change, seconds: datetime.fromisoformat(change) + timedelta(seconds=seconds),
    st.sampled_from(
        [
            "2027-03-28T01:00:00+00:00",
            "2027-10-31T01:00:00+00:00",
            "2027-03-14T07:00:00+00:00",
            "2027-11-07T06:00:00+00:00",
            "2027-04-03T15:00:00+00:00",
            "2027-10-02T15:30:00+00:00",
        ]
    ),
    st.integers(-90_000, 90_000),
)
anywhere = st.datetimes(datetime(2000, 1, 1), datetime(2036, 12, 31), timezones=st.just(UTC))


def naive(clock: Clock, entered: datetime) -> datetime:
    instant = Instant(entered)
    day = instant.to_tz(clock.zone).date().subtract(days=1)
    wall = Time(clock.hour, clock.minute)
    while True:
        if clock.day is None or DAYS[day.day_of_week().value - 1] == clock.day:
            found = placed(day, wall, clock.zone)
            if found > instant:
                return found.to_stdlib().astimezone(UTC)
        day = day.add(days=1)


def placed(day: Date, wall: Time, zone: str) -> Instant:
    return day.at(wall).assume_tz(zone, disambiguation="compatible").to_instant()


@settings(max_examples=1500, deadline=None)
@given(clock=clocks, entered=around_changes | anywhere)
@example(Clock(2, 30, "America/New_York"), datetime(2027, 3, 14, 5, tzinfo=UTC))
@example(Clock(1, 30, "America/New_York"), datetime(2027, 11, 7, 5, 30, tzinfo=UTC))
@example(Clock(1, 45, "Australia/Lord_Howe"), datetime(2027, 4, 3, 14, 45, tzinfo=UTC))
def test_the_next_occurrence_is_the_one_of_the_naive_reading(
    clock: Clock, entered: datetime
) -> None:
    assert due(clock, entered) == naive(clock, entered)


@settings(max_examples=500, deadline=None)
@given(clock=clocks, entered=around_changes)
def test_occurrences_go_on_without_end_and_never_back(clock: Clock, entered: datetime) -> None:
    first = due(clock, entered)
    second = due(clock, first)
    assert entered < first < second
    assert second - first <= timedelta(days=8)
