"""The log of `stateous serve`: what routines say in it cannot pass for a line of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from stateous_controlplane.logs import set_up_logs


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    changed = [logging.getLogger(), logging.getLogger("stateous")]
    before = [(each, each.handlers[:], each.level) for each in changed]
    yield
    for each, handlers, level in before:
        each.handlers[:] = handlers
        each.setLevel(level)


def test_what_a_routine_says_cannot_fake_a_line_or_move_the_cursor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up_logs("text")
    faked = "2027-03-01 09:12:13,435 stateous.supervisor: task 9 of T: reported go"
    logging.getLogger("stateous.supervisor").info("boom \x1b[2J\n%s", faked)
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith(r"stateous.supervisor: boom \x1b[2J")
    assert second == f"    {faked}"
