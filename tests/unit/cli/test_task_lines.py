"""Tasks as lines of text."""

from __future__ import annotations

from typing import Any

import pytest

from stateous_cli.output.tasks import task_line, task_lines

TASK: dict[str, Any] = {
    "task": 7,
    "token": "INV-1",
    "state": "tax-check/ask",
    "visit": 1,
    "status": "queued",
    "attempt": 0,
    "claimed_by": None,
    "lease_until": None,
    "queued_at": "2027-03-01T09:00:00Z",
}


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "task 7: tax-check/ask of INV-1, queued"),
        (
            {"status": "claimed", "attempt": 2, "claimed_by": "box\n1"},
            r"task 7: tax-check/ask of INV-1, claimed, attempt 2, box\n1",
        ),
        (
            {"status": "waiting", "attempt": 1, "claimed_by": "box-1"},
            "task 7: tax-check/ask of INV-1, waiting",
        ),
    ],
)
def test_a_task_is_a_line(more: dict[str, Any], line: str) -> None:
    assert task_line(TASK | more) == line


def test_no_tasks_is_said() -> None:
    assert task_lines([]) == ["no tasks"]
