"""The tables of the store in memory, and copies of their rows.

Rows are copied on their way in and out, so that nobody shares one with the database.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Final, NamedTuple

from stateous.json import JsonText
from stateous_controlplane.engine import rows
from stateous_controlplane.engine.rows import Entry, Run, Sent, Task, Ticket, Timer, Token
from stateous_controlplane.store.port import NewGraph, Remembered


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """The one row of that name."""

    structure: str | None = None
    checksum: str | None = None
    serving: str | None = None
    since: datetime | None = None
    ticket_key: str | None = None
    key_fingerprint: str | None = None


class Kept(NamedTuple):
    """A row of that name: the family that holds an event, and its place there."""

    top: str
    arrival: int


@dataclass(slots=True)
class Tables:
    """All rows, by their keys."""

    tokens: dict[str, Token] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    timers: dict[int, Timer] = field(default_factory=dict)
    ledger: dict[tuple[str, int], Entry] = field(default_factory=dict)
    #: None is a value that was deleted.
    memory: dict[tuple[str, str, str], JsonText | None] = field(default_factory=dict)
    claims: dict[str, Remembered] = field(default_factory=dict)
    #: Events that a pause holds, by the place of their entries; None is one that it let go.
    kept: dict[tuple[str, int], Kept | None] = field(default_factory=dict)
    graphs: dict[str, NewGraph] = field(default_factory=dict)
    #: By digest.
    tickets: dict[str, Ticket] = field(default_factory=dict)
    #: Events that runs keep, and sends to keys, by the place of their entries; None is one that went.
    deferred: dict[tuple[str, int], rows.Kept | None] = field(default_factory=dict)
    outbox: dict[tuple[str, int], Sent | None] = field(default_factory=dict)
    control_plane: dict[int, ControlPlane] = field(default_factory=dict)

    def over(self, below: Tables) -> Tables:
        """These tables laid over ``below``."""
        return Tables(*({**getattr(below, name), **getattr(self, name)} for name in _NAMES))


_NAMES: Final = tuple(each.name for each in fields(Tables))


def copy_of_token(token: Token) -> Token:
    """A copy that shares nothing that could change, decoded values included."""
    return replace(
        token.copy(),
        context=JsonText(token.context.text),
        entered_by=JsonText(token.entered_by.text),
        run=None if token.run is None else _copy_of_run(token.run),
    )


def _copy_of_run(run: Run) -> Run:
    return replace(
        run,
        input=JsonText(run.input.text),
        output=None if run.output is None else JsonText(run.output.text),
        outputs={state: JsonText(output.text) for state, output in run.outputs.items()},
    )


def copy_of_timer(timer: Timer) -> Timer:
    """A copy that shares nothing that could change, decoded values included."""
    payload = timer.payload
    return replace(timer, payload=None if payload is None else JsonText(payload.text))


def copy_of_entry(entry: Entry) -> Entry:
    """A copy that shares nothing that could change, decoded values included."""
    return entry._replace(data=JsonText(entry.data.text))
