"""The draft: a command's private, writable copies of the rows that it touches.

What the draft holds in the end are the command's effects. The family stays as it was, so that a
command that is refused or meets a defect leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter

from stateous.graph.machine import Delivery
from stateous.json import Json, JsonText
from stateous_controlplane.engine.conduct import Conduct
from stateous_controlplane.engine.effects import Effects
from stateous_controlplane.engine.family import Family, Situation
from stateous_controlplane.engine.rows import (
    Entry,
    Held,
    Kept,
    KeyUse,
    Status,
    Task,
    TaskStatus,
    Ticket,
    TicketStatus,
    Timer,
    TimerKind,
    Token,
)

_id = attrgetter("id")


class Draft:
    """A command's private copies of what it touches. ``now`` is the time of all its entries."""

    def __init__(
        self, family: Family, situation: Situation, conducts: Mapping[Delivery, Conduct]
    ) -> None:
        self.family = family
        self.situation = situation
        self.conducts = conducts
        self.now: datetime = situation.now
        self.effects = Effects()
        #: Children that completed or failed, and whose parents have not been told yet.
        self.ended: list[str] = []
        #: Ids, folded, that were taken for free though nobody has looked: with any of them the
        #: decision does not stand. It goes on, so that all of them are known after one attempt.
        self.assumed_free: set[str] = set()
        self._made: set[str] = set()

    # ── rows ────────────────────────────────────────────────────────────

    def token(self, token: str) -> Token:
        """The writable row of a token."""
        self.effects.moved.add(token)
        return self._positioned(token)

    def _positioned(self, token: str) -> Token:
        row = self.effects.tokens.get(token)
        if row is None:
            row = self.effects.tokens[token] = self.family.tokens[token].copy()
        return row

    def seen(self, token: str) -> Token:
        """The row of a token as the command has it so far, to read."""
        return self.effects.tokens.get(token) or self.family.tokens[token]

    def find(self, token: str) -> Token | None:
        """The row of a token, where there is one, to read."""
        return self.effects.tokens.get(token) or self.family.tokens.get(token)

    def add_token(self, token: Token) -> None:
        """A token that did not exist."""
        self.effects.tokens[token.token] = token
        self.effects.moved.add(token.token)
        self.effects.created.add(token.token)
        self._made.add(token.token.lower())

    def is_taken(self, token: str) -> bool:
        """Whether a token or run has this id already, compared without case."""
        folded = token.lower()
        if folded in self._made or token in self.family.tokens:
            return True
        if folded not in self.situation.looked_up:
            self.assumed_free.add(folded)
            return False
        return self.situation.looked_up[folded]

    def task(self, task: int) -> Task:
        """The writable row of a task."""
        row = self.effects.tasks.get(task)
        if row is None:
            row = self.effects.tasks[task] = self.family.tasks[task].copy()
        return row

    def add_task(self, token: Token, queue: str) -> Task:
        """A queued task of the token's innermost state."""
        row = Task(
            id=self.situation.next_task + self.effects.new_tasks,
            token=token.token,
            state=token.state,
            visit=token.visit,
            queue=queue,
            queued_at=self.now,
            ready=token.status is Status.ACTIVE,
        )
        self.effects.new_tasks += 1
        self.effects.tasks[row.id] = row
        return row

    def timer(self, timer: int) -> Timer:
        """The writable row of a timer."""
        row = self.effects.timers.get(timer)
        if row is None:
            row = self.effects.timers[timer] = self.family.timers[timer].copy()
        return row

    def add_timer(
        self,
        token: Token,
        kind: TimerKind,
        event: str,
        after: timedelta,
        payload: JsonText | None = None,
        text: str | None = None,
    ) -> Timer:
        """A pending timer of the token's innermost state, with its entry."""
        row = Timer(
            id=self.situation.next_timer + self.effects.new_timers,
            token=token.token,
            state=token.state,
            visit=token.visit,
            kind=kind,
            event=event,
            payload=payload,
            set_at=self.now,
            due_at=self.now + after,
            ready=token.status is Status.ACTIVE,
            text=text,
        )
        self.effects.new_timers += 1
        self.effects.timers[row.id] = row
        return row

    def children(self, token: Token) -> list[Token]:
        """The children of the token's current visit, as the command has them so far, to read."""
        return [
            child
            for child in {**self.family.tokens, **self.effects.tokens}.values()
            if child.parent == token.token
            and (child.parent_state, child.parent_visit) == (token.state, token.visit)
        ]

    def open_tasks(self, token: str) -> list[Task]:
        """The token's open tasks as the command has them so far, by id, to read."""
        rows = {**self.family.tasks, **self.effects.tasks}
        found = [task for task in rows.values() if task.token == token and task.status.open]
        return sorted(found, key=_id) if len(found) > 1 else found

    def pending_timers(self, token: str) -> list[Timer]:
        """The token's pending timers as the command has them so far, by id, to read."""
        rows = {**self.family.timers, **self.effects.timers}
        found = [timer for timer in rows.values() if timer.token == token and timer.pending]
        return sorted(found, key=_id) if len(found) > 1 else found

    def put_ticket(self, ticket: Ticket) -> None:
        """A new ticket, or one that has changed."""
        self.effects.tickets[ticket.digest] = ticket

    def open_tickets(self, token: str) -> list[Ticket]:
        """The token's open tickets as the command has them so far, to read."""
        if not self.family.tickets and not self.effects.tickets:
            return []
        rows = {**self.family.tickets, **self.effects.tickets}
        return [
            ticket
            for ticket in rows.values()
            if ticket.token == token and ticket.status is TicketStatus.OPEN
        ]

    # ── the ledger and memory ───────────────────────────────────────────

    def record(
        self, token: str, kind: str, key: str | None = None, /, **data: Json | JsonText
    ) -> int:
        """Add an entry to the token's ledger; ``data`` are its members in order. Its ``seq``."""
        row = self._positioned(token)
        row.seq += 1
        row.at = self.now
        self.effects.entries.append(
            Entry(token, row.seq, self.now, kind, JsonText.fields(**data), key)
        )
        return row.seq

    def use_key(self, token: str, key: str, use: KeyUse) -> None:
        """Remember what an idempotency key was used for."""
        self.effects.keys[token, key] = use

    def set_memory(self, token: str, state: str, key: str, value: JsonText | None) -> None:
        """Set a key of a routine's memory, or delete it with None."""
        self.effects.memory[token, state, key] = value

    def end(self, token: str, status: Status) -> None:
        """The token ends in ``status``, and its memory goes."""
        row = self.token(token)
        row.status = status
        row.ended_at = self.now
        row.paused_at = None
        self.effects.forgotten.add(token)

    def tell_parent(self, token: str) -> None:
        """The token has completed or failed: its parent, if there is one, will be told."""
        if self.seen(token).parent is not None:
            self.ended.append(token)

    # ── what a pause holds ──────────────────────────────────────────────

    def hold(self, held: Held) -> None:
        """The pause holds an event."""
        self.effects.held.append(held)

    def release(self, held: Held) -> None:
        """The pause does not hold the event any longer."""
        self.effects.released.add((held.token, held.seq))

    # ── what a run keeps ────────────────────────────────────────────────

    def keep(self, kept: Kept) -> None:
        """The run keeps an event."""
        self.effects.kept.append(kept)

    def unkeep(self, kept: Kept) -> None:
        """The run does not keep the event any longer."""
        self.effects.unkept.add((kept.token, kept.seq))

    def kept(self, run: str) -> list[Kept]:
        """The events that the run keeps, as the command has them so far, in order of arrival."""
        family, effects = self.family, self.effects
        if not family.kept and not effects.kept:
            return []
        rows = [*family.kept.values(), *effects.kept]
        return sorted(
            (
                each
                for each in rows
                if each.token == run and (each.token, each.seq) not in effects.unkept
            ),
            key=lambda each: each.seq,
        )

    @property
    def holding(self) -> int:
        """How many events the family holds."""
        return self.family.holding + len(self.effects.held) - len(self.effects.released)

    # ── small changes that several commands share ───────────────────────

    def close_task(self, task: int, status: TaskStatus) -> None:
        """The task is over, or waits: nobody has a lease on it any more."""
        row = self.task(task)
        row.status = status
        row.ready = False
        row.lease_until = None
        if row.job is not None:
            row.job = replace(row.job, ends_at=None)
