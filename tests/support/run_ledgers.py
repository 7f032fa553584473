"""What the ledgers of runs must tell in the end, whatever died when (`docs/spec/statechart.md` 7 to 15).

Every send came to exactly one thing, every timer fired once at most in a visit, every ticket was
answered once at most, every result counted once, every event that waited was settled once, and no two
live runs had one key.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

from stateous_controlplane.engine.rows import Entry

_ARRIVALS = frozenset({"event_accepted", "event_dropped", "event_kept", "event_deferred"})
_RECEIPTS = _ARRIVALS | {"started"}
_WAITS = frozenset({"event_kept", "event_deferred"})
_ENDS = frozenset({"completed", "failed", "cancelled"})


def broken_promises(entries: Iterable[Entry]) -> list[str]:
    """What the whole ledgers of runs that are all at rest tell against the promises, in words."""
    told: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda each: (each.token, each.seq)):
        told[entry.token].append(entry)
    everything = [entry for run in told.values() for entry in run]
    return [
        *_sends(everything),
        *_keys(told.values()),
        *(words for run in told.values() for words in _counts(run)),
    ]


def _sends(entries: list[Entry]) -> Iterator[str]:
    sent = {
        (entry.token, entry.seq)
        for entry in entries
        if entry.kind == "sent" and "delivery" not in entry.data.value
    }
    came: Counter[tuple[str, int]] = Counter()
    held: set[tuple[str, int]] = set()
    for entry in entries:
        data = entry.data.value
        if entry.kind == "undelivered":
            came[entry.token, data["send"]] += 1
        elif entry.kind in _RECEIPTS and "sender" in data and "seq" not in data:
            place = data["sender"], data["send"]
            # What a pause held may be kept by a state afterwards: the same arrival goes on.
            if entry.kind != "event_kept" or place not in held:
                came[place] += 1
            if entry.kind == "event_deferred":
                held.add(place)
    for place in sent | came.keys():
        if came[place] != 1 or place not in sent:
            yield f"the send {place} came to {came[place]} things"


def _keys(runs: Iterable[list[Entry]]) -> Iterator[str]:
    lives: defaultdict[str, list[tuple[datetime, datetime, str]]] = defaultdict(list)
    for run in runs:
        key = run[0].data.value.get("key")
        ends = [entry.at for entry in run if entry.kind in _ENDS]
        if len(ends) != 1:
            yield f"{run[0].token} has ended {len(ends)} times"
        elif key is not None:
            lives[key].append((run[0].at, ends[0], run[0].token))
    for key, spans in lives.items():
        spans.sort()
        for (_, ended, first), (begun, _, second) in pairwise(spans):
            if begun < ended:
                yield f"{first} and {second} had the key {key!r} at once"


def _counts(run: list[Entry]) -> Iterator[str]:
    name = run[0].token
    visits: dict[str, int] = {}
    once: Counter[tuple[Any, ...]] = Counter()
    timers: Counter[tuple[str, int, str]] = Counter()
    waiting: set[int] = set()
    held: dict[object, int] = {}
    for entry in run:
        data, kind = entry.data.value, entry.kind
        match kind:
            case "started" | "task_done" | "branch_ended" | "ticket_answered":
                thing = data.get("task") or data.get("id") or data.get("run")
                once[kind, thing] += 1
            case "entered":
                visits[data["state"]] = data["visit"]
                once[kind, data["state"], data["visit"]] += 1
            case "timer_set" | "timer_fired":
                place = data["state"], visits[data["state"]], data["event"]
                timers[place] += 1 if kind == "timer_set" else -1
                if timers[place] not in (0, 1):
                    yield f"{name}: {kind} of {place} too often"
            case _ if "seq" in data and kind in ("event_replayed", "event_dropped"):
                if data["seq"] not in waiting:
                    yield f"{name}: the event {data['seq']} was settled twice"
                waiting.discard(data["seq"])
            case _ if kind in _WAITS:
                origin = data.get("sender"), data.get("send"), str(data["data"]), data["event"]
                if kind == "event_kept":
                    waiting.discard(held.pop(origin, 0))
                else:
                    held[origin] = entry.seq
                waiting.add(entry.seq)
    for what, count in once.items():
        if count > 1:
            yield f"{name}: {what} {count} times"
    for seq in waiting:
        yield f"{name}: the event {seq} waits for ever"


def marks(entries: Iterable[Entry]) -> Counter[str]:
    """How often each marked event arrived that a client sent or a job emitted."""
    arrived: Counter[str] = Counter()
    held: set[str] = set()
    for entry in sorted(entries, key=lambda each: (each.token, each.seq)):
        data = entry.data.value
        if entry.kind not in _ARRIVALS or "seq" in data or "sender" in data:
            continue
        mark = data["data"].get("mark") if isinstance(data["data"], dict) else None
        if mark is None or (entry.kind == "event_kept" and mark in held):
            continue
        arrived[mark] += 1
        if entry.kind == "event_deferred":
            held.add(mark)
    return arrived
