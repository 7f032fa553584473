"""What a decision changes: rows as they are afterwards, and new ledger entries."""

from __future__ import annotations

from dataclasses import dataclass, field

from stateous.json import JsonText
from stateous_controlplane.engine.rows import (
    Entry,
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
class Effects:
    """The rows that changed, each as it is now, and the ledger entries that tell why."""

    #: Every token with a new row; those whose id is in ``moved`` changed in more than ``seq``, ``at``.
    tokens: dict[str, Token] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    created: set[str] = field(default_factory=set)
    tasks: dict[int, Task] = field(default_factory=dict)
    timers: dict[int, Timer] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    #: Idempotency keys that were used.
    keys: dict[tuple[str, str], KeyUse] = field(default_factory=dict)
    #: (token, state, key) to the value, None deletes.
    memory: dict[tuple[str, str, str], JsonText | None] = field(default_factory=dict)
    #: Tokens that ended, so that all their memory goes.
    forgotten: set[str] = field(default_factory=set)
    #: Events that a pause holds from now on, and the (token, seq) of those that it holds no longer.
    held: list[Held] = field(default_factory=list)
    released: set[tuple[str, int]] = field(default_factory=set)
    new_tasks: int = 0
    new_timers: int = 0
    #: Tickets by digest, new and changed ones.
    tickets: dict[str, Ticket] = field(default_factory=dict)
    #: Events that runs keep from now on, and the (token, seq) of those that they keep no longer.
    kept: list[Kept] = field(default_factory=list)
    unkept: set[tuple[str, int]] = field(default_factory=set)
    #: Sends to keys, in order, and the (token, seq) of the one that was delivered.
    outbox: list[Sent] = field(default_factory=list)
    delivered: set[tuple[str, int]] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.tokens or self.tasks or self.timers or self.memory or self.delivered)
