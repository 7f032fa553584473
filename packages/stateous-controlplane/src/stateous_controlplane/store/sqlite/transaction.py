"""One transaction of the writer on SQLite: what a batch loads, and its changes.

Loading goes from what is named to families: tasks and timers lead to tokens, tokens to the live
rows of their families, these to open tasks and pending timers. Each step is one statement for the
whole batch, and each look-up is by a key or a partial index, whose condition the query repeats.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from stateous.json import JsonText, write_json
from stateous_controlplane.engine.rows import Status, Token
from stateous_controlplane.store import rows
from stateous_controlplane.store.held import held_event
from stateous_controlplane.store.keys import answer_keys, key_use
from stateous_controlplane.store.moments import moment_of, text_of
from stateous_controlplane.store.port import (
    Changes,
    Due,
    Granted,
    Loaded,
    Needs,
    Queued,
    Remembered,
)
from stateous_controlplane.store.rows import Row
from stateous_controlplane.store.sqlite import runs, writes

_TASKS: Final = f"SELECT {rows.TASK} FROM tasks WHERE id IN (SELECT value FROM json_each(?))"
_TIMERS: Final = f"SELECT {rows.TIMER} FROM timers WHERE id IN (SELECT value FROM json_each(?))"
_QUEUE: Final = (
    "SELECT "
    + ", ".join(f"task.{name}" for name in rows.TASK.split(", "))
    + " FROM json_each(?1) AS queue CROSS JOIN tasks AS task WHERE task.id IN ("
    "SELECT id FROM tasks WHERE queue = queue.value AND ready ORDER BY queued_at, id LIMIT ?2)"
)
_REMEMBERED: Final = (
    "SELECT supervisor, request, task, attempt, EXISTS ("
    "SELECT 1 FROM tasks WHERE id = claims.task AND attempt = claims.attempt "
    "AND status = 'claimed') "
    "FROM claims WHERE supervisor IN (SELECT value FROM json_each(?)) "
    "ORDER BY supervisor, request, task"
)
_FOLDED: Final = "SELECT folded, token FROM tokens WHERE folded IN (SELECT value FROM json_each(?))"
_TOKENS: Final = f"SELECT {rows.TOKEN} FROM tokens WHERE token IN (SELECT value FROM json_each(?))"
_RELATIVES: Final = (
    f"SELECT {rows.TOKEN} FROM tokens WHERE top IN (SELECT value FROM json_each(?1)) "
    "AND status IN ('active', 'paused') AND token NOT IN (SELECT value FROM json_each(?2))"
)
_SIBLINGS: Final = (
    "SELECT "
    + ", ".join(f"child.{name}" for name in rows.TOKEN.split(", "))
    + " FROM json_each(?) AS place CROSS JOIN tokens AS child "
    "WHERE child.parent = json_extract(place.value, '$[0]') "
    "AND child.parent_state = json_extract(place.value, '$[1]') "
    "AND child.parent_visit = json_extract(place.value, '$[2]')"
)
_HOLDING: Final = (
    "SELECT top, count(*) FROM kept WHERE top IN (SELECT value FROM json_each(?)) "
    "AND why = 'held' GROUP BY top"
)
_HELD: Final = (
    "SELECT kept.token, kept.seq, kept.top, kept.arrival, entry.at, entry.data "
    "FROM kept CROSS JOIN ledger AS entry ON entry.token = kept.token AND entry.seq = kept.seq "
    "WHERE kept.top IN (SELECT value FROM json_each(?)) AND kept.why = 'held' "
    "ORDER BY kept.top, kept.arrival"
)
_OPEN_TASKS: Final = (
    f"SELECT {rows.TASK} FROM tasks WHERE token IN (SELECT value FROM json_each(?1)) "
    "AND (status = 'queued' OR status = 'claimed' OR status = 'waiting') "
    "AND id NOT IN (SELECT value FROM json_each(?2))"
)
_PENDING_TIMERS: Final = (
    f"SELECT {rows.TIMER} FROM timers WHERE token IN (SELECT value FROM json_each(?1)) "
    "AND status = 'pending' AND id NOT IN (SELECT value FROM json_each(?2))"
)
_KEYS: Final = (
    "SELECT entry.token, entry.key, entry.kind, entry.data, entry.seq FROM json_each(?) AS used "
    "CROSS JOIN ledger AS entry WHERE entry.token = json_extract(used.value, '$[0]') "
    "AND entry.key = json_extract(used.value, '$[1]') AND entry.key IS NOT NULL"
)
_MEMORY: Final = (
    "SELECT memory.token, memory.state, memory.key, memory.value FROM json_each(?) AS place "
    "CROSS JOIN memory WHERE memory.token = json_extract(place.value, '$[0]') "
    "AND memory.state = json_extract(place.value, '$[1]')"
)
_ENDED_LEASES: Final = (
    "SELECT id FROM tasks WHERE status = 'claimed' AND lease_until < ? "
    "ORDER BY lease_until, id LIMIT ?"
)
_DUE_TIMERS: Final = "SELECT id FROM timers WHERE ready AND due_at <= ? ORDER BY due_at, id LIMIT ?"
_GRAPH: Final = "SELECT document FROM graphs WHERE graph = ?"
_GRAPHS: Final = "SELECT graph FROM graphs WHERE graph IN (SELECT value FROM json_each(?))"


class SqliteTransaction:
    """A transaction that is open on ``connection``, its fence passed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def load(self, needs: Needs) -> Loaded:
        """All that ``needs`` names, with families."""
        found = Loaded()
        if needs.held:
            for token, seq, top, arrival, at, data in self._select(_HELD, needs.held):
                held = held_event(token, seq, top, arrival, moment_of(at), JsonText(data))
                found.held.append(held)
        self._named_tasks(needs, found)
        if needs.timers:
            for row in self._select(_TIMERS, needs.timers):
                found.timers[row[0]] = rows.timer_of(row)
        if needs.folded:
            found.ids.update(self._select(_FOLDED, {token.lower() for token in needs.folded}))
        of_runs: set[str] = set()
        if needs.digests or needs.run_keys or needs.sends:
            of_runs = runs.named_by(self._connection, needs, found)
        self._families(
            {
                *needs.tokens,
                *of_runs,
                *found.ids.values(),
                *(task.token for task in found.tasks.values()),
                *(timer.token for timer in found.timers.values()),
            },
            found,
        )
        keys = needs.keys
        if needs.digests:
            keys = keys | answer_keys(needs, found)
        if keys:
            self._keys(keys, found)
        if needs.graphs:
            found.graphs = {graph for (graph,) in self._select(_GRAPHS, needs.graphs)}
        if needs.memory_of:
            found.memory = self.memory(
                {
                    (task.token, task.state)
                    for task in map(found.tasks.get, needs.memory_of)
                    if task is not None
                }
            )
        return found

    def memory(self, places: set[tuple[str, str]]) -> dict[tuple[str, str], dict[str, JsonText]]:
        """The memory of each (token, state)."""
        found: dict[tuple[str, str], dict[str, JsonText]] = {place: {} for place in places}
        if places:
            for token, state, key, value in self._select(_MEMORY, places):
                found[token, state][key] = JsonText(value)
        return found

    def due(self, now: datetime, *, leases: bool, limit: int) -> Due:
        """Tasks whose lease has ended, and timers that are due, oldest first."""
        moment = text_of(now)
        ended: Iterable[Row] = ()
        if leases:
            ended = self._connection.execute(_ENDED_LEASES, (moment, limit)).fetchall()
        due = self._connection.execute(_DUE_TIMERS, (moment, limit)).fetchall()
        return Due(
            tuple(row[0] for row in ended),
            tuple(row[0] for row in due),
            runs.overtime(self._connection, now, limit),
        )

    def undelivered(self, limit: int) -> tuple[tuple[str, int], ...]:
        """The oldest rows of the outbox."""
        return runs.undelivered(self._connection, limit)

    def graph(self, checksum: str) -> str | None:
        """The text of a document on record."""
        row = self._connection.execute(_GRAPH, (checksum,)).fetchone()
        return None if row is None else row[0]

    def write(self, changes: Changes) -> None:
        """Write a batch's changes."""
        writes.write(self._connection, changes)

    def _named_tasks(self, needs: Needs, found: Loaded) -> None:
        named = needs.tasks | needs.memory_of
        named |= {held.task for held in found.held if held.task is not None}
        if needs.supervisors:
            granted: dict[tuple[str, str], list[Granted]] = defaultdict(list)
            for supervisor, request, task, attempt, held in self._select(
                _REMEMBERED, needs.supervisors
            ):
                granted[supervisor, request].append(Granted(task, attempt))
                if held:
                    named.add(task)
            for (supervisor, request), tasks in granted.items():
                found.remembered[supervisor] = Remembered(request, tuple(tasks))
        if named:
            for row in self._select(_TASKS, named):
                found.tasks[row[0]] = rows.task_of(row)
        by_limit: dict[int, list[str]] = defaultdict(list)
        for queue, limit in needs.queues.items():
            by_limit[limit].append(queue)
        for limit, queues in by_limit.items():
            for row in self._connection.execute(_QUEUE, (write_json(queues), limit)).fetchall():
                task_found = found.tasks[row[0]] = rows.task_of(row)
                place = Queued(task_found.queued_at, task_found.id)
                found.queued.setdefault(task_found.queue, []).append(place)
        for places in found.queued.values():
            places.sort()

    def _keys(self, keys: set[tuple[str, str]], found: Loaded) -> None:
        answers: list[tuple[str, int, str]] = []
        for token, key, kind, data, seq in self._select(_KEYS, keys):
            use = found.keys[token, key] = key_use(kind, JsonText(data))
            if use.result is not None:
                answers.append((token, seq, key))
        if answers:
            runs.note_tickets(self._connection, answers, found)

    def _families(self, named: set[str], found: Loaded) -> None:
        if not named:
            return
        of_runs = self._add_tokens(self._select(_TOKENS, named), found)
        found.tasks = {
            number: task for number, task in found.tasks.items() if task.token in found.tokens
        }
        found.timers = {
            number: timer for number, timer in found.timers.items() if timer.token in found.tokens
        }
        if not found.tokens:
            return
        tops = {token.top for token in found.tokens.values()}
        relatives = self._connection.execute(
            _RELATIVES, (write_json(list(tops)), write_json(list(found.tokens)))
        )
        of_runs |= self._add_tokens(relatives.fetchall(), found)
        of_runs |= self._siblings(found)
        paused = {token.top for token in found.tokens.values() if token.status is Status.PAUSED}
        if paused:
            found.holding.update(self._select(_HOLDING, paused))
        tokens = write_json(list(found.tokens))
        for row in self._connection.execute(
            _OPEN_TASKS, (tokens, write_json(list(found.tasks)))
        ).fetchall():
            found.tasks[row[0]] = rows.task_of(row)
        for row in self._connection.execute(
            _PENDING_TIMERS, (tokens, write_json(list(found.timers)))
        ).fetchall():
            found.timers[row[0]] = rows.timer_of(row)
        if of_runs:
            runs.load_belongings(self._connection, found)

    def _add_tokens(self, found_rows: list[Row], found: Loaded) -> bool:
        """Take in rows of tokens, runs with their parts; whether there are runs."""
        of_runs: list[Token] = []
        for row in found_rows:
            token = found.tokens[row[0]] = rows.token_of(row)
            if row[-1] == "run":
                of_runs.append(token)
        if of_runs:
            runs.complete(self._connection, of_runs)
        return bool(of_runs)

    def _siblings(self, found: Loaded) -> bool:
        """The ended children of current visits: a join that is open has a live child."""
        parents = (found.tokens.get(child.parent or "") for child in list(found.tokens.values()))
        places = {
            (parent.token, parent.state, parent.visit) for parent in parents if parent is not None
        }
        if not places:
            return False
        siblings = self._select(_SIBLINGS, places)
        return self._add_tokens([row for row in siblings if row[0] not in found.tokens], found)

    def _select(self, text: str, values: Iterable[object]) -> list[Row]:
        return self._connection.execute(text, (write_json(list(values)),)).fetchall()
