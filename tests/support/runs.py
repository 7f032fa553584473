"""Runs of charts driven by hand: the engine of :mod:`tests.support.engine`, and what runs need.

A run has an id that the test chose; a child is found by the job that it does. After every command
the rows keep the rules of a family, and the ledger tells them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stateous.json import JsonText
from stateous.statechart.tickets import digest, ticket_value
from stateous.wire.problems import Refusal
from stateous_controlplane.engine.commands import (
    AnswerTicket,
    Cancel,
    Command,
    Deliver,
    Emit,
    EndAttempt,
    Fire,
    FireTimer,
    Pause,
    ReportDone,
    ReportFailed,
    Resume,
    SendEvent,
    Start,
    Subject,
    SubmitRun,
)
from stateous_controlplane.engine.decide import Decision
from stateous_controlplane.engine.family import Family, Situation, Vicinity
from stateous_controlplane.engine.invariants import broken_rules
from stateous_controlplane.engine.replies import EventReply, Reply
from stateous_controlplane.engine.rows import Run, Task, TaskStatus, TicketStatus, Token
from tests.support.engine import BOX, Engine

R = "run-1"
KEY = bytes(range(32))


@dataclass
class Runs(Engine):
    """Plays commands on a family of runs of one chart."""

    served: bool = False
    ticket_key: bytes = KEY

    def situation(self, looked_up: dict[str, bool]) -> Situation:
        return super().situation(looked_up)._replace(ticket_key=self.ticket_key)

    # ── families ────────────────────────────────────────────────────────

    def decide(self, command: Command) -> Decision:
        """Decide on the family that the command is about; a delivery is about two."""
        whole = self.family
        self.family = self.only(*self._tops(command))
        try:
            return super().decide(command)
        finally:
            self.family = whole

    def broken(self) -> list[str]:
        """The rules that a family breaks, or all of them together."""
        tops = {row.top for row in self.family.tokens.values()}
        found = [words for top in tops for words in self._broken_in(top)]
        keys = [
            row.run_part.key for row in self.family.tokens.values() if row.status.live and row.run
        ]
        twice = {key for key in keys if key is not None and keys.count(key) > 1}
        return found + [f"the key {key!r} has several live runs" for key in twice]

    def _broken_in(self, top: str) -> list[str]:
        family = self.only(top)
        ledger = [entry for entry in self.ledger if entry.token in family.tokens]
        return broken_rules(family, ledger, self.machines)

    def only(self, *tops: str | None) -> Family:
        """The rows of the families below ``tops``; what is held is that of the last one."""
        whole, wanted = self.family, {each for each in tops if each is not None}
        mine = {token for token, row in whole.tokens.items() if row.top in wanted}
        family = Family(
            tokens={token: row for token, row in whole.tokens.items() if token in mine},
            tasks={number: row for number, row in whole.tasks.items() if row.token in mine},
            timers={number: row for number, row in whole.timers.items() if row.token in mine},
            keys={place: use for place, use in whole.keys.items() if place[0] in mine},
            memory={place: kept for place, kept in whole.memory.items() if place[0] in mine},
            held={place: held for place, held in whole.held.items() if held.top == tops[-1]},
            tickets={each: row for each, row in whole.tickets.items() if row.token in mine},
            kept={place: kept for place, kept in whole.kept.items() if place[0] in mine},
            outbox={place: sent for place, sent in whole.outbox.items() if place[0] in mine},
        )
        family.holding = len(family.held)
        return family

    def _tops(self, command: Command) -> list[str | None]:
        whole = self.family
        match command:
            case Deliver(sender, seq):
                sent = whole.outbox.get((sender, seq))
                named = [sender, None if sent is None else self.holder(sent.key)]
            case SubmitRun(run=named_run) | SendEvent(run=named_run):
                named = [named_run]
            case AnswerTicket(found):
                ticket = whole.tickets.get(found)
                named = [None if ticket is None else ticket.token]
            case FireTimer(timer):
                named = [whole.timers[timer].token]
            case Start() | Fire() | Pause() | Resume() | Cancel():
                named = [command.token]
            case _:
                named = [whole.tasks[command.task].token]
        rows = [whole.tokens.get(each) for each in named if each is not None]
        return [row and row.top for row in rows] or [None]

    # ── commands ────────────────────────────────────────────────────────

    def submit(
        self, given: Any = None, run: str = R, key: str | None = None, taken: str | None = None
    ) -> Reply:
        """Submit a run; ``taken`` is a live run of another family that has the key."""
        holder = taken or self.holder(key)
        existing = self.family.tokens.get(run)
        self.vicinity = Vicinity(taken_by=None if existing is None else run, key_taken_by=holder)
        text = None if given is None else JsonText.of(given)
        return self.play(SubmitRun(run, self.machine.checksum, text, key))

    def send(self, event: str, data: Any = None, key: str | None = None, run: str = R) -> str:
        """Send a client's event; what became of it, or the code of the refusal."""
        return told(self.play(SendEvent(run, event, JsonText.of(data), key)))

    def answer(
        self,
        ticket: str,
        answer: Any = None,
        key: str | None = None,
        run: str = R,
        value: str | None = None,
        of: str | None = None,
    ) -> str:
        """Answer the newest ticket of that name of ``run``, or the one with ``value``."""
        value = value or self.value(ticket, run)
        return told(self.play(AnswerTicket(digest(value), of, JsonText.of(answer), key)))

    def begun(self, job: str | None = None, run: str | None = None) -> Task:
        """The youngest open task of a job, claimed."""
        task = self.task_of_job(job, run)
        if task.status is TaskStatus.QUEUED:
            self.claim(task=task.id)
        return self.family.tasks[task.id]

    def finish(self, job: str | None = None, output: Any = None, run: str | None = None) -> Reply:
        """Claim a job where it is queued, and report that it is done."""
        task = self.begun(job, run)
        return self.play(ReportDone(task.id, JsonText.of(output), task.attempt, BOX))

    def lose(
        self,
        job: str | None = None,
        error: str = "boom",
        status: str = "failed",
        output: Any = None,
        run: str | None = None,
    ) -> Reply:
        """Claim a job where it is queued, and report that the attempt failed."""
        task = self.begun(job, run)
        text = None if output is None else JsonText.of(output)
        return self.play(ReportFailed(task.id, error, task.attempt, BOX, status, text))

    def emit(self, event: str, data: Any = None, number: int = 0, task: int | None = None) -> Reply:
        """Emit a value from the claimed job, by default the next one."""
        row = self.begun() if task is None else self.family.tasks[task]
        assert row.job is not None
        return self.play(
            Emit(row.id, number or row.job.emitted + 1, event, JsonText.of(data), row.attempt, BOX)
        )

    def end_attempt(self, task: int | None = None) -> Reply:
        return self.play(EndAttempt(task or self.task.id))

    def ring(self, timer: str, run: str = R) -> Reply:
        """Let time pass until the timer of that name is due, and fire it."""
        (row,) = [each for each in self.pending if (each.event, each.token) == (timer, run)]
        self.now = max(self.now, row.due_at)
        return self.fire_timer(row.id)

    def deliver(self) -> None:
        """Deliver all that is in the outbox, oldest first."""
        while self.family.outbox:
            sender, seq = next(iter(self.family.outbox))
            self.play(Deliver(sender, seq))

    def pause(self, token: str = R) -> Reply:
        return self.play(Pause(token, Subject.RUN))

    def resume(self, token: str = R) -> Reply:
        return self.play(Resume(token, Subject.RUN))

    def cancel(self, token: str = R) -> Reply:
        return self.play(Cancel(token, Subject.RUN))

    # ── what is so ──────────────────────────────────────────────────────

    def of(self, run: str = R) -> Token:
        """The row of a run."""
        return self.family.tokens[run]

    def part(self, run: str = R) -> Run:
        """What a token has as a run."""
        return self.of(run).run_part

    def at(self, run: str = R) -> str:
        """The active path and the status: `outer/inner active`."""
        row = self.of(run)
        return f"{'/'.join(each.state for each in row.configuration)} {row.status.value}"

    def child(self, job: str, of: str = R) -> str:
        """The id of the newest child that does ``job``."""
        found = [
            each.token
            for each in self.family.tokens.values()
            if each.parent == of and each.run_part.job == job
        ]
        return found[-1]

    def holder(self, key: str | None) -> str | None:
        """The live run that has the key."""
        live = [each for each in self.family.tokens.values() if each.status.live and each.run]
        return next((e.token for e in live if key is not None and e.run_part.key == key), None)

    def value(self, ticket: str, run: str = R, visit: int | None = None) -> str:
        """The value of a ticket, by default of its newest."""
        rows = [
            each
            for each in self.family.tickets.values()
            if (each.ticket, each.token) == (ticket, run)
        ]
        newest = max(rows, key=lambda each: each.visit)
        visit = visit or newest.visit
        return ticket_value(self.ticket_key, run, newest.state, visit, ticket)

    def open_tickets(self, run: str = R) -> list[str]:
        """The names of the open tickets."""
        return sorted(
            each.ticket
            for each in self.family.tickets.values()
            if each.token == run and each.status is TicketStatus.OPEN
        )

    def timers(self, run: str = R) -> dict[str, str]:
        """Each running timer, and when it is due."""
        return {each.event: each.due_at.isoformat() for each in self.pending if each.token == run}

    def kept(self, run: str = R) -> list[str]:
        """The names of the kept events, in order."""
        rows = [each for each in self.family.kept.values() if each.token == run]
        return [each.event for each in sorted(rows, key=lambda each: each.seq)]

    def outputs(self, run: str = R) -> dict[str, Any]:
        """The last output of each state."""
        return {state: each.value for state, each in self.part(run).outputs.items()}

    def output(self, run: str = R) -> Any:
        """The result."""
        output = self.part(run).output
        return None if output is None else output.value

    def error(self, run: str = R) -> str | None:
        """`<code>: <message>` of a run that failed."""
        error = self.part(run).error
        return None if error is None else f"{error.code}: {error.message}"

    def visited(self, run: str = R) -> str:
        """All that was entered and left, in order."""
        marks: Mapping[str, str] = {"entered": "+", "left": "-"}
        return " ".join(
            f"{marks[kind]}{data['state']}" for kind, data in self.told(of=run) if kind in marks
        )

    def task_of_job(self, job: str | None = None, run: str | None = None) -> Task:
        """The youngest open task of a job."""
        return max(
            (
                task
                for task in self.family.tasks.values()
                if task.status.open
                and task.job is not None
                and job in (None, task.job.job)
                and run in (None, task.token)
            ),
            key=lambda task: task.id,
        )


def told(reply: Reply) -> str:
    """What a client is told: the result, that it is a repeat, or the code of the refusal."""
    if isinstance(reply, Refusal):
        return reply.code.value
    assert isinstance(reply, EventReply), reply
    return f"{reply.result.value} again" if reply.duplicate else reply.result.value
