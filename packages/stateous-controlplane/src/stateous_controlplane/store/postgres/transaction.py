"""One transaction of the writer on Postgres: what a batch loads, and its changes.

Changes are kept until the commit, which goes to the database in one round with them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime

from stateous.json import JsonText
from stateous_controlplane.engine.rows import Token
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
from stateous_controlplane.store.postgres import runs, statements
from stateous_controlplane.store.postgres.arrays import numbers, texts
from stateous_controlplane.store.postgres.rounds import Rounds, Statement
from stateous_controlplane.store.postgres.writes import writes_of
from stateous_controlplane.store.rows import Row


class PostgresTransaction:
    """A transaction that is open, its fence passed."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._unsent: list[Statement] = []

    def load(self, needs: Needs) -> Loaded:
        """All that ``needs`` names, with families; their top tokens are locked."""
        found = Loaded()
        named, tops, tasks = self._lock(needs, found)
        if named:
            self._read(needs, found, named=named, tops=tops, tasks=tasks)
        elif needs.keys:
            self._read_keys(needs, found)
        return found

    def memory(self, places: set[tuple[str, str]]) -> dict[tuple[str, str], dict[str, JsonText]]:
        """The memory of each (token, state)."""
        found: dict[tuple[str, str], dict[str, JsonText]] = {place: {} for place in places}
        if places:
            (there,) = self._ask((statements.MEMORY, _pairs(places)))
            _remember(found, there)
        return found

    def due(self, now: datetime, *, leases: bool, limit: int) -> Due:
        """Tasks whose lease has ended, and timers that are due, oldest first."""
        parameters = (text_of(now), limit)
        asked: list[Statement] = [
            (statements.DUE_TIMERS, parameters),
            (runs.OVERTIME, parameters),
        ]
        if leases:
            asked.append((statements.ENDED_LEASES, parameters))
        timers, overtime, *ended = self._ask(*asked)
        return Due(
            tuple(row[0] for rows_ in ended for row in rows_),
            tuple(row[0] for row in timers),
            tuple(row[0] for row in overtime),
        )

    def undelivered(self, limit: int) -> tuple[tuple[str, int], ...]:
        """The oldest rows of the outbox."""
        (found,) = self._ask((runs.UNDELIVERED, (limit,)))
        return tuple((token, seq) for token, seq in found)

    def graph(self, checksum: str) -> str | None:
        """The text of a document on record."""
        (found,) = self._ask((statements.GRAPH, (checksum,)))
        return found[0][0] if found else None

    def write(self, changes: Changes) -> None:
        """Write a batch's changes: they are sent with the commit, or before what is asked next."""
        self._unsent += writes_of(changes)

    def unsent(self) -> list[Statement]:
        """The changes that go out with the commit."""
        return self._unsent

    # ── loading ─────────────────────────────────────────────────────────

    def _lock(self, needs: Needs, found: Loaded) -> tuple[set[str], set[str], set[int]]:
        """Lock the families: the tokens that were named in any way, their tops, and all tasks."""
        sources = _sources(needs)
        keys: set[str] = set()
        if needs.digests or needs.run_keys or needs.sends:
            keys = self._keys_of_runs(needs, found)
            sources |= runs.sources(needs, keys)
        asked: dict[str, Statement] = {}
        if sources:
            asked["named"] = (statements.lock_named(tuple(sources)), [*sources.values()])
        if needs.queues:
            counts = (texts(needs.queues), numbers(needs.queues.values()))
            asked["queued"] = (statements.LOCK_QUEUED, counts)
            asked["places"] = (statements.QUEUED, counts)
        if needs.supervisors:
            asked["remembered"] = (statements.REMEMBERED, (texts(needs.supervisors),))
        if needs.held:
            asked["held"] = (statements.HELD, (texts(needs.held),))
        if needs.graphs:
            asked["graphs"] = (statements.GRAPHS, (texts(needs.graphs),))
        if keys or needs.digests:
            asked |= runs.look_ups(needs, keys)
        if not asked:
            return set(), set(), set()
        answers = dict(zip(asked, self._ask(*asked.values()), strict=True))
        runs.take_look_ups(keys, answers, found)
        found.graphs = {graph for (graph,) in answers.get("graphs", ())}
        named: set[str] = set()
        tops: set[str] = set()
        folded = {token.lower() for token in needs.folded}
        for token, low, top in answers.get("named", ()):
            if low in folded:
                found.ids[low] = token
            named.add(token)
            tops.add(top)
        tasks = needs.tasks | needs.memory_of
        for task, token, top, queue, queued_at in answers.get("queued", ()):
            found.queued.setdefault(queue, []).append(Queued(moment_of(queued_at), task))
            tasks.add(task)
            named.add(token)
            tops.add(top)
        _note_passed_over(answers.get("places", ()), found)
        tasks |= _remembered(answers.get("remembered", ()), found)
        for token, seq, top, arrival, at, data in answers.get("held", ()):
            held = held_event(token, seq, top, arrival, moment_of(at), JsonText(data))
            found.held.append(held)
            if held.task is not None:
                tasks.add(held.task)
        return named, tops, tasks

    def _read(
        self, needs: Needs, found: Loaded, *, named: set[str], tops: set[str], tasks: set[int]
    ) -> None:
        """What stands under the locks."""
        families = texts(tops)
        asked: list[Statement] = [
            (statements.FAMILIES, (texts(named), families, families)),
            (statements.TASKS, (numbers(tasks), families)),
            (statements.TIMERS, (numbers(needs.timers), families)),
        ]
        if needs.memory_of:
            asked.append((statements.MEMORY_OF, (numbers(needs.memory_of),)))
        keys = needs.keys | answer_keys(needs, found) if needs.digests else needs.keys
        if keys:
            asked.append((statements.KEYS, _pairs(keys)))
        answers = iter(self._ask(*asked))
        of_runs: dict[str, Token] = {}
        for row in next(answers):
            if row[0] not in found.tokens:
                token = found.tokens[row[0]] = rows.token_of(row)
                *_, kind, holding = row
                if kind == "run":
                    of_runs[row[0]] = token
                if holding:
                    found.holding[row[0]] = holding
        for row in next(answers):
            if row[1] in found.tokens and row[0] not in found.tasks:
                found.tasks[row[0]] = rows.task_of(row)
        for row in next(answers):
            if row[1] in found.tokens and row[0] not in found.timers:
                found.timers[row[0]] = rows.timer_of(row)
        if needs.memory_of:
            wanted = (found.tasks.get(task) for task in needs.memory_of)
            found.memory = {(task.token, task.state): {} for task in wanted if task is not None}
            _remember(found.memory, next(answers))
        if keys:
            self._note_keys(found, next(answers))
        if of_runs:
            belongings = self._ask(*runs.belongings(of_runs, found))
            runs.take_belongings(of_runs, belongings, found)

    def _read_keys(self, needs: Needs, found: Loaded) -> None:
        (used,) = self._ask((statements.KEYS, _pairs(needs.keys)))
        self._note_keys(found, used)

    def _note_keys(self, found: Loaded, used: Collection[Row]) -> None:
        answers: list[tuple[str, int, str]] = []
        for token, key, kind, data, seq in used:
            use = found.keys[token, key] = key_use(kind, JsonText(data))
            if use.result is not None:
                answers.append((token, seq, key))
        if answers:
            runs.take_answered(self._ask(runs.answered(answers))[0], found)

    def _keys_of_runs(self, needs: Needs, found: Loaded) -> set[str]:
        """The keys whose live runs are wanted; those of sends have to be looked up first."""
        if needs.sends:
            runs.take_sends(self._ask(runs.sends_of(needs))[0], found)
        return needs.run_keys | {sent.key for sent in found.outbox.values()}

    def _ask(self, *asked: Statement) -> list[list[Row]]:
        unsent, self._unsent = self._unsent, []
        return self._rounds.ask(*unsent, *asked)[len(unsent) :]


def _sources(needs: Needs) -> dict[str, str]:
    """Where the named tokens come from: statement to its parameter."""
    sources: dict[str, str] = {}
    if needs.tokens or needs.held:
        sources[statements.BY_TOKEN] = texts(needs.tokens | needs.held)
    if needs.folded:
        sources[statements.BY_FOLDED] = texts({token.lower() for token in needs.folded})
    if needs.tasks or needs.memory_of:
        sources[statements.BY_TASK] = numbers(needs.tasks | needs.memory_of)
    if needs.timers:
        sources[statements.BY_TIMER] = numbers(needs.timers)
    if needs.supervisors:
        sources[statements.BY_SUPERVISOR] = texts(needs.supervisors)
    if needs.sends:
        sources[statements.BY_TOKEN] = texts(
            needs.tokens | needs.held | {token for token, _ in needs.sends}
        )
    return sources


def _note_passed_over(places: Collection[Row], found: Loaded) -> None:
    """Put the queues in order, and note those of which some places could not be locked."""
    there: dict[str, list[Queued]] = defaultdict(list)
    for queue, queued_at, task in places:
        there[queue].append(Queued(moment_of(queued_at), task))
    for places_of in (*found.queued.values(), *there.values()):
        places_of.sort()
    found.passed_over = {queue for queue in there if there[queue] != found.queued.get(queue)}


def _pairs(pairs: Collection[tuple[str, str]]) -> tuple[str, str]:
    return texts(first for first, _ in pairs), texts(second for _, second in pairs)


def _remembered(answers: Collection[Row], found: Loaded) -> set[int]:
    """Note the claims that are remembered; those of their tasks that are still held."""
    held: set[int] = set()
    granted: dict[tuple[str, str], list[Granted]] = defaultdict(list)
    for supervisor, request, task, attempt, is_held in answers:
        granted[supervisor, request].append(Granted(task, attempt))
        if is_held:
            held.add(task)
    for (supervisor, request), tasks in granted.items():
        found.remembered[supervisor] = Remembered(request, tuple(tasks))
    return held


def _remember(found: dict[tuple[str, str], dict[str, JsonText]], memory: Collection[Row]) -> None:
    for token, state, key, value in memory:
        found[token, state][key] = JsonText(value)
