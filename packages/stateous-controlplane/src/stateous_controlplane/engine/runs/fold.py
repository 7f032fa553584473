"""Folding a run's ledger: what its entries alone say of its rows (`docs/spec/statechart.md` 15).

Only tests and the simulation fold (:mod:`.invariants`). Nothing here is shared with what writes the
entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from stateous_controlplane.engine.rows import Entry

_STATUS: Final = {
    "started": "active",
    "resumed": "active",
    "paused": "paused",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
}
_TASK_STATUS: Final = {
    "task_queued": "queued",
    "task_retrying": "queued",
    "task_claimed": "claimed",
    "task_done": "done",
    "task_failed": "failed",
    "task_cancelled": "cancelled",
}
_ENDS: Final = frozenset({"completed", "failed", "cancelled"})


@dataclass(slots=True)
class FoldedRun:
    """A run as its ledger tells it.

    ``path`` has state, visit and when it was entered. ``tasks`` has each task's status and attempt,
    ``timers`` the (state, event) of those that are pending, ``tickets`` the ids of those that are
    open. ``kept`` are the entries of kept events, ``held`` those of held ones with their arrivals.
    """

    status: str = ""
    input: Any = None
    key: str | None = None
    job: str | None = None
    output: Any = None
    error: tuple[str, str] | None = None
    path: list[tuple[str, int, Any]] = field(default_factory=list)
    visits: dict[str, int] = field(default_factory=dict)
    tasks: dict[int, tuple[str, int]] = field(default_factory=dict)
    timers: list[tuple[str, str]] = field(default_factory=list)
    tickets: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    kept: list[int] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)


def fold_run(entries: Iterable[Entry]) -> FoldedRun:
    """What ``entries``, all those of one run in their order, amount to."""
    folded = FoldedRun()
    for entry in entries:
        _add(folded, entry)
    return folded


def _add(folded: FoldedRun, entry: Entry) -> None:
    data, kind = entry.data.value, entry.kind
    folded.status = _STATUS.get(kind, folded.status)
    if entry.key is not None:
        folded.keys.add(entry.key)
    if kind in _ENDS:
        folded.timers, folded.tickets = [], {}
    match kind:
        case "started":
            folded.input, folded.key, folded.job = data["input"], data.get("key"), data.get("job")
        case "completed":
            folded.output = data["output"]
        case "failed":
            folded.error, folded.output = (data["code"], data["reason"]), data.get("output")
        case "entered":
            folded.visits[data["state"]] = folded.visits.get(data["state"], 0) + 1
            folded.path.append((data["state"], data["visit"], entry.at))
            folded.children = []
        case "left":
            state, _, _ = folded.path.pop()
            folded.timers = [each for each in folded.timers if each[0] != state]
            folded.tickets = {
                ticket: where for ticket, where in folded.tickets.items() if where != state
            }
        case "branch_started":
            folded.children.append(data["run"])
        case "timer_set":
            folded.timers.append((data["state"], data["event"]))
        case "timer_fired":
            folded.timers.remove((data["state"], data["event"]))
        case "ticket_issued":
            folded.tickets[data["id"]] = data["state"]
        case "ticket_answered":
            del folded.tickets[data["id"]]
        case "event_kept":
            folded.kept.append(entry.seq)
        case "event_deferred":
            folded.held[entry.seq] = data["arrival"]
        case "resumed":
            folded.held = {}  # whatever was held is applied in the same command
        case "event_replayed" | "event_dropped":
            folded.held.pop(data.get("seq"), None)
            if data.get("seq") in folded.kept:
                folded.kept.remove(data["seq"])
        case _ if kind in _TASK_STATUS:
            _, attempt = folded.tasks.get(data["task"], ("", 0))
            attempt = data["attempt"] if kind == "task_claimed" else attempt
            folded.tasks[data["task"]] = _TASK_STATUS[kind], attempt
        case _:
            pass
