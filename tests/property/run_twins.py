"""The engine and the naive model of runs, told the same and compared after every command."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from stateous.errors import InvalidDefinition
from stateous.json import JsonText
from stateous.statechart.freeze import freeze_chart
from stateous.statechart.reading import read_chart
from stateous.statechart.tickets import digest
from stateous.wire.moments import write_moment
from stateous.wire.problems import Refusal
from stateous_controlplane.engine.commands import (
    AnswerTicket,
    Cancel,
    ClaimTask,
    Command,
    Deliver,
    Emit,
    EndAttempt,
    EndLease,
    FireTimer,
    Pause,
    ReportDone,
    ReportFailed,
    Resume,
    SendEvent,
    Subject,
    SubmitRun,
)
from stateous_controlplane.engine.family import Vicinity
from stateous_controlplane.engine.replies import EventReply, Reply, TokenReply
from tests.property.naive_runs import Model
from tests.support.engine import BOX, LEASE
from tests.support.runs import KEY, Runs

#: Few, so that a chart that goes round and round, or grows and grows, is soon found out.
STEPS, RUNS = 40, 12
_RINGS = 40
_LIMITS = {
    "stateous_controlplane.engine.runs.offering.MAX_STEPS": STEPS,
    "stateous_controlplane.engine.runs.beginning.MAX_RUNS_BEGUN": RUNS,
}
_STEERING = {"pause": Pause, "resume": Resume, "cancel": Cancel}


class RunTwins:
    """Plays commands on both."""

    def __init__(self, document: Any, formulas: Any) -> None:
        try:
            machine = freeze_chart(read_chart(document))
        except InvalidDefinition as invalid:
            raise AssertionError(str(invalid)) from None
        self.runs = Runs(machine)
        self.model = Model(document, formulas, KEY, self.runs.now, STEPS, RUNS)
        self._compared: dict[str, int] = {}

    # ── commands ────────────────────────────────────────────────────────

    def submit(self, run: str, given: Any, key: str | None) -> None:
        taken = run if run in self.model.runs else None
        self.runs.vicinity = Vicinity(taken_by=taken, key_taken_by=self.runs.holder(key))
        command = SubmitRun(run, self.runs.machine.checksum, JsonText.of(given), key)
        self._both(command, "submit", run, given, key)

    def send(self, run: str, event: str, data: Any, key: str | None) -> None:
        command = SendEvent(run, event, JsonText.of(data), key)
        self._both(command, "send_event", run, event, data, key)

    def answer(self, value: str, data: Any, key: str | None) -> None:
        command = AnswerTicket(digest(value), None, JsonText.of(data), key)
        self._both(command, "answer", value, data, key)

    def claim(self, task: int) -> None:
        self._both(ClaimTask(task, BOX, LEASE), "claim", task)

    def done(self, task: int, output: Any) -> None:
        self._both(ReportDone(task, JsonText.of(output), None, BOX), "done", task, output)

    def failed(self, task: int, error: str, status: str, output: Any) -> None:
        text = JsonText.of(output)
        command = ReportFailed(task, error, None, BOX, status, text)
        self._both(command, "failed", task, error, status, output)

    def emit(self, task: int, number: int, event: str, data: Any) -> None:
        command = Emit(task, number, event, JsonText.of(data), None, BOX)
        self._both(command, "emit", task, number, event, data)

    def steer(self, verb: str, run: str) -> None:
        self._both(_STEERING[verb](run, Subject.RUN), "steer", verb, run)

    def deliver_all(self) -> None:
        """Deliver what is in the outbox, oldest first, and what that sends in its turn, once."""
        for _ in range(len(self.model.outbox)):
            post = self.model.outbox[0]
            self._both(Deliver(post.sender, post.send), "deliver", 0)

    def pass_time(self, length: timedelta) -> None:
        """Time passes, and the clock looks at what is due by then, each at its time.

        No more of it passes than what rings a few dozen timers: a chart that a timer of half a minute
        leads round would go round a thousand times in a day, and each time all rows are compared.
        """
        end = self.runs.now + length
        for _ in range(_RINGS):
            due = [
                (timer.due, number)
                for number, timer in self.model.timers.items()
                if timer.status == "pending"
                and timer.due <= end
                and self.model.runs[timer.run].status == "active"
            ]
            if not due:
                break
            at, number = min(due)
            self.runs.now = max(self.runs.now, at)
            self._both(FireTimer(number), "ring", number)
        else:
            end = self.runs.now
        self.runs.now = end
        for number, task in [*self.model.tasks.items()]:
            if task.status == "claimed" and number % 2:
                self._both(EndAttempt(number), "overtime", number)
            if task.status == "claimed":
                self._both(EndLease(number, LEASE), "lapse", number)

    # ── comparing ───────────────────────────────────────────────────────

    def _both(self, command: Command, request: str, *arguments: Any) -> None:
        now = max(self.runs.now, self.runs._last + timedelta(microseconds=1))
        self.model.now = now
        with ExitStack() as limits:
            for limit, value in _LIMITS.items():
                limits.enter_context(patch(limit, value))
            reply = self.runs.play(command)
        expected = self.model.play(request, *arguments)
        assert _said(reply) == expected, (command, reply, expected)
        self._compare(command)

    def _compare(self, command: Command) -> None:
        family, model = self.runs.family, self.model
        assert {*family.tokens} == {*model.runs}, (command, {*family.tokens} ^ {*model.runs})
        for run in model.runs.values():
            theirs, mine = self._entries(run.id), model.ledger[run.id]
            # Nothing of a ledger changes: what was the same before is so still.
            seen = self._compared.get(run.id, 0)
            self._compared[run.id] = len(mine)
            for one, other in zip(theirs[seen:], mine[seen:], strict=False):
                assert _alike(one, other), (command, run.id, one, other)
            assert len(theirs) == len(mine), (command, theirs[len(mine) :], mine[len(theirs) :])
            assert _alike(self._row(run.id), _model_row(run)), (command, self._row(run.id), run)
        for name in ("tasks", "timers", "tickets", "outbox", "held"):
            told, expected = getattr(self, f"_{name}")()
            assert _alike(told, expected), (command, name, told, expected)

    def _tasks(self) -> tuple[Any, Any]:
        told = [
            (
                t.id, t.token, t.state, t.visit, t.job and t.job.job, t.job and t.job.input.value,
                t.status.value, t.attempt, t.lease_until, t.job and t.job.ends_at,
                t.job and t.job.lost, t.job and t.job.emitted,
            )
            for t in sorted(self.runs.family.tasks.values(), key=lambda t: t.id)
        ]  # fmt: skip
        names = ("id", "run", "state", "visit", "job", "input", "status", "attempt")
        names = (*names, "lease", "ends", "lost", "emitted")
        return told, [tuple(t[name] for name in names) for t in self.model.tasks.values()]

    def _timers(self) -> tuple[Any, Any]:
        told = [
            (t.id, t.token, t.state, t.visit, t.event, t.due_at, t.status.value)
            for t in sorted(self.runs.family.timers.values(), key=lambda t: t.id)
        ]
        return told, [
            (number, t.run, t.state, t.visit, t.event, t.due, t.status)
            for number, t in self.model.timers.items()
        ]

    def _tickets(self) -> tuple[Any, Any]:
        told = {each: t.status.value for each, t in self.runs.family.tickets.items()}
        return told, {digest(t.value): t.status for t in self.model.tickets}

    def _outbox(self) -> tuple[Any, Any]:
        told = [
            (s.token, s.seq, s.key, s.machine, s.event, s.data.value)
            for s in self.runs.family.outbox.values()
        ]
        return told, [
            (p.sender, p.send, p.to["key"], p.to.get("machine"), p.event.name, p.event.data)
            for p in self.model.outbox
        ]

    def _held(self) -> tuple[Any, Any]:
        held = sorted(self.runs.family.held.values(), key=lambda h: (h.top, h.arrival))
        told = [(h.token, h.event, h.arrival) for h in held]
        model = self.model
        place = lambda h: (model.top(model.runs[h.run]), h.arrival)  # noqa: E731
        return told, [(h.run, h.event.name, h.arrival) for h in sorted(model.held, key=place)]

    def _entries(self, run: str) -> list[Any]:
        return [
            (entry.seq, entry.at, entry.kind, entry.key, entry.data.value)
            for entry in self.runs.ledger
            if entry.token == run
        ]

    def _row(self, run: str) -> dict[str, Any]:
        row, part = self.runs.of(run), self.runs.part(run)
        return {
            "status": row.status.value,
            "path": [
                (*active, at) for active, at in zip(row.configuration, part.entered, strict=True)
            ],
            "visits": row.visits,
            "outputs": self.runs.outputs(run),
            "output": self.runs.output(run),
            "error": part.error and tuple(part.error),
            "kept": self.runs.kept(run),
            "input": part.input.value,
            "key": part.key,
        }


def _said(reply: Reply) -> str | None:
    match reply:
        case Refusal():
            return reply.code.value
        case EventReply(result, duplicate):
            return f"{result.value} again" if duplicate else result.value
        case TokenReply(_, created=True):
            return "created"
        case _:
            return None


def _model_row(run: Any) -> dict[str, Any]:
    named = ("status", "path", "visits", "outputs", "output", "error", "input", "key")
    row = {name: run[name] for name in named}
    return {**row, "kept": [event.name for event in run.kept]}


def _alike(told: Any, expected: Any) -> bool:
    """Whether they are the same, but for what the model leaves open with an ellipsis."""
    if isinstance(expected, str) and "…" in expected:
        begin, _, end = expected.partition("…")
        return isinstance(told, str) and told.startswith(begin) and told.endswith(end)
    if isinstance(expected, dict) and isinstance(told, dict):
        return told.keys() == expected.keys() and all(_alike(told[k], expected[k]) for k in told)
    if isinstance(expected, list | tuple) and isinstance(told, list | tuple):
        return len(told) == len(expected) and all(map(_alike, told, expected))
    if hasattr(expected, "isoformat") and isinstance(told, str):
        return told == write_moment(expected)
    return type(told) is type(expected) and told == expected
