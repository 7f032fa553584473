"""A control plane and its naive model, which are asked the same and must say and hold the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jsonschema_rs import validator_for

from stateous.json import JsonText
from stateous_controlplane.engine.commands import (
    AddNote,
    Cancel,
    Claim,
    Command,
    Fire,
    Heartbeat,
    Pause,
    ReportEvent,
    ReportFailed,
    ReportWaiting,
    Request,
    Resume,
    Schedule,
    Start,
    WriteMemory,
)
from stateous_controlplane.engine.family import Family
from stateous_controlplane.engine.invariants import broken_rules
from stateous_controlplane.engine.rows import Entry, Task, Timer, Token
from stateous_controlplane.store.held import held_event
from stateous_controlplane.writer.working_set import MAX_WEIGHT
from tests.property.naive_model import Model
from tests.property.random_workflows import GUARDS, SCHEMAS
from tests.support.known import assert_known_is_on_record
from tests.support.writer import NOON, Writer

VALID = {name: validator_for(schema).is_valid for name, schema in SCHEMAS.items()}
STEERING = {"pause": Pause, "resume": Resume, "cancel": Cancel}


def text(value: Any) -> JsonText | None:
    return None if value is None else JsonText.of(value)


def plain(value: Any) -> Any:
    return None if value is None else value.value


def canonical(value: Any) -> str:
    """A text that tells 1 from 1.0 and true; moments as the API writes them."""
    return json.dumps(value, sort_keys=True, default=moment)


def moment(at: datetime) -> str:
    """ISO 8601 in UTC, without a fraction when it is none."""
    return at.isoformat().replace("+00:00", "Z")


@dataclass
class Twins:
    """Both of them. Every request is asked of both, and answers and rows are compared."""

    document: dict[str, Any]
    #: How many bytes of rows the writer keeps from batch to batch.
    kept: int = MAX_WEIGHT
    writer: Writer = field(init=False)
    model: Model = field(init=False)
    _compared: dict[str, int] = field(default_factory=dict)
    _checked: datetime = NOON
    _batch: list[Any] | None = None

    def __post_init__(self) -> None:
        self.model = Model(self.document, GUARDS, VALID, NOON)
        self.writer = Writer(self.document, kept=self.kept)

    # ── asking ──────────────────────────────────────────────────────────

    def start(self, token: str, context: Any = None) -> None:
        self._ask(Start(token, text(context)), "start", token, context)

    def fire(self, token: str, event: str, payload: Any = None, key: str | None = None) -> None:
        self._ask(Fire(token, event, text(payload), key), "fire", token, event, payload, key)

    def steer(self, verb: str, token: str) -> None:
        self._ask(STEERING[verb](token), "steer", verb, token)

    def claim(
        self,
        supervisor: str,
        states: list[str],
        request: str | None = None,
        most: int | None = None,
    ) -> None:
        claim = Claim(supervisor, tuple(states), request=request, max=most)
        self._ask(claim, "claim", supervisor, states, request, most)

    def heartbeat(self, supervisor: str, tasks: list[int]) -> None:
        self._ask(Heartbeat(supervisor, tuple(tasks)), "heartbeat", supervisor, tasks)

    def report_event(
        self, task: int, event: str, payload: Any, changes: Any, schedules: list[Any], **who: Any
    ) -> None:
        timers = _timers(schedules)
        command = ReportEvent(task, event, text(payload), text(changes), timers, **who)
        said = event, payload, changes, schedules
        self._ask(command, "report", task, "event", said, **who)

    def report_waiting(self, task: int, changes: Any, schedules: list[Any], **who: Any) -> None:
        command = ReportWaiting(task, text(changes), _timers(schedules), **who)
        said = "", None, changes, schedules
        self._ask(command, "report", task, "waiting", said, **who)

    def report_failed(self, task: int, error: str, **who: Any) -> None:
        self._ask(ReportFailed(task, error, **who), "report", task, "failed", error, **who)

    def note(self, task: int, attempt: int | None, number: int | None) -> None:
        command = AddNote(task, "a note", attempt, number)
        self._ask(command, "write", task, attempt, number, text="a note")

    def remember(
        self, task: int, key: str, value: Any, attempt: int | None, number: int | None
    ) -> None:
        command = WriteMemory(task, key, text(value), attempt, number)
        self._ask(command, "write", task, attempt, number, key=key, value=value)

    def pass_time(self, seconds: float, wall: float | None = None) -> None:
        """Time passes; the wall clock may jump meanwhile. Then the clock ticks."""
        self.writer.clock.advance(seconds)
        if wall is not None:
            self.writer.clock.advance_wall(wall)
        self.model.wall = self.writer.clock.wall
        self.writer.run()
        self._tick()
        self._compare()

    def _tick(self) -> None:
        """The model's clock: leases that are over, then timers that are due, oldest first."""
        model = self.model
        now = max(model.wall, model.now)
        claimed = [task for task in model.tasks.values() if task.status == "claimed"]
        pending = [timer for timer in model.timers.values() if timer.status == "pending"]
        active = [timer for timer in pending if model.tokens[timer.token].status == "active"]
        over = [(task.lease_until, "lapse", task.id) for task in claimed if task.lease_until < now]
        due = [(timer.due_at, "ring", timer.id) for timer in active if timer.due_at <= now]
        for _, command, number in sorted(over) + sorted(due):
            model.play(command, number)

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is asked inside arrives at once, and is decided in one batch."""
        self._batch = []
        yield
        batch, self._batch = self._batch, None
        self._play(batch)

    def _ask(self, request: Request | Command, *asked: Any, **named: Any) -> None:
        if self._batch is None:
            self._play([(request, asked, named)])
        else:
            self._batch.append((request, asked, named))

    def _play(self, batch: list[tuple[Request | Command, tuple[Any, ...], dict[str, Any]]]) -> None:
        self.writer.clock.advance_wall(0.001)
        self.model.wall = self.writer.clock.wall
        submissions = [self.writer.submit(request) for request, _, _ in batch]
        self.writer.run()
        for submission, (request, asked, named) in zip(submissions, batch, strict=True):
            status, body = self.writer.status(submission), self.writer.body(submission)
            code = None
            if status >= 400:
                assert body.pop("error")
                code, body = body.pop("code"), body or None
            expected = canonical(self.model.play(*asked, **named))
            assert canonical((status, code, body)) == expected, request
        self._compare()

    # ── comparing ───────────────────────────────────────────────────────

    def _compare(self) -> None:
        tables, model = self.writer.database.tables, self.model
        _same({each.token: _token(each) for each in tables.tokens.values()}, model.tokens)
        _same({each.id: _task(each) for each in tables.tasks.values()}, model.tasks)
        _same({each.id: _timer(each) for each in tables.timers.values()}, model.timers)
        memory: dict[tuple[str, str], Any] = {}
        for (token, state, key), value in tables.memory.items():
            if value is not None:
                memory.setdefault((token, state), {})[key] = value.value
        _same(memory, {place: kept for place, kept in model.memory.items() if kept})
        kept = {place: each for place, each in tables.kept.items() if each is not None}
        expected = {(each.token, each.seq): (each.top, each.arrival) for each in model.held}
        _same(kept, expected)
        claims = {
            each: (granted.request, list(granted.granted))
            for each, granted in tables.claims.items()
        }
        _same(claims, model.claims)
        self._compare_ledger()
        self._check_rules()

    def _compare_ledger(self) -> None:
        ledger = self.writer.database.tables.ledger
        assert len(ledger) == sum(map(len, self.model.ledger.values()))
        for token, entries in self.model.ledger.items():
            for seq, at, kind, key, data in entries[self._compared.get(token, 0) :]:
                entry = ledger[token, seq]
                assert (entry.at, entry.kind, entry.key) == (at, kind, key)
                _same_data(entry, data)
            self._compared[token] = len(entries)

    def _check_rules(self) -> None:
        """The engine's own rules, for each family that has moved; what the writer knows is so."""
        assert_known_is_on_record(self.writer)
        tables = self.writer.database.tables
        moved = {each.top for each in tables.tokens.values() if each.at > self._checked}
        for top in moved:
            assert (
                broken_rules(*self.family(top), {self.writer.served.checksum: self.writer.served})
                == []
            )
        self._checked = max((each.at for each in tables.tokens.values()), default=self._checked)

    def family(self, top: str) -> tuple[Family, list[Entry]]:
        """All rows of a family, and its ledger."""
        tables = self.writer.database.tables
        names = {each.token for each in tables.tokens.values() if each.top == top}
        entries = [entry for entry in tables.ledger.values() if entry.token in names]
        family = Family(
            tokens={each: tables.tokens[each] for each in names},
            tasks={each.id: each for each in tables.tasks.values() if each.token in names},
            timers={each.id: each for each in tables.timers.values() if each.token in names},
        )
        family.keys = {
            (entry.token, entry.key): None  # type: ignore[misc]
            for entry in entries
            if entry.key is not None
        }
        for (token, state, key), value in tables.memory.items():
            if token in names and value is not None:
                family.memory.setdefault((token, state), {})[key] = value
        for (token, seq), kept in tables.kept.items():
            if kept is not None and kept.top == top:
                entry = tables.ledger[token, seq]
                family.held[token, seq] = held_event(
                    token, seq, top, kept.arrival, entry.at, entry.data
                )
        family.holding = len(family.held)
        return family, sorted(entries, key=lambda entry: entry.seq)


def _timers(schedules: list[Any]) -> tuple[Schedule, ...]:
    return tuple(
        Schedule(each["event"], each["after"], text(each.get("payload"))) for each in schedules
    )


def _same(rows: Any, expected: Any) -> None:
    assert rows.keys() == expected.keys()
    for key, row in rows.items():
        assert row == expected[key], key


def _same_data(entry: Entry, expected: dict[str, Any]) -> None:
    data = dict(entry.data.value)
    for name, words in expected.items():
        if isinstance(words, str) and words.endswith("…"):
            said = data.get(name)
            assert said, (entry, words)
            assert said.startswith(words[:-1]), (entry, words)
            data[name] = words
    assert canonical(data) == canonical(expected), entry


def _token(row: Token) -> dict[str, Any]:
    return {
        "token": row.token,
        "top": row.top,
        "workflow": row.workflow,
        "context": row.context.value,
        "seq": row.seq,
        "at": row.at,
        "parent": row.parent,
        "status": row.status.value,
        "state": row.state,
        "visit": row.visit,
        "visits": row.visits,
        "counts": row.counts,
        "entered_by": row.entered_by.value,
        "entered_at": row.entered_at,
        "paused_at": row.paused_at,
        "ended_at": row.ended_at,
    }


def _task(row: Task) -> dict[str, Any]:
    return {
        "id": row.id,
        "token": row.token,
        "state": row.state,
        "visit": row.visit,
        "queue": row.queue,
        "status": row.status.value,
        "attempt": row.attempt,
        "claimed_by": row.claimed_by,
        "lease_until": row.lease_until,
        "queued_at": row.queued_at,
        "number": row.last_number,
    }


def _timer(row: Timer) -> dict[str, Any]:
    return {
        "id": row.id,
        "token": row.token,
        "state": row.state,
        "visit": row.visit,
        "kind": row.kind.value,
        "event": row.event,
        "payload": plain(row.payload),
        "set_at": row.set_at,
        "due_at": row.due_at,
        "status": row.status.value,
    }
