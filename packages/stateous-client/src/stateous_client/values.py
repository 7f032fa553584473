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


class ScriptSource(TypedDict):
    """A script, and the path that its chart's document knows it by."""

    path: str
    source: str


class Grant(TypedDict):
    """A task that the claiming supervisor may work on until its lease ends.

    A workflow's has ``context`` and ``entered_by``. A run's has ``machine``, ``job``, ``input``,
    ``timeout`` in seconds, and what the job is: ``routine`` or ``script``.
    """

    task: int
    token: str
    state: str
    visit: int
    attempt: int
    memory: dict[str, Any]
    context: NotRequired[dict[str, Any]]
    entered_by: NotRequired[EnteredBy]
    machine: NotRequired[str]
    job: NotRequired[str]
    input: NotRequired[Any]
    timeout: NotRequired[float]
    routine: NotRequired[str]
    script: NotRequired[ScriptSource]


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


RunStatus: TypeAlias = TokenStatus
SendResult: TypeAlias = Literal["taken", "kept", "dropped", "held"]


class Visit(TypedDict):
    """An active state of a run, with the visit that is going on."""

    state: str
    visit: int
    entered_at: str


class RunError(TypedDict):
    """Why a run failed (`docs/spec/statechart.md` 3)."""

    code: str
    message: str


class Job(TypedDict):
    """A job of an active state: a ``task`` with its ``attempt``, or a child ``run``."""

    job: str
    state: str
    kind: Literal["script", "routine", "machine"]
    status: str
    attempt: NotRequired[int]
    task: NotRequired[int]
    run: NotRequired[str]


class RunTimer(TypedDict):
    """A timer that runs; ``text`` is the time as it was written."""

    timer: str
    state: str
    text: str
    due_at: str


class OpenTicket(TypedDict):
    """A ticket that waits for its answer, without its value."""

    ticket: str
    state: str
    id: str
    issued_at: str


class TicketValue(OpenTicket):
    """An open ticket with the value that its answer needs."""

    visit: int
    value: str


class KeptEvent(TypedDict):
    """An event that a state defers. ``from`` says who sent it."""

    event: str
    at: str


class Run(TypedDict):
    """One execution of a statechart. ``configuration`` is its active path, outermost first.

    What comes after ``ended_at`` is there where one run is asked for, not in lists; ``starter`` is
    in the answer to a submit that brought no secret of its own, and nowhere else.
    """

    id: str
    machine: str
    graph: str
    key: str | None
    parent: str | None
    job: str | None
    status: RunStatus
    configuration: list[Visit]
    error: RunError | None
    started_at: str
    ended_at: str | None
    input: NotRequired[Any]
    output: NotRequired[Any]
    jobs: NotRequired[list[Job]]
    timers: NotRequired[list[RunTimer]]
    tickets: NotRequired[list[OpenTicket]]
    kept: NotRequired[list[KeptEvent]]
    outputs: NotRequired[dict[str, Any]]
    starter: NotRequired[str]


class Sent(TypedDict):
    """What became of an event; ``duplicate`` is true when its key was used for it before."""

    result: SendResult
    duplicate: NotRequired[Literal[True]]


class GraphName(TypedDict):
    """A document on record: its checksum, and the name of its chart or workflow."""

    graph: str
    machine: str


class Graph(TypedDict):
    """A document on record; ``live`` counts its tokens or runs that have not ended."""

    graph: str
    kind: Literal["statechart", "workflow"]
    name: str
    machines: list[str]
    added_at: str
    live: int
