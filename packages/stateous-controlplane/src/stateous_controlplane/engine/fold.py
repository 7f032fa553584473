"""Folding a ledger: what a token's entries alone say of its rows.

The ledger explains every row and is never read to decide, so the engine does not fold: its tests
and the simulation do, and compare (:mod:`.invariants`). Nothing here is shared with what writes the
entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from stateous_controlplane.engine.rows import Entry

_TASK_STATUS: Final = {
    "task_queued": "queued",
    "task_retrying": "queued",
    "task_claimed": "claimed",
    "task_waiting": "waiting",
    "task_done": "done",
    "task_failed": "failed",
    "task_cancelled": "cancelled",
}
_TOKEN_STATUS: Final = {
    "started": "active",
    "resumed": "active",
    "paused": "paused",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}
_OPEN: Final = frozenset({"queued", "claimed", "waiting"})


@dataclass(slots=True)
class Folded:
    """A token as its ledger tells it.

    ``tasks`` has each task's status and attempt. ``held`` are the arrivals of the events that a
    pause holds, in order; ``children`` those that were started in the current visit.
    """

    status: str = ""
    state: str = ""
    visit: int = 0
    entered_at: datetime | None = None
    counts: dict[str, int] = field(default_factory=dict)
    visits: dict[str, int] = field(default_factory=dict)
    tasks: dict[int, tuple[str, int]] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    held: list[int] = field(default_factory=list)
    children: list[str] = field(default_factory=list)

    @property
    def open_tasks(self) -> dict[int, tuple[str, int]]:
        """The tasks that can still become something else."""
        return {task: told for task, told in self.tasks.items() if told[0] in _OPEN}


def fold(entries: Iterable[Entry]) -> Folded:
    """What ``entries``, all those of one token in their order, amount to."""
    folded = Folded()
    for entry in entries:
        _add(folded, entry)
    return folded


def _add(folded: Folded, entry: Entry) -> None:
    data = entry.data.value
    folded.status = _TOKEN_STATUS.get(entry.kind, folded.status)
    if entry.key is not None:
        folded.keys.add(entry.key)
    match entry.kind:
        case "event_accepted":
            folded.counts[data["event"]] = folded.counts.get(data["event"], 0) + 1
        case "entered":
            folded.state, folded.visit = data["state"], data["visit"]
            folded.visits[folded.state] = folded.visits.get(folded.state, 0) + 1
            folded.entered_at = entry.at
            folded.children = []
        case "branch_started":
            folded.children.append(data["token"])
        case "event_deferred":
            folded.held.append(data["arrival"])
        case "event_replayed" | "event_dropped":
            # They are applied, or dropped, in the order in which they came.
            folded.held.pop(0)
        case kind if kind in _TASK_STATUS:
            _, attempt = folded.tasks.get(data["task"], ("", 0))
            if kind == "task_claimed":
                attempt = data["attempt"]
            folded.tasks[data["task"]] = _TASK_STATUS[kind], attempt
        case _:
            pass
