"""What the witness knows of runs: where each send, event, timer, ticket and result has got to.

Everything comes from the ledger as it is committed (`docs/spec/statechart.md` 15):

* **sends**: each `sent` entry comes to exactly one thing: an event at a receiver, a run that starts,
  or `undelivered` at its sender; inside a family in the same transaction. What is still on its way
  to a key is in the outbox, and nothing else is;
* **order**: what one run sends to another by one way arrives in the order in which it was sent;
* **events**: what clients send and jobs emit arrives once; what is kept or held is settled once;
* **timers** fire once in a visit, and in calm weather none is missed;
* **tickets** are answered once, **results** count once: one `task_done` of a task, one `done` of a
  visit's jobs, one end of a child;
* **keys**: no two live runs have one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

from stateous.graph.machine import JobsWork, Machine
from stateous_controlplane.engine.rows import Entry
from stateous_controlplane.store.memory.tables import Tables
from tests.sim.violation import Violation

Place: TypeAlias = tuple[str, int]

#: What becomes of an event when it arrives, and of one that was kept or held.
_ARRIVALS: Final = frozenset({"event_accepted", "event_dropped", "event_kept", "event_deferred"})
_SETTLED: Final = frozenset({"event_replayed", "event_dropped"})
_WAITS: Final = frozenset({"event_kept", "event_deferred"})
#: Events that only the engine makes.
_OWN: Final = frozenset({"done", "failed"})
#: What a client is told of an event, by the entry that it became.
RESULTS: Final = {
    "event_accepted": "taken",
    "event_kept": "kept",
    "event_dropped": "dropped",
    "event_deferred": "held",
}
#: By how much a due timer may be late when nothing goes wrong.
_LATE: Final = timedelta(seconds=10)


class Runs:
    """Reads the ledgers of runs. ``land`` is told of each marked thing that has come to pass."""

    def __init__(self, machines: Mapping[str, Machine], land: Callable[[str, Place], None]) -> None:
        self._machines = machines
        self._land = land
        self._started: set[str] = set()
        self._visits: dict[str, dict[str, int]] = {}
        self._way: dict[Place, Literal["key", "family"]] = {}
        #: Sends that nothing has become of yet.
        self._on_way: set[Place] = set()
        self._received: dict[Place, Place] = {}
        self._last: dict[tuple[str, str, str], int] = {}
        #: Kept and held events by their entries, and whose they are.
        self._waiting: dict[Place, object] = {}
        self._arrived: set[object] = set()
        self._timers: dict[tuple[str, str, int, str], bool] = {}
        self._resumed: dict[str, datetime] = {}
        self._answered: set[str] = set()
        self._done: set[int] = set()
        self._joined: Counter[tuple[str, str, int]] = Counter()
        self._children_ended: set[str] = set()
        #: From when on nothing goes wrong any more, by the clocks that agree then.
        self.calm_since: datetime | None = None

    # ── entries ─────────────────────────────────────────────────────────

    def read(self, tables: Tables, entry: Entry) -> None:
        """An entry of a run was committed."""
        run, data, place = entry.token, entry.data.value, (entry.token, entry.seq)
        if entry.kind in _ARRIVALS | _SETTLED:
            self._read_event(entry, data)
        match entry.kind:
            case "started":
                self._once(self._started, run, f"the run {run} was started twice")
                if "sender" in data:
                    self._receive((data["sender"], data["send"]), place)
            case "entered":
                self._visits.setdefault(run, {})[data["state"]] = data["visit"]
            case "left":
                self._check_missed(tables, entry, data)
            case "sent" if data.get("delivery") != "recorded":
                self._way[place] = "key" if isinstance(data["to"], dict) else "family"
                self._on_way.add(place)
            case "undelivered":
                self._receive((run, data["send"]), place, arrived=False)
            case "timer_set":
                self._timers[self._timer(run, data)] = False
            case "timer_fired":
                timer = self._timer(run, data)
                if self._timers.get(timer, True):
                    raise Violation(f"the timer {timer} fired twice")
                self._timers[timer] = True
            case "resumed":
                self._resumed[run] = entry.at
            case "ticket_answered":
                self._once(self._answered, data["id"], f"{data['id']} of {run} was answered twice")
            case "task_done":
                self._once(self._done, data["task"], f"task {data['task']} was done twice")
                if isinstance(data["output"], dict) and "mark" in data["output"]:
                    self._land(data["output"]["mark"], place)
            case "branch_ended":
                child = data["run"]
                self._once(self._children_ended, child, f"the child {child} ended twice for {run}")
            case _:
                pass

    @staticmethod
    def _once(known: set[Any], what: object, broken: str) -> None:
        if what in known:
            raise Violation(broken)
        known.add(what)

    def _timer(self, run: str, data: Any) -> tuple[str, str, int, str]:
        state = data["state"]
        return run, state, self._visits[run][state], data["event"]

    # ── events ──────────────────────────────────────────────────────────

    def _read_event(self, entry: Entry, data: Any) -> None:
        place = entry.token, entry.seq
        if "seq" in data:
            settled = entry.token, data["seq"]
            if settled not in self._waiting:
                raise Violation(f"the entry {settled} was settled twice, or is no event that waits")
            del self._waiting[settled]
            return
        origin = self._origin(data, place)
        before = [each for each, whose in self._waiting.items() if whose == origin]
        if before and entry.kind == "event_kept":
            # What a pause held is kept by a state now: the same arrival goes on.
            del self._waiting[before[0]]
        else:
            self._arrive(entry, data, origin)
        if entry.kind in _WAITS:
            self._waiting[place] = origin

    def _arrive(self, entry: Entry, data: Any, origin: object) -> None:
        place = entry.token, entry.seq
        if "sender" in data:
            self._receive((data["sender"], data["send"]), place)
        elif isinstance(origin, str):
            self._land(origin, place)
        elif data["event"] == "done":
            visit = self._visits[entry.token].get(data["from"], 0)
            self._joined[entry.token, data["from"], visit] += 1
        self._arrived.add(origin)

    @staticmethod
    def _origin(data: Any, place: Place) -> object:
        """Whose event it is: a send's place, the mark of what was sent once, or its own entry."""
        if "sender" in data:
            return data["sender"], data["send"]
        carried = data["data"]
        if data["event"] not in _OWN and isinstance(carried, dict) and "mark" in carried:
            return carried["mark"]
        return place, "entry"

    def _receive(self, sent: Place, place: Place, *, arrived: bool = True) -> None:
        if sent in self._received:
            raise Violation(f"the send {sent} came to {self._received[sent]} and to {place}")
        if sent not in self._way:
            raise Violation(f"{place} tells of the send {sent}, which there is not")
        self._received[sent] = place
        self._on_way.discard(sent)
        if arrived:
            course = self._way[sent], sent[0], place[0]
            if self._last.get(course, 0) > sent[1]:
                raise Violation(f"{course}: the send {sent[1]} came after {self._last[course]}")
            self._last[course] = sent[1]

    # ── what is on record after a commit ────────────────────────────────

    def check(self, tables: Tables, entries: list[Entry]) -> None:
        """After a commit: what its entries tell is whole, and the rows tell the same."""
        late = sorted(each for each in self._on_way if self._way[each] == "family")
        if late:
            raise Violation(f"the sends {late} came to nothing")
        outbox = {place for place, sent in tables.outbox.items() if sent is not None}
        if outbox != self._on_way:
            raise Violation(f"the outbox has {sorted(outbox)}, on way are {sorted(self._on_way)}")
        self._check_keys(tables)
        for entry in entries:
            if entry.kind == "task_done" and tables.tokens[entry.token].run is not None:
                self._check_result(tables, entry.data.value["task"])
        for place, count in self._joined.items():
            if count > 1 and self._has_jobs(tables, *place[:2]):
                raise Violation(f"the jobs of {place} were done {count} times")

    @staticmethod
    def _check_keys(tables: Tables) -> None:
        holders: dict[str, str] = {}
        for token in tables.tokens.values():
            key = token.run.key if token.run is not None and token.status.live else None
            if key is not None and holders.setdefault(key, token.token) != token.token:
                raise Violation(f"{holders[key]} and {token.token} both have the key {key!r}")

    def _check_result(self, tables: Tables, task: int) -> None:
        row = tables.tasks[task]
        work = self._states(tables, row.token)[row.state].work
        assert isinstance(work, JobsWork)
        if not work.named and self._joined[row.token, row.state, row.visit] != 1:
            raise Violation(f"task {task} was done, and no 'done' of {row.state!r} came of it")

    def _has_jobs(self, tables: Tables, run: str, state: str) -> bool:
        return isinstance(self._states(tables, run)[state].work, JobsWork)

    def _states(self, tables: Tables, run: str) -> Mapping[str, Any]:
        token = tables.tokens[run]
        return self._machines[token.graph].flow(token.workflow).states

    def _check_missed(self, tables: Tables, entry: Entry, data: Any) -> None:
        """A state was left: none of its timers had been due for long, unless something went wrong."""
        if self.calm_since is None:
            return
        earliest = max(self.calm_since, self._resumed.get(entry.token, self.calm_since)) + _LATE
        for timer in tables.timers.values():
            place = timer.token, timer.state, timer.visit
            if place != (entry.token, data["state"], data["visit"]):
                continue
            fired = self._timers[(*place, timer.event)]
            if not fired and earliest < timer.due_at < entry.at - _LATE:
                raise Violation(f"the timer {timer.event!r} of {place} was due, and never fired")

    # ── the end ─────────────────────────────────────────────────────────

    def at_the_end(self) -> None:
        """Everything is over, so nothing is on its way."""
        if self._on_way:
            raise Violation(f"the sends {sorted(self._on_way)} came to nothing")
        if self._waiting:
            raise Violation(f"the events {sorted(self._waiting)} wait for ever")
