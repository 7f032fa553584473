"""The rows that a batch works on: families as they were loaded, evolving with each decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stateous.json import JsonText
from stateous_controlplane.engine.commands import (
    Cancel,
    Command,
    Fire,
    FireTimer,
    Pause,
    Resume,
    Start,
)
from stateous_controlplane.engine.effects import Effects
from stateous_controlplane.engine.family import Family, Vicinity
from stateous_controlplane.engine.rows import Entry, Held, Task, Timer, Token
from stateous_controlplane.engine.start import possible_parent
from stateous_controlplane.store.port import Changes, Loaded, Remembered


@dataclass(slots=True)
class WorkingSet:
    """Families by their top token, found by whatever a command names.

    :meth:`accept` lets a family evolve and keeps account of what has to be written.
    """

    tokens: dict[str, Token] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    remembered: dict[str, Remembered] = field(default_factory=dict)
    _families: dict[str, Family] = field(default_factory=dict)
    _timer_tops: dict[int, str] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)
    _looked_up: set[str] = field(default_factory=set)
    # What has to be written.
    _created: set[str] = field(default_factory=set)
    _moved: set[str] = field(default_factory=set)
    _positioned: set[str] = field(default_factory=set)
    _new_tasks: set[int] = field(default_factory=set)
    _changed_tasks: set[int] = field(default_factory=set)
    _new_timers: set[int] = field(default_factory=set)
    _timers: dict[int, Timer] = field(default_factory=dict)
    _entries: list[Entry] = field(default_factory=list)
    _memory: dict[tuple[str, str, str], JsonText | None] = field(default_factory=dict)
    _forgotten: set[str] = field(default_factory=set)
    _held: dict[tuple[str, int], Held] = field(default_factory=dict)
    _released: set[tuple[str, int]] = field(default_factory=set)
    _granted: dict[str, Remembered] = field(default_factory=dict)

    def absorb(self, loaded: Loaded) -> None:
        """Take in what a load found. A row that is known already has evolved since, and stays."""
        for token in loaded.tokens.values():
            if token.token not in self.tokens:
                self.tokens[token.token] = token
                self._family(token.top).tokens[token.token] = token
        for task in loaded.tasks.values():
            if task.id not in self.tasks:
                self.tasks[task.id] = task
                self._family(self._top(task.token)).tasks[task.id] = task
        for timer in loaded.timers.values():
            if timer.id not in self._timer_tops:
                top = self._top(timer.token)
                self._timer_tops[timer.id] = top
                self._family(top).timers[timer.id] = timer
        for top, holding in loaded.holding.items():
            self._family(top).holding = holding
        for held in loaded.held:
            self._family(held.top).held[held.token, held.seq] = held
        for (token_id, key), use in loaded.keys.items():
            self._family(self._top(token_id)).keys[token_id, key] = use
        for (token_id, state), memory in loaded.memory.items():
            self._family(self._top(token_id)).memory[token_id, state] = memory
        self._ids.update(loaded.ids)
        self.remembered.update(loaded.remembered)

    # ── finding ─────────────────────────────────────────────────────────

    def family_of(self, command: Command) -> Family:
        """The family that ``command`` works on; empty when what it names does not exist."""
        match command:
            case (
                Start(token=token)
                | Fire(token=token)
                | Pause(token=token)
                | Resume(token=token)
                | Cancel(token=token)
            ):
                row = self.tokens.get(token)
                top = None if row is None else row.top
            case FireTimer(timer=timer):
                top = self._timer_tops.get(timer)
            case _:
                task = self.tasks.get(command.task)
                top = None if task is None else self._top(task.token)
        return Family() if top is None else self._family(top)

    def vicinity_of(self, command: Start) -> Vicinity:
        """What a start has to know of tokens outside its family."""
        parent = possible_parent(command.token)
        written = None if parent is None else self._ids.get(parent.lower())
        return Vicinity(
            taken_by=self._ids.get(command.token.lower()),
            possible_parent=None if written is None else self.tokens.get(written),
        )

    def note_looked_up(self, folded: Iterable[str]) -> None:
        """These ids were looked up: from now on it is known whether they are taken."""
        self._looked_up.update(folded)

    @property
    def looked_up(self) -> Mapping[str, bool]:
        """Each id that was looked up, and whether it is taken."""
        return {folded: folded in self._ids for folded in self._looked_up}

    def graphs(self) -> set[str]:
        """The checksums of the documents that the tokens are pinned to."""
        return {token.graph for token in self.tokens.values()}

    def memory_in_batch(self, token: str, state: str) -> dict[str, JsonText] | None:
        """The memory there, when the batch has loaded it or when it went with its token."""
        return self._family(self._top(token)).memory.get((token, state))

    def _family(self, top: str) -> Family:
        family = self._families.get(top)
        if family is None:
            family = self._families[top] = Family()
        return family

    def _top(self, token: str) -> str:
        return self.tokens[token].top

    # ── evolving ────────────────────────────────────────────────────────

    def accept(self, family: Family, effects: Effects) -> None:
        """Let ``family`` evolve, and keep account of what has to be written."""
        family.evolve(effects)
        for token in effects.tokens.values():
            self.tokens[token.token] = token
            self._families.setdefault(token.top, family)
            self._positioned.add(token.token)
        for created in effects.created:
            self._ids[created.lower()] = created
        self._created |= effects.created
        self._moved |= effects.moved
        first_new = self._highest(effects.tasks, effects.new_tasks)
        for task in effects.tasks.values():
            self.tasks[task.id] = task
            self._changed_tasks.add(task.id)
            if task.id >= first_new:
                self._new_tasks.add(task.id)
        first_new = self._highest(effects.timers, effects.new_timers)
        for timer in effects.timers.values():
            self._timers[timer.id] = timer
            self._timer_tops[timer.id] = self._top(timer.token)
            if timer.id >= first_new:
                self._new_timers.add(timer.id)
        self._entries += effects.entries
        self._memory.update(effects.memory)
        self._forgotten |= effects.forgotten
        self._held.update({(each.token, each.seq): each for each in effects.held})
        # What came and went in one batch was never on record.
        self._released |= {place for place in effects.released if place not in self._held}
        for place in effects.released:
            self._held.pop(place, None)

    @staticmethod
    def _highest(ids: Iterable[int], new: int) -> int:
        # The new rows of one decision have the highest ids of it.
        return sorted(ids)[-new] if new else 2**63

    def remember(self, supervisor: str, granted: Remembered) -> None:
        """Remember a claim that got something, in place of the supervisor's last one."""
        self.remembered[supervisor] = granted
        self._granted[supervisor] = granted

    def changes(self) -> Changes:
        """The net effects of all that was accepted: each row once, as it is now."""
        moved = self._moved - self._created
        return Changes(
            new_tokens=[self.tokens[each] for each in self._created],
            tokens=[self.tokens[each] for each in moved],
            positions=[self.tokens[each] for each in self._positioned - moved - self._created],
            new_tasks=[self.tasks[each] for each in sorted(self._new_tasks)],
            tasks=[self.tasks[each] for each in self._changed_tasks - self._new_tasks],
            new_timers=[self._timers[each] for each in sorted(self._new_timers)],
            timers=[timer for each, timer in self._timers.items() if each not in self._new_timers],
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
        )
