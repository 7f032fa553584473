"""One transaction of the store in memory: tables of its own, laid over those of the database."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from stateous.json import JsonText
from stateous_controlplane.engine.rows import Status, TaskStatus, TimerStatus
from stateous_controlplane.store.held import held_event
from stateous_controlplane.store.keys import answer_keys, key_use
from stateous_controlplane.store.memory import runs
from stateous_controlplane.store.memory.tables import (
    Kept,
    Tables,
    copy_of_entry,
    copy_of_timer,
    copy_of_token,
)
from stateous_controlplane.store.port import Changes, Due, Loaded, Needs, Queued, StoreError

_Key = TypeVar("_Key")
_Row = TypeVar("_Row")

# What no UPDATE of a token's row changes.
_FIXED = ("top", "parent", "parent_state", "parent_visit", "workflow", "started_at")


def _add(key: _Key, there: set[_Key]) -> None:
    if key in there:
        raise StoreError(f"the database refused the changes: {key!r} is there already")
    there.add(key)


def _present(key: _Key, there: dict[_Key, _Row]) -> _Row:
    if key not in there:
        raise StoreError(f"a row to change is not there: {key!r}")
    return there[key]


class MemoryTransaction:
    """Tables of its own over those of the database."""

    def __init__(self, below: Tables) -> None:
        self._below = below
        self.written = Tables()

    @property
    def seen(self) -> Tables:
        """What this transaction sees."""
        return self.written.over(self._below)

    def load(self, needs: Needs) -> Loaded:
        """All that ``needs`` names, with families."""
        seen = self.seen
        loaded = Loaded()
        folded = {token.lower() for token in needs.folded}
        loaded.ids = {each.lower(): each for each in seen.tokens if each.lower() in folded}
        of_runs = runs.named_by(seen, needs, loaded)
        keys = needs.keys | answer_keys(needs, loaded)
        loaded.keys = {
            (entry.token, entry.key): key_use(entry.kind, JsonText(entry.data.text))
            for entry in seen.ledger.values()
            if entry.key is not None and (entry.token, entry.key) in keys
        }
        runs.note_tickets(seen, loaded)
        loaded.graphs = needs.graphs & seen.graphs.keys()
        loaded.remembered = {
            supervisor: seen.claims[supervisor]
            for supervisor in needs.supervisors & seen.claims.keys()
        }
        kept = {place: each for place, each in seen.kept.items() if each is not None}
        loaded.held = sorted(
            (
                held_event(token, seq, each.top, each.arrival, entry.at, JsonText(entry.data.text))
                for (token, seq), each in kept.items()
                if each.top in needs.held
                for entry in [seen.ledger[token, seq]]
            ),
            key=lambda held: (held.top, held.arrival),
        )
        tasks = set(needs.tasks | needs.memory_of)
        tasks |= {held.task for held in loaded.held if held.task is not None}
        for remembered in loaded.remembered.values():
            for each in remembered.granted:
                held = seen.tasks.get(each.task)
                if held and held.status is TaskStatus.CLAIMED and held.attempt == each.attempt:
                    tasks.add(held.id)
        for queue, count in needs.queues.items():
            ready = [task for task in seen.tasks.values() if task.ready and task.queue == queue]
            ready.sort(key=lambda task: (task.queued_at, task.id))
            tasks.update(task.id for task in ready[:count])
            loaded.queued[queue] = [Queued(task.queued_at, task.id) for task in ready[:count]]
        tokens = needs.tokens | set(loaded.ids.values()) | of_runs
        tokens |= {seen.tasks[task].token for task in tasks & seen.tasks.keys()}
        tokens |= {seen.timers[timer].token for timer in needs.timers & seen.timers.keys()}
        tokens &= seen.tokens.keys()
        tops = {seen.tokens[token].top for token in tokens}
        for token in seen.tokens.values():
            if token.token in tokens or (token.top in tops and token.status.live):
                loaded.tokens[token.token] = copy_of_token(token)
        visits = {
            (parent.token, parent.state, parent.visit)
            for child in loaded.tokens.values()
            for parent in [loaded.tokens.get(child.parent or "")]
            if parent is not None and parent.configuration
        }
        for token in seen.tokens.values():
            if (token.parent, token.parent_state, token.parent_visit) in visits:
                loaded.tokens.setdefault(token.token, copy_of_token(token))
        paused = {each.top for each in loaded.tokens.values() if each.status is Status.PAUSED}
        for waiting in kept.values():
            if waiting.top in paused:
                loaded.holding[waiting.top] = loaded.holding.get(waiting.top, 0) + 1
        for task in seen.tasks.values():
            if task.id in tasks or (task.token in loaded.tokens and task.status.open):
                loaded.tasks[task.id] = task.copy()
        for timer in seen.timers.values():
            pending = timer.status is TimerStatus.PENDING
            if timer.id in needs.timers or (timer.token in loaded.tokens and pending):
                loaded.timers[timer.id] = copy_of_timer(timer)
        runs.load_belongings(seen, loaded)
        loaded.memory = self.memory(
            {
                (task.token, task.state)
                for task in loaded.tasks.values()
                if task.id in needs.memory_of
            }
        )
        return loaded

    def memory(self, places: set[tuple[str, str]]) -> dict[tuple[str, str], dict[str, JsonText]]:
        """The memory of each (token, state)."""
        found: dict[tuple[str, str], dict[str, JsonText]] = {place: {} for place in places}
        for (token, state, key), value in sorted(
            self.seen.memory.items(), key=lambda item: item[0]
        ):
            if (token, state) in places and value is not None:
                found[token, state][key] = JsonText(value.text)
        return found

    def due(self, now: datetime, *, leases: bool, limit: int) -> Due:
        """Tasks whose lease has ended, and timers that are due, oldest first."""
        seen = self.seen
        ended = sorted(
            (task.lease_until, task.id)
            for task in seen.tasks.values()
            if leases
            and task.status is TaskStatus.CLAIMED
            and task.lease_until is not None
            and task.lease_until < now
        )
        due = sorted(
            (timer.due_at, timer.id)
            for timer in seen.timers.values()
            if timer.ready and timer.due_at <= now
        )
        return Due(
            tuple(each for _, each in ended[:limit]),
            tuple(each for _, each in due[:limit]),
            runs.overtime(seen, now, limit),
        )

    def undelivered(self, limit: int) -> tuple[tuple[str, int], ...]:
        """The oldest rows of the outbox."""
        return runs.undelivered(self.seen, limit)

    def graph(self, checksum: str) -> str | None:
        """The text of a document on record."""
        found = self.seen.graphs.get(checksum)
        return None if found is None else found.record.document

    def write(self, changes: Changes) -> None:
        """Write a batch's changes.

        Raises:
            StoreError: a key is there twice, or a row to change is not there.
        """
        self._insert(changes)
        self._update(changes)
        written = self.written
        for place, value in changes.memory.items():
            written.memory[place] = None if value is None else JsonText(value.text)
        for place in self.seen.memory:
            if place[0] in changes.forgotten:
                written.memory[place] = None
        for held in changes.held:
            written.kept[held.token, held.seq] = Kept(held.top, held.arrival)
        for place_of_held in changes.released:
            written.kept[place_of_held] = None
        runs.write(self.seen, written, changes)
        for new in changes.graphs:
            if new.record.checksum not in self.seen.graphs:
                written.graphs[new.record.checksum] = new
        for supervisor, remembered in changes.remembered.items():
            granted = tuple(sorted(remembered.granted))
            written.claims[supervisor] = replace(remembered, granted=granted)

    def _insert(self, changes: Changes) -> None:
        seen, written = self.seen, self.written
        folded = {token.lower() for token in seen.tokens}
        for token in changes.new_tokens:
            _add(token.token.lower(), folded)
            written.tokens[token.token] = copy_of_token(token)
        tasks, timers = set(seen.tasks), set(seen.timers)
        for task in changes.new_tasks:
            _add(task.id, tasks)
            written.tasks[task.id] = task.copy()
        for timer in changes.new_timers:
            _add(timer.id, timers)
            written.timers[timer.id] = copy_of_timer(timer)
        places = set(seen.ledger)
        keys = {(entry.token, entry.key) for entry in seen.ledger.values()}
        for entry in changes.entries:
            _add((entry.token, entry.seq), places)
            if entry.key is not None:
                _add((entry.token, entry.key), keys)
            written.ledger[entry.token, entry.seq] = copy_of_entry(entry)

    def _update(self, changes: Changes) -> None:
        written = self.written
        now = self.seen
        for token in (*changes.tokens, *changes.moves):
            old = _present(token.token, now.tokens)
            fixed = {name: getattr(old, name) for name in _FIXED}
            written.tokens[token.token] = replace(copy_of_token(token), **fixed)
        for token in changes.positions:
            old = _present(token.token, now.tokens)
            written.tokens[token.token] = replace(copy_of_token(old), seq=token.seq, at=token.at)
        for task in changes.tasks:
            job = runs.with_fixed(task.job, _present(task.id, now.tasks).job)
            written.tasks[task.id] = replace(task.copy(), job=job)
        for timer in changes.timers:
            _present(timer.id, now.timers)
            written.timers[timer.id] = copy_of_timer(timer)
