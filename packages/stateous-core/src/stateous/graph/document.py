"""The graph document as values: what `stateous compile` writes and everything else reads.

The form of the file is `docs/spec/authoring.md` 6.1; :mod:`stateous.graph.reading` makes these
values and refuses what could not have been compiled. The control plane builds its run-time machine
from them, the compiler its ``contract.py`` and diagrams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Final, Literal

from stateous.graph import hashes
from stateous.guards import Guard
from stateous.json import Json

#: The file format, the value of the key ``stateous``.
FORMAT: Final = 1

Join = Literal["all", "any"]


@dataclass(frozen=True, slots=True)
class StateSpec:
    """One state. It is parallel when ``parallel`` is not empty; then ``emits`` is empty."""

    name: str
    timeout: timedelta | None
    #: Attempts after the first one.
    retries: int
    #: The events that a routine of this state may report.
    emits: tuple[str, ...]
    #: The child workflows that run here, in order.
    parallel: tuple[str, ...]
    join: Join
    #: The context keys that children start with.
    inputs: tuple[str, ...]
    #: The context key that keeps the payload of ``joined``.
    into: str | None


@dataclass(frozen=True, slots=True)
class EventSpec:
    """One declared event; ``payload`` is a key of the document's schemas."""

    name: str
    payload: str | None
    #: The context key that keeps the payload.
    into: str | None


@dataclass(frozen=True, slots=True)
class TransitionSpec:
    """One transition; ``event`` is None exactly when it leads out of START."""

    source: str
    target: str
    event: str | None
    #: The text as the author wrote it, and the same parsed.
    when: str | None
    guard: Guard | None
    otherwise: bool

    @property
    def group(self) -> tuple[str, str | None]:
        """What it shares with those that compete with it."""
        return self.source, self.event


@dataclass(frozen=True, slots=True)
class FlowSpec:
    """One workflow of a document, the top one or a child; mappings in the order of the file."""

    name: str
    #: A key of the document's schemas.
    context: str | None
    states: Mapping[str, StateSpec]
    events: Mapping[str, EventSpec]
    transitions: tuple[TransitionSpec, ...]


@dataclass(frozen=True, eq=False)
class GraphDocument:
    """A graph document that has passed every check of `docs/spec/authoring.md` 6.4.

    ``raw`` is the file's object with its unknown keys, in the file's order; nobody may change it.
    The hashes are made on first use.
    """

    raw: dict[str, Any]
    top: FlowSpec
    #: The child workflows, grandchildren too, by name.
    workflows: Mapping[str, FlowSpec]

    @property
    def workflow(self) -> str:
        """The name of the top workflow."""
        return self.top.name

    @property
    def context(self) -> str | None:
        """The key of the top workflow's context model."""
        return self.top.context

    @property
    def states(self) -> Mapping[str, StateSpec]:
        """The states of the top workflow."""
        return self.top.states

    @property
    def events(self) -> Mapping[str, EventSpec]:
        """The declared events of the top workflow."""
        return self.top.events

    @property
    def transitions(self) -> tuple[TransitionSpec, ...]:
        """The transitions of the top workflow."""
        return self.top.transitions

    @property
    def schemas(self) -> Mapping[str, Json]:
        """The JSON Schemas by key."""
        schemas: Mapping[str, Json] = self.raw["schemas"]
        return schemas

    @property
    def flows(self) -> tuple[FlowSpec, ...]:
        """All workflows, the top one first."""
        return self.top, *self.workflows.values()

    @cached_property
    def checksum(self) -> str:
        """Which graph a token is pinned to."""
        return hashes.checksum(self.raw)

    @cached_property
    def structure(self) -> str:
        """What must stay the same while tokens are live."""
        return hashes.structure(self.raw)

    @cached_property
    def contract(self) -> str:
        """What must stay the same for supervisors."""
        return hashes.contract(self.raw)
