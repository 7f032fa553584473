"""The witness: sees every commit and every answer, and says when one of the promises is broken.

It never asks the product what is true. It knows who took the hold last, it has read every ledger
entry at its commit, and it compares both with what callers were told:

* **the fence**: nobody commits but who took the hold last;
* **durability**: whatever was answered is on record at that moment, and stays there unchanged;
* **exactly once**: everything that a caller sends carries a mark of its own, and no mark is found
  twice; `201` is said once;
* **a refusal is the truth**: what was refused as often as it was asked for is found nowhere;
* **grants**: an attempt is granted to one request only, and run once;
* **reports**: one outcome for each attempt, within that attempt, behind all of its notes;
* **memory**: no older write covers a newer one;
* **waiting claims** are answered in time, and never wait beside a task that they could have;
* **time**: no timer fires early, no lease ends early, no token's entries go back;
* **families** keep the engine's rules (:mod:`stateous_controlplane.engine.invariants`);
* **runs** have promises of their own (:mod:`tests.sim.run_witness`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from stateous.graph.machine import Machine
from stateous.json import read_json
from stateous_controlplane.answers import Answer
from stateous_controlplane.engine.commands import (
    AddNote,
    AnswerTicket,
    Cancel,
    Claim,
    Fire,
    Pause,
    ReportDone,
    ReportEvent,
    ReportFailed,
    ReportWaiting,
    Resume,
    SendEvent,
    Start,
    SubmitRun,
    WriteMemory,
)
from stateous_controlplane.engine.invariants import broken_ledger, broken_rows
from stateous_controlplane.engine.rows import Entry, TaskStatus, TimerStatus
from stateous_controlplane.store.memory.tables import Tables
from stateous_controlplane.store.port import Changes
from stateous_controlplane.writer.requests import Emits
from stateous_controlplane.writer.submission import Submission
from tests.sim.databases import SharedDatabase
from tests.sim.families import family_of
from tests.sim.run_witness import RESULTS, Runs
from tests.sim.timeline import Timeline
from tests.sim.violation import Violation

#: The key of a routine's memory that is written again and again, with ever greater values.
SHARED_KEY: Final = "last"
_STEERED: Final = {Pause: "paused", Resume: "resumed", Cancel: "cancelled"}
_LEASE_OVER: Final = re.compile(r" stopped answering: no heartbeat for ")


class Plane(Protocol):
    """What the witness looks at of a control plane."""

    holder: str
    host: Any
    sequencer: Any


class Witness:
    """Sees the commits and answers of one simulation."""

    def __init__(
        self, timeline: Timeline, database: SharedDatabase, machines: Mapping[str, Machine]
    ) -> None:
        self._timeline = timeline
        self._database = database
        self._machines = machines
        self.holder = ""
        self.entries: dict[tuple[str, int], Entry] = {}
        #: How often each marked thing has come to pass, and where it stands in a ledger.
        self.landed: Counter[str] = Counter()
        self._places: dict[str, tuple[str, int]] = {}
        self._deferred: set[str] = set()
        self._asked: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._steered: Counter[str] = Counter()
        self._attempts: dict[int, int] = {}
        self._outcomes: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
        self._grants: dict[tuple[int, int], tuple[str, str | None]] = {}
        self._begun: set[tuple[int, int]] = set()
        self._written: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
        self._reported: set[tuple[int, int]] = set()
        self._highest: dict[tuple[str, str], int] = {}
        self.runs = Runs(machines, self._land)

    # ── commits ─────────────────────────────────────────────────────────

    def taken(self, holder: str) -> None:
        """``holder`` has written its name into the row."""
        self.holder = holder

    def committed(self, holder: str, before: Tables, changes: Changes) -> None:
        """A transaction of ``holder`` is durable."""
        kinds = ", ".join(f"{e.token} {e.kind}" for e in changes.entries)
        self._timeline.tell("commit", f"{holder}: {kinds or 'rows only'}")
        if holder != self.holder:
            raise Violation(f"{holder} committed, and {self.holder} had taken the hold")
        tables = self._database.tables
        for entry in changes.entries:
            self._read(tables, entry)
        self.runs.check(tables, changes.entries)
        self._check_times(before, changes)
        self._check_memory(changes)
        rows = (*changes.new_tokens, *changes.tokens, *changes.moves, *changes.positions)
        self.check_families({row.top for row in rows})

    def _read(self, tables: Tables, entry: Entry) -> None:
        place = entry.token, entry.seq
        if place in self.entries:
            raise Violation(f"the entry {place} was written twice")
        self.entries[place] = entry
        data = entry.data.value
        task = data.get("task")
        token = tables.tokens[entry.token]
        if token.run is not None:
            self.runs.read(tables, entry)
        match entry.kind:
            case "event_deferred" | "event_accepted" if mark := mark_of(data.get("payload")):
                if entry.kind == "event_deferred":
                    self._deferred.add(mark)
                elif mark in self._deferred:
                    # A held event that is applied now: it has landed when it was held.
                    self._deferred.remove(mark)
                    return
                self._land(mark, place)
            case "note" if task is not None:
                self._land(data["text"], place)
            case "memory_set" if data["memory_key"] != SHARED_KEY:
                self._land(data["memory_key"], place)
            case "task_claimed":
                self._attempts[task] = data["attempt"]
                self._land(f"claim {task}.{data['attempt']}", place)
            case "task_waiting" | "task_failed":
                outcomes = self._outcomes[task, self._attempts.get(task, 0)]
                if entry.kind in outcomes:
                    raise Violation(f"{entry.kind} twice in one attempt of task {task}")
                outcomes.append(entry.kind)
            case "paused" | "resumed" | "cancelled" if token.parent is None:
                self._land(f"{entry.kind} {entry.token}", place, once=False)
            case _:
                pass

    def _land(self, mark: str, place: tuple[str, int], *, once: bool = True) -> None:
        self.landed[mark] += 1
        self._places.setdefault(mark, place)
        if once and self.landed[mark] > 1:
            raise Violation(f"{mark!r} was applied twice: at {self._places[mark]} and {place}")
        self._check_refusals(mark)

    def _check_refusals(self, mark: str) -> None:
        refused = self._refused[mark]
        if refused and self.landed[mark] > self._asked[mark] - refused:
            raise Violation(f"{mark!r} was refused, and applied at {self._places[mark]}")

    def _check_times(self, before: Tables, changes: Changes) -> None:
        fired = {
            (entry.token, entry.data.value["event"]): entry.at
            for entry in changes.entries
            if entry.kind == "timer_fired"
        }
        for timer in changes.timers:
            if timer.status is TimerStatus.FIRED:
                at = fired.get((timer.token, timer.event))
                if at is None or at < timer.due_at:
                    raise Violation(f"timer {timer.id} fired at {at}, and was due {timer.due_at}")
        for entry in changes.entries:
            row = before.tokens.get(entry.token)
            if row is not None and entry.at <= row.at:
                raise Violation(f"{entry.token}: entry {entry.seq} is of {entry.at}, not later")
            if entry.kind == "task_failed" and _LEASE_OVER.search(entry.data.value["error"]):
                task = before.tasks[entry.data.value["task"]]
                if task.status is not TaskStatus.CLAIMED or task.lease_until is None:
                    raise Violation(f"the lease of task {task.id} ended, and it is {task.status}")
                if task.lease_until > entry.at:
                    raise Violation(f"the lease of task {task.id} ended before its time")

    def _check_memory(self, changes: Changes) -> None:
        for (token, state, key), text in changes.memory.items():
            if key != SHARED_KEY or text is None:
                continue
            place = token, state
            if text.value <= self._highest.get(place, 0):
                raise Violation(
                    f"memory of {place}: {text.value} came after {self._highest[place]}"
                )
            self._highest[place] = text.value

    def check_families(self, tops: Iterable[str]) -> None:
        """The engine's rules, for whole families as they are on record."""
        tables = self._database.tables
        for top in sorted(tops):
            family = family_of(tables, top)
            ledger = [e for e in tables.ledger.values() if e.token in family.tokens]
            ledger.sort(key=lambda entry: (entry.token, entry.seq))
            broken = broken_rows(family, self._machines) + broken_ledger(family, ledger)
            if broken:
                raise Violation(f"the family {top} breaks its rules: {'; '.join(broken)}")

    # ── answers ─────────────────────────────────────────────────────────

    def asked(self, request: object) -> None:
        """A control plane has read this request."""
        mark = _marked(request)
        if mark is not None:
            self._asked[mark] += 1

    def answered(self, request: object, answer: Answer) -> None:
        """A control plane lets this answer out: what it says must be on record now."""
        if answer.status == 500:
            raise Violation(f"500 for {request}")
        if answer.status == 503:
            return
        done = answer.status < 300
        mark = _marked(request)
        if mark is not None and not done:
            self._refused[mark] += 1
            self._check_refusals(mark)
        match request:
            case Start(token=token) if done:
                if token not in self._database.tables.tokens:
                    raise Violation(f"{token} was answered, and is not on record")
                if answer.status == 201:
                    self._land(f"201 of {token}", (token, 1))
            case SubmitRun(run=run) if done:
                if run not in self._database.tables.tokens:
                    raise Violation(f"{run} was answered, and is not on record")
                if answer.status == 201:
                    self._land(f"201 of {run}", (run, 1))
            case ReportEvent() | ReportWaiting() | ReportFailed() | ReportDone() if done:
                self._check_report(request)
            case Pause() | Resume() | Cancel() if done:
                assert mark is not None
                self._steered[mark] += 1
                if self._steered[mark] > self.landed[mark]:
                    raise Violation(f"{mark!r} was answered, and is not so")
            case Fire() | AddNote() | WriteMemory() | Emits() if done and mark is not None:
                self._must_have_landed(mark)
            case SendEvent() | AnswerTicket() if done and mark is not None:
                self._must_have_landed(mark)
                told = read_json(answer.body or b"")
                kind = self.entries[self._places[mark]].kind
                if not isinstance(told, dict) or told["result"] != RESULTS[kind]:
                    raise Violation(f"{mark!r} was answered with {told}, and its entry is {kind}")
            case Claim():
                self._check_grants(request, answer)
            case _:
                pass

    def _must_have_landed(self, mark: str) -> None:
        place = self._places.get(mark)
        if place is None:
            raise Violation(f"{mark!r} was answered, and never applied")
        if place not in self._database.tables.ledger:
            raise Violation(f"{mark!r} was answered, and is not on record")

    def _check_report(
        self, report: ReportEvent | ReportWaiting | ReportFailed | ReportDone
    ) -> None:
        assert report.attempt is not None
        attempt = report.task, report.attempt
        if report.supervisor is not None:
            if attempt in self._reported:
                raise Violation(f"two reports of the attempt {attempt} were accepted")
            self._reported.add(attempt)
        match report:
            case ReportEvent() | ReportDone():
                mark = _marked(report)
                assert mark is not None
                self._must_have_landed(mark)
                seq = self._places[mark][1]
                following = self._places.get(f"claim {report.task}.{report.attempt + 1}")
                if following is not None and following[1] < seq:
                    raise Violation(f"the report of {attempt} was accepted in a later attempt")
            case ReportWaiting():
                if "task_waiting" not in self._outcomes[attempt]:
                    raise Violation(f"{attempt} was answered to wait, and does not")
            case ReportFailed():
                if "task_failed" not in self._outcomes[attempt]:
                    raise Violation(f"{attempt} was answered to have failed, and has not")
        for mark in self._written[attempt]:
            if not self.landed[mark]:
                raise Violation(f"{attempt} was reported before its {mark!r} arrived")

    def _check_grants(self, claim: Claim, answer: Answer) -> None:
        if answer.body is None:
            return
        body: Any = read_json(answer.body)
        for grant in body.get("tasks", [body]):
            attempt = grant["task"], grant["attempt"]
            mine = claim.supervisor, claim.request
            if self._grants.setdefault(attempt, mine) != mine:
                raise Violation(f"{attempt} was granted to {self._grants[attempt]} and to {mine}")
            self._must_have_landed(f"claim {attempt[0]}.{attempt[1]}")

    # ── supervisors ─────────────────────────────────────────────────────

    def begun(self, task: int, attempt: int) -> None:
        """A supervisor runs an attempt."""
        if (task, attempt) in self._begun:
            raise Violation(f"attempt {attempt} of task {task} is run twice")
        self._begun.add((task, attempt))

    def written(self, task: int, attempt: int, mark: str) -> None:
        """A note or memory write of an attempt is on its supervisor's disk."""
        self._written[task, attempt].append(mark)

    # ── control planes at rest ──────────────────────────────────────────

    def at_rest(self, plane: Plane, unanswered: list[Submission], *, ended: bool = False) -> None:
        """The sequencer has nothing to do: nobody but a claim may still wait."""
        for submission in unanswered:
            claim = submission.request
            if not isinstance(claim, Claim):
                raise Violation(f"{claim} got no answer")
            if ended or plane.sequencer.lost or submission.deadline <= plane.host.monotonic():
                raise Violation(f"{claim} waits, and its time is over")
            if plane.holder != self.holder:
                continue
            for task in self._database.tables.tasks.values():
                if task.ready and task.queue in claim.queues:
                    raise Violation(f"{claim} waits, and task {task.id} is ready")

    # ── the end ─────────────────────────────────────────────────────────

    def at_the_end(self) -> None:
        """Everything is over: the whole record against all that was ever committed."""
        tables = self._database.tables
        live = sorted(each.token for each in tables.tokens.values() if each.status.live)
        if live:
            raise Violation(f"these tokens never end: {', '.join(live)}")
        if dict(tables.ledger) != self.entries:
            lost = sorted(self.entries.keys() - tables.ledger.keys())
            raise Violation(f"the ledger is not what was committed; lost: {lost}")
        self.runs.at_the_end()
        self.check_families({each.top for each in tables.tokens.values()})


def _marked(request: object) -> str | None:
    """By what the effect of a request is known in the ledger."""
    match request:
        case Fire(payload=payload) | ReportEvent(payload=payload):
            return mark_of(None if payload is None else payload.value)
        case SendEvent(data=data) | AnswerTicket(answer=data) | ReportDone(output=data):
            return mark_of(data.value)
        case Emits(values=(first, *_)):
            return mark_of(first.data.value)
        case AddNote(text=text):
            return text
        case WriteMemory(key=key):
            return key if key != SHARED_KEY else None
        case Pause(token=token) | Resume(token=token) | Cancel(token=token):
            return f"{_STEERED[type(request)]} {token}"
        case _:
            return None


def mark_of(payload: Any) -> str | None:
    """The mark that a payload carries."""
    return payload.get("mark") if isinstance(payload, dict) else None
