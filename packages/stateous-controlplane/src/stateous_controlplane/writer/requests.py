"""Requests that are no commands of the engine, but of the writer alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from stateous_controlplane.engine.commands import Command, Emit, Request
from stateous_controlplane.store.records import GraphRecord


@dataclass(frozen=True, slots=True)
class PutGraph:
    """Put a document on record, which has passed every check (`docs/spec/statechart.md` 16)."""

    record: GraphRecord


@dataclass(frozen=True, slots=True)
class Emits:
    """Values that a job emitted, in order: each becomes a command of its own, up to a refusal."""

    task: int
    values: tuple[Emit, ...]


Asked: TypeAlias = Request | PutGraph | Emits
Submitted: TypeAlias = Asked | Command
