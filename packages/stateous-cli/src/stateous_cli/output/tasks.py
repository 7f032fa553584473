"""Tasks as lines: `task N: <state> of <token>, <status>` (`docs/spec/wire.md` 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stateous.visible import visible


def task_line(task: Mapping[str, Any]) -> str:
    """One task on one line; of a claimed one also the attempt and who works on it."""
    line = (
        f"task {task['task']}: {visible(task['state'])} of {visible(task['token'])}, "
        f"{visible(task['status'])}"
    )
    if task["status"] != "claimed":
        return line
    return f"{line}, attempt {task['attempt']}, {visible(task['claimed_by'] or '')}"


def task_lines(tasks: Iterable[Mapping[str, Any]]) -> list[str]:
    """A list of tasks; an empty one says so."""
    return [task_line(task) for task in tasks] or ["no tasks"]
