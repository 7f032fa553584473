import os
import signal

import pytest

from stateous_supervisor import crashpoints


@pytest.fixture
def deaths(monkeypatch):
    died = []
    monkeypatch.setattr(os, "kill", lambda pid, number: died.append((pid, number)))
    yield died
    crashpoints.arm(None)


def passed(*names):
    for name in names:
        crashpoints.reached(name)


def test_no_point_kills_unless_it_is_armed(deaths):
    passed(*crashpoints.POINTS)
    crashpoints.arm("")
    passed(*crashpoints.POINTS)
    assert deaths == []


@pytest.mark.parametrize("point", crashpoints.POINTS)
def test_the_armed_one_kills_as_sigkill_does(deaths, point):
    crashpoints.arm(point)
    passed(*(it for it in crashpoints.POINTS if it != point))
    assert deaths == []
    passed(point)
    assert deaths == [(os.getpid(), signal.SIGKILL)]


def test_its_nth_passage(deaths):
    crashpoints.arm("after-send-note:3")
    passed("after-send-note", "after-send-note")
    assert deaths == []
    passed("after-send-note")
    assert len(deaths) == 1


def test_a_point_that_there_is_not(deaths):
    with pytest.raises(ValueError, match="STATEOUS_CRASH_AT is 'after-lunch'"):
        crashpoints.arm("after-lunch")
