"""Moments as SQLite keeps them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateous_controlplane.store.moments import moment_of, moment_or_none, text_of, text_or_none

moments = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-8))])).filter(
    lambda moment: 2 < moment.year < 9998
)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2027, 3, 1, 14, 51, 53, 873706, UTC), "2027-03-01T14:51:53.873706Z"),
        (datetime(2027, 3, 1, 14, 51, 53, 0, UTC), "2027-03-01T14:51:53.000000Z"),
        (datetime(999, 1, 1, 0, 0, 0, 1, UTC), "0999-01-01T00:00:00.000001Z"),
        (
            datetime(2027, 3, 1, 2, 0, 0, 0, timezone(timedelta(hours=5, minutes=30))),
            "2027-02-28T20:30:00.000000Z",
        ),
    ],
)
def test_the_text_has_six_fraction_digits_and_is_utc(moment: datetime, text: str) -> None:
    assert text_of(moment) == text
    assert moment_of(text) == moment
    assert moment_of(text).tzinfo is UTC


def test_absent_stays_absent() -> None:
    assert text_or_none(None) is None
    assert moment_or_none(None) is None


@given(moments, moments)
def test_text_order_is_time_order(one: datetime, other: datetime) -> None:
    assert (text_of(one) < text_of(other)) == (one < other)
    assert moment_of(text_of(one)) == one
