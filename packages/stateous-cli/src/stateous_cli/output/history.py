"""The ledger for people: a line per entry, a text per kind (`docs/spec/authoring.md` 9.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, tzinfo
from typing import Any, Final, TypeAlias

from stateous.visible import visible
from stateous.wire.moments import read_moment
from stateous_cli.output.tokens import state_text, visit_text
from stateous_cli.output.visible import json_text

Data = Mapping[str, Any]
#: What each kind of entry says.
Texts: TypeAlias = Mapping[str, Callable[[Data], str]]

#: A payload longer than this, in characters, is cut.
MAX_PAYLOAD: Final = 80


def history_lines(
    entries: Iterable[Mapping[str, Any]],
    *,
    today: date,
    zone: tzinfo | None = None,
    texts: Texts | None = None,
) -> list[str]:
    """One line per entry: `HH:MM:SS  #<seq>  <text>`, the date before it unless it is of today.

    ``zone`` is the time zone of the reader, None for the computer's own. ``texts`` are those of
    kinds that mean something else where the entries come from.
    """
    return [
        f"{_clock(read_moment(entry['at']), today, zone)}  #{entry['seq']}  "
        f"{entry_text(entry['kind'], entry['data'], zone, texts)}"
        for entry in entries
    ]


def entry_text(
    kind: str, data: Data, zone: tzinfo | None = None, texts: Texts | None = None
) -> str:
    """What happened, in a few words. A kind that is not known shows its name and data."""
    if kind == "timer_set":
        due = _moment(read_moment(data["due_at"]), zone)
        return f"timer set: {visible(data['event'])} at {due}"
    text = (texts or {}).get(kind) or _TEXTS.get(kind)
    return text(data) if text is not None else f"{visible(kind)} {json_text(data)}"


def _clock(at: datetime, today: date, zone: tzinfo | None) -> str:
    local = at.astimezone(zone)
    return f"{local:%H:%M:%S}" if local.date() == today else _moment(at, zone)


def _moment(at: datetime, zone: tzinfo | None) -> str:
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S}"


def _started(data: Data) -> str:
    return f"started by {visible(data['parent'])}" if "parent" in data else "started"


def _event_accepted(data: Data) -> str:
    return with_payload(f"{visible(data['event'])} in {state_text(data['state'])}", data["payload"])


def with_payload(text: str, payload: Any) -> str:
    """The text, and behind it what came with the event, cut when it is long."""
    return text if payload is None else f"{text}: {_cut(json_text(payload))}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_PAYLOAD else text[: MAX_PAYLOAD - 1] + "…"


def _word(word: str) -> Callable[[Data], str]:
    def text(data: Data) -> str:
        return f"{word}: {visible(data['reason'])}" if data.get("reason") else word

    return text


def _memory(what: str) -> Callable[[Data], str]:
    def text(data: Data) -> str:
        return f"memory {what}: {visible(data['memory_key'])} (in {state_text(data['state'])})"

    return text


_TEXTS: Final[dict[str, Callable[[Data], str]]] = {
    "started": _started,
    "branch_started": lambda d: f"started the child {visible(d['token'])}",
    "entered": lambda d: f"entered {visit_text(d['state'], d['visit'])}",
    "event_accepted": _event_accepted,
    "event_rejected": lambda d: f"{visible(d['event'])} refused: {visible(d['reason'])}",
    "event_deferred": lambda d: f"{visible(d['event'])} held while paused",
    "event_replayed": lambda d: f"{visible(d['event'])} applied on resume",
    "event_dropped": lambda d: f"{visible(d['event'])} dropped on resume: {visible(d['reason'])}",
    "task_queued": lambda d: f"task {d['task']} queued for {state_text(d['state'])}",
    "task_claimed": lambda d: (
        f"{visible(d['supervisor'])} took task {d['task']} (attempt {d['attempt']})"
    ),
    "task_waiting": lambda d: f"task {d['task']} waits: for an event, a timer or a report",
    "task_done": lambda d: f"task {d['task']} done",
    "task_cancelled": lambda d: f"task {d['task']} cancelled",
    "task_failed": lambda d: f"task {d['task']} failed: {visible(d['error'])}",
    "task_retrying": lambda d: f"task {d['task']} is tried again (attempt {d['attempt']})",
    "timer_fired": lambda d: f"timer fired: {visible(d['event'])}",
    "note": lambda d: visible(d["text"]),
    "memory_set": _memory("set"),
    "memory_deleted": _memory("deleted"),
    "context_changed": lambda d: f"context changed: {', '.join(map(visible, d['keys']))}",
    "paused": _word("paused"),
    "resumed": _word("resumed"),
    "completed": _word("completed"),
    "cancelled": _word("cancelled"),
    "failed": _word("failed"),
}
