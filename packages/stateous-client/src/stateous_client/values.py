"""What the API's values look like: plain dicts, with types (`docs/spec/wire.md` 1.5, 2)."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, final

TokenStatus: TypeAlias = Literal["active", "paused", "completed", "failed", "cancelled"]
TaskStatus: TypeAlias = Literal["queued", "claimed", "waiting", "done", "failed", "cancelled"]
Until: TypeAlias = Literal["ended", "moved"]

#: The statuses that no token leaves again.
ENDED: frozenset[str] = frozenset({"completed", "failed", "cancelled"})


# Final, so that a type checker knows `"duplicate" in answer` to tell the two answers of `fire` apart.
@final
class Token(TypedDict):
    """One execution of a workflow. ``parent`` is on a child only; moments are ISO 8601, UTC."""

    token: str
    state: str
    status: TokenStatus
    visit: int
    context: dict[str, Any]
    entered_at: str
    parent: NotRequired[str]


@final
class Duplicate(TypedDict):
    """The answer to an event whose key was used: nothing was done.

    ``matches`` is there, and false, when the key was used for another event or payload.
    """

    duplicate: Literal[True]
    token: Token
    matches: NotRequired[Literal[False]]


class Entry(TypedDict):
    """One entry of a token's history. ``seq`` counts 1, 2, 3 … without holes."""

    seq: int
    at: str
    kind: str
    data: dict[str, Any]


class EnteredBy(TypedDict):
    """The event that entered a state; ``payload`` is absent when it had none."""

    name: str
    payload: NotRequired[dict[str, Any]]


class Grant(TypedDict):
    """A task that the claiming supervisor may work on until its lease ends."""

    task: int
    token: str
    state: str
    visit: int
    attempt: int
    context: dict[str, Any]
    memory: dict[str, Any]
    entered_by: NotRequired[EnteredBy]


class Task(TypedDict):
    """A task as reads show it. None stands where there is nothing."""

    task: int
    token: str
    state: str
    visit: int
    status: TaskStatus
    attempt: int
    claimed_by: str | None
    lease_until: str | None
    queued_at: str | None


class Health(TypedDict):
    """Which workflow is served; all None while none is."""

    workflow: str | None
    checksum: str | None
    contract: NotRequired[str | None]
