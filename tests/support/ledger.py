"""Folding a ledger: what a token's entries alone say of its rows.

It shares no code with the engine: the entries are enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stateous_controlplane.engine.rows import Entry

_TASK_STATUS = {
    "task_queued": "queued",
    "task_retrying": "queued",
    "task_claimed": "claimed",
    "task_waiting": "waiting",
    "task_done": "done",
    "task_failed": "failed",
    "task_cancelled": "cancelled",
}
_TOKEN_STATUS = {
    "started": "active",
    "resumed": "active",
    "paused": "paused",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}


@dataclass
class Folded:
    """A token as its ledger tells it; tasks by id, each with its status and attempt."""

    status: str = ""
    state: str = ""
    visit: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    visits: dict[str, int] = field(default_factory=dict)
    tasks: dict[int, tuple[str, int]] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)

    @property
    def open_tasks(self) -> dict[int, tuple[str, int]]:
        """The tasks that can still become something else."""
        return {
            task: told
            for task, told in self.tasks.items()
            if told[0] in ("queued", "claimed", "waiting")
        }


def fold(entries: Iterable[Entry]) -> Folded:
    """What ``entries``, in their order, amount to."""
    folded = Folded()
    for entry in entries:
        data = entry.data.value
        folded.status = _TOKEN_STATUS.get(entry.kind, folded.status)
        if entry.key is not None:
            folded.keys.add(entry.key)
        if entry.kind == "event_accepted":
            event = data["event"]
            folded.counts[event] = folded.counts.get(event, 0) + 1
        elif entry.kind == "entered":
            folded.state, folded.visit = data["state"], data["visit"]
            folded.visits[folded.state] = folded.visits.get(folded.state, 0) + 1
        elif entry.kind in _TASK_STATUS:
            _, attempt = folded.tasks.get(data["task"], ("", 0))
            if entry.kind == "task_claimed":
                attempt = data["attempt"]
            folded.tasks[data["task"]] = _TASK_STATUS[entry.kind], attempt
    return folded
