"""The ledger of a run for people: what its kinds of entries say (`docs/spec/statechart.md` 15, 17).

Kinds that say the same as in a workflow's ledger have their text in :mod:`.history`.
"""

from __future__ import annotations

from typing import Any, Final

from stateous.visible import visible
from stateous_cli.output.history import Data, Texts, with_payload
from stateous_cli.output.tokens import state_text
from stateous_cli.output.visible import json_text


def _started(data: Data) -> str:
    by = data.get("by")
    return "started" if by in (None, "client") else f"started by {visible(_starter(data))}"


def _starter(data: Data) -> str:
    return str(data.get("parent") or data.get("sender") or data["by"])


def _taken(data: Data) -> str:
    text = f"{visible(data['event'])} in {state_text(data['state'])}"
    return with_payload(text, data.get("data"))


def _to(target: Any) -> str:
    return visible(target) if isinstance(target, str) else json_text(target)


def _task_queued(data: Data) -> str:
    return f"task {data['task']} queued for {visible(data['job'])}"


def _note(data: Data) -> str:
    if data.get("about") != "condition":
        return visible(data["text"])
    where = f"{visible(data['event'])} in {state_text(data['state'])}"
    return f"a condition of {where} counts as false: {visible(data['text'])}"


def _failed(data: Data) -> str:
    return f"failed: {visible(data['code'])}: {visible(data['reason'])}"


RUN_TEXTS: Final[Texts] = {
    "started": _started,
    "event_accepted": _taken,
    "event_replayed": lambda d: f"{_taken(d)} (kept until now)",
    "event_kept": lambda d: f"{visible(d['event'])} kept",
    "event_dropped": lambda d: f"{visible(d['event'])} dropped: {visible(d['reason'])}",
    "left": lambda d: f"left {state_text(d['state'])}",
    "sent": lambda d: f"sent {visible(d['event'])} to {_to(d['to'])}",
    "undelivered": lambda d: (
        f"{visible(d['event'])} to {_to(d['to'])} undelivered: {visible(d['reason'])}"
    ),
    "ticket_issued": lambda d: f"ticket {visible(d['ticket'])} issued",
    "ticket_answered": lambda d: f"ticket {visible(d['ticket'])} answered",
    "branch_started": lambda d: f"started the child {visible(d['run'])}",
    "branch_ended": lambda d: f"the child {visible(d['run'])} {visible(d['status'])}",
    "task_queued": _task_queued,
    "note": _note,
    "failed": _failed,
}
