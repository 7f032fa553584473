"""The net changes of a batch: what its decisions come to, each row written once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stateous.json import JsonText
from stateous_controlplane.engine.effects import Effects
from stateous_controlplane.engine.rows import (
    Entry,
    Held,
    Kept,
    Sent,
    Task,
    Ticket,
    Timer,
    Token,
)
from stateous_controlplane.store.port import Changes, NewGraph, Remembered


@dataclass(slots=True)
class NetChanges:
    """Keeps account of the effects that were accepted; :meth:`sum` is what has to be written."""

    _created: set[str] = field(default_factory=set)
    _moved: set[str] = field(default_factory=set)
    _changed: set[str] = field(default_factory=set)
    _tokens: dict[str, Token] = field(default_factory=dict)
    _new_tasks: set[int] = field(default_factory=set)
    _tasks: dict[int, Task] = field(default_factory=dict)
    _new_timers: set[int] = field(default_factory=set)
    _timers: dict[int, Timer] = field(default_factory=dict)
    _entries: list[Entry] = field(default_factory=list)
    _memory: dict[tuple[str, str, str], JsonText | None] = field(default_factory=dict)
    _forgotten: set[str] = field(default_factory=set)
    _held: dict[tuple[str, int], Held] = field(default_factory=dict)
    _released: set[tuple[str, int]] = field(default_factory=set)
    _tickets: dict[str, Ticket] = field(default_factory=dict)
    _kept: dict[tuple[str, int], Kept] = field(default_factory=dict)
    _unkept: set[tuple[str, int]] = field(default_factory=set)
    _outbox: dict[tuple[str, int], Sent] = field(default_factory=dict)
    _delivered: set[tuple[str, int]] = field(default_factory=set)
    _graphs: list[NewGraph] = field(default_factory=list)
    _granted: dict[str, Remembered] = field(default_factory=dict)

    def add(self, effects: Effects, before: Mapping[str, Token]) -> None:
        """Add what a decision changed; ``before`` are the tokens as they were."""
        for token in effects.moved:
            old = before.get(token)
            if old is not None and not _only_moves(old, effects.tokens[token]):
                self._changed.add(token)
        self._tokens.update(effects.tokens)
        self._moved |= effects.moved
        self._entries += effects.entries
        if effects.created:
            self._created |= effects.created
        if effects.tasks:
            self._tasks.update(effects.tasks)
            if effects.new_tasks:
                self._new_tasks.update(_highest(effects.tasks, effects.new_tasks))
        if effects.timers:
            self._timers.update(effects.timers)
            if effects.new_timers:
                self._new_timers.update(_highest(effects.timers, effects.new_timers))
        if effects.memory:
            self._memory.update(effects.memory)
        if effects.forgotten:
            self._forgotten |= effects.forgotten
        if effects.held or effects.released:
            self._add_held(effects)
        if effects.tickets:
            self._tickets.update(effects.tickets)
        if effects.kept or effects.unkept:
            self._add_kept(effects)
        if effects.outbox or effects.delivered:
            self._outbox.update({(each.token, each.seq): each for each in effects.outbox})
            self._delivered |= effects.delivered

    def _add_held(self, effects: Effects) -> None:
        self._held.update({(each.token, each.seq): each for each in effects.held})
        # What came and went in one batch was never on record.
        self._released |= {place for place in effects.released if place not in self._held}
        for place in effects.released:
            self._held.pop(place, None)

    def _add_kept(self, effects: Effects) -> None:
        self._kept.update({(each.token, each.seq): each for each in effects.kept})
        self._unkept |= {place for place in effects.unkept if place not in self._kept}
        for place in effects.unkept:
            self._kept.pop(place, None)

    def put_graph(self, graph: NewGraph) -> None:
        """A document is put on record."""
        self._graphs.append(graph)

    def remember(self, supervisor: str, granted: Remembered) -> None:
        """A supervisor's last request that got something is another one now."""
        self._granted[supervisor] = granted

    def sum(self) -> Changes:
        """What has to be written: each row once, as it is now."""
        created, changed, tokens = self._created, self._changed, self._tokens
        moved = self._moved - created
        return Changes(
            new_tokens=[tokens[each] for each in created],
            tokens=[tokens[each] for each in changed - created],
            moves=[tokens[each] for each in moved - changed],
            positions=[row for each, row in tokens.items() if each not in self._moved],
            new_tasks=[self._tasks[each] for each in sorted(self._new_tasks)],
            tasks=[row for each, row in self._tasks.items() if each not in self._new_tasks],
            new_timers=[self._timers[each] for each in sorted(self._new_timers)],
            timers=[row for each, row in self._timers.items() if each not in self._new_timers],
            entries=self._entries,
            memory={
                place: value
                for place, value in self._memory.items()
                if place[0] not in self._forgotten
            },
            forgotten=self._forgotten,
            held=list(self._held.values()),
            released=self._released,
            remembered=self._granted,
            graphs=self._graphs,
            tickets=list(self._tickets.values()),
            kept=list(self._kept.values()),
            unkept=self._unkept,
            outbox=list(self._outbox.values()),
            delivered=self._delivered,
        )


def _only_moves(old: Token, new: Token) -> bool:
    """Whether the row keeps all that a mere move leaves: see :attr:`Changes.moves`."""
    return (
        new.status is old.status
        and new.graph == old.graph
        and new.paused_at == old.paused_at
        and new.ended_at == old.ended_at
    )


def _highest(ids: Iterable[int], new: int) -> list[int]:
    # The new rows of one decision have the highest ids of it.
    return sorted(ids)[-new:]
