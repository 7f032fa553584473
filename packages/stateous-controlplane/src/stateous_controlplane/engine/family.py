"""The family: the rows that a command may read and change together.

A family is a top token and all tokens below it, with their open tasks and pending timers. It is the
consistency boundary: whatever crosses tokens inside it happens in one command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from stateous.graph.machine import Machine
from stateous.json import JsonText
from stateous_controlplane.engine.effects import Effects
from stateous_controlplane.engine.rows import (
    Held,
    Kept,
    KeyUse,
    Sent,
    Task,
    Ticket,
    Timer,
    Token,
)


@dataclass(slots=True)
class Family:
    """Rows by id, as far as they are needed. They are read-only: effects replace them.

    ``keys`` holds the idempotency keys that were looked up and found, ``memory`` the places that
    were looked up. ``holding`` is how many events a pause holds; ``held`` are those events, as far
    as they were looked up. ``tickets`` has, by digest, those that are open and the one that an
    answer names; ``kept`` what the runs keep; ``outbox`` the row that is delivered. A delivery works
    on two families at once: then ``holding`` counts what the receiver's holds.
    """

    tokens: dict[str, Token] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    timers: dict[int, Timer] = field(default_factory=dict)
    keys: dict[tuple[str, str], KeyUse] = field(default_factory=dict)
    memory: dict[tuple[str, str], dict[str, JsonText]] = field(default_factory=dict)
    held: dict[tuple[str, int], Held] = field(default_factory=dict)
    holding: int = 0
    tickets: dict[str, Ticket] = field(default_factory=dict)
    kept: dict[tuple[str, int], Kept] = field(default_factory=dict)
    outbox: dict[tuple[str, int], Sent] = field(default_factory=dict)

    def evolve(self, effects: Effects) -> None:
        """Take over what a decision changed, so that the next command sees it."""
        self.tokens.update(effects.tokens)
        self.tasks.update(effects.tasks)
        self.timers.update(effects.timers)
        self.keys.update(effects.keys)
        if effects.tickets:
            self.tickets.update(effects.tickets)
        if effects.kept or effects.unkept:
            self.kept.update({(each.token, each.seq): each for each in effects.kept})
            for place_of_kept in effects.unkept:
                self.kept.pop(place_of_kept, None)
        if effects.outbox or effects.delivered:
            self.outbox.update({(each.token, each.seq): each for each in effects.outbox})
            for place_of_sent in effects.delivered:
                self.outbox.pop(place_of_sent, None)
        if effects.held or effects.released:
            self.held.update({(each.token, each.seq): each for each in effects.held})
            for place_of_held in effects.released:
                self.held.pop(place_of_held, None)
            self.holding += len(effects.held) - len(effects.released)
        for (token_id, state, key), value in effects.memory.items():
            place = self.memory.setdefault((token_id, state), {})
            if value is None:
                place.pop(key, None)
            else:
                place[key] = value
        for token_id in effects.forgotten:
            for place_of in [each for each in self.memory if each[0] == token_id]:
                self.memory[place_of] = {}


@dataclass(frozen=True, slots=True)
class Vicinity:
    """What a start has to know of tokens outside its own family.

    ``taken_by`` is the id, as written, that equals the wanted one without regard to case;
    ``possible_parent`` the token whose child could get the wanted id one day; ``key_taken_by`` the
    live run that has the wanted key.
    """

    taken_by: str | None = None
    possible_parent: Token | None = None
    key_taken_by: str | None = None


class Situation(NamedTuple):
    """What a decision depends on besides its command and family.

    ``now`` is later than every moment in the family. ``next_task`` and ``next_timer`` are fresh
    ids; the effects say how many of them were used. ``looked_up`` tells of each token id that was
    looked up, without regard to case, whether it is taken: a decision that depends on another id is
    :class:`Unready`. Values of tickets are derived with ``ticket_key``.
    """

    machines: Mapping[str, Machine]
    served: Machine | None
    now: datetime
    next_task: int
    next_timer: int
    vicinity: Vicinity = Vicinity()
    looked_up: Mapping[str, bool] = MappingProxyType({})
    ticket_key: bytes = b""
