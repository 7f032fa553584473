"""The supervisor's log: what routines say in it cannot pass for a line of its own."""

from __future__ import annotations

import logging

from stateous_supervisor.log import FORMAT, HarmlessLines


def test_what_a_routine_says_cannot_fake_a_line_or_move_the_cursor() -> None:
    said = "boom \x1b[2J\n2027-03-01 09:12:13,435 stateous.supervisor: task 9 of T: reported go"
    record = logging.LogRecord("stateous.supervisor", 20, "x", 1, "%s", (said,), None)
    first, second = HarmlessLines(FORMAT).format(record).split("\n")
    assert first.endswith(r"stateous.supervisor: boom \x1b[2J")
    assert second == f"    {said.partition(chr(10))[2]}"
