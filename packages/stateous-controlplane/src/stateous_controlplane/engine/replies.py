"""What the engine answers: a closed union of values. Refusals are :class:`stateous.wire` values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from stateous.graph.machine import Job
from stateous.wire.problems import Refusal
from stateous_controlplane.engine.rows import Task, Token


class TokenReply(NamedTuple):
    """The token after the command; ``created`` when the command made it."""

    token: Token
    created: bool = False


@dataclass(frozen=True, slots=True)
class DuplicateReply:
    """The key was used before; ``matches`` is false when for another event or payload."""

    token: Token
    matches: bool


class Result(StrEnum):
    """What became of an event or answer for a run (`docs/spec/statechart.md` 5.3)."""

    TAKEN = "taken"
    KEPT = "kept"
    DROPPED = "dropped"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class EventReply:
    """What became of an event or answer; ``duplicate`` when that was told before."""

    result: Result
    duplicate: bool = False


class GrantReply(NamedTuple):
    """A task that is now the caller's. Its memory is put in when the answer is written.

    A job's has the job, and the name of the chart that it is one of.
    """

    task: Task
    token: Token
    job: Job | None = None
    machine: str | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """The lease was renewed."""

    task: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The task is not this supervisor's any more."""

    task: int


@dataclass(frozen=True, slots=True)
class Done:
    """It is done; there is nothing to say."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """The clock looked again, and there was nothing to do."""


Reply: TypeAlias = (
    TokenReply
    | DuplicateReply
    | EventReply
    | GrantReply
    | Renewed
    | Lost
    | Done
    | Skipped
    | Refusal
)


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """The ids that are lost, ascending, without doubles."""

    lost: tuple[int, ...]
