"""Leases from the supervisor's side: what is in doubt, and what is done about it."""

import pytest

from stateous_supervisor.leases import Leases
from stateous_supervisor.messages import Attempt

FIRST, SECOND = Attempt(1, 1), Attempt(1, 2)


@pytest.mark.parametrize(("announced", "lasts"), [(None, 120), (4, 4), (600.5, 600.5)])
def test_a_lease_is_in_doubt_once_it_may_have_run_out(announced, lasts):
    leases = Leases(lambda: announced)
    leases.granted(FIRST, 100)
    assert not leases.in_doubt(FIRST, 100 + lasts)
    assert leases.in_doubt(FIRST, 100 + lasts + 0.1)


def test_a_renewal_counts_from_when_it_was_sent():
    leases = Leases(lambda: 4)
    leases.granted(FIRST, 100)
    leases.renewed([FIRST], 103)
    assert not leases.in_doubt(FIRST, 107)
    leases.renewed([FIRST], 102)  # an older one that comes late
    assert not leases.in_doubt(FIRST, 107)
    assert leases.in_doubt(FIRST, 107.1)


def test_the_attempts_of_a_task_have_leases_of_their_own():
    leases = Leases(lambda: 4)
    leases.granted(FIRST, 100)
    leases.granted(SECOND, 110)
    assert leases.in_doubt(FIRST, 111)
    assert not leases.in_doubt(SECOND, 111)


def test_what_is_over_or_of_an_earlier_run_is_never_in_doubt():
    leases = Leases(lambda: 4)
    leases.granted(FIRST, 100)
    leases.over(FIRST)
    leases.renewed([FIRST, SECOND], 100)
    assert not leases.in_doubt(FIRST, 10_000)
    assert not leases.in_doubt(SECOND, 10_000)
