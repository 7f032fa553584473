"""What the engine answers: a closed union of values. Refusals are :class:`stateous.wire` values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from stateous.wire.problems import Refusal
from stateous_controlplane.engine.rows import Task, Token


@dataclass(frozen=True, slots=True)
class TokenReply:
    """The token after the command; ``created`` when the command made it."""

    token: Token
    created: bool = False


@dataclass(frozen=True, slots=True)
class DuplicateReply:
    """The key was used before; ``matches`` is false when for another event or payload."""

    token: Token
    matches: bool


@dataclass(frozen=True, slots=True)
class GrantReply:
    """A task that is now the caller's. Its memory is put in when the answer is written."""

    task: Task
    token: Token


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
    TokenReply | DuplicateReply | GrantReply | Renewed | Lost | Done | Skipped | Refusal
)


@dataclass(frozen=True, slots=True)
class ClaimReply:
    """What a claim got, each with the memory of its token and state as an object's text."""

    grants: tuple[tuple[GrantReply, str], ...]
    as_list: bool


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """The ids that are lost, ascending, without doubles."""

    lost: tuple[int, ...]
