"""Reads of a store: what can be asked, and what an answer shows (a part of the port)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from stateous_controlplane.engine.rows import Entry, TaskStatus
from stateous_controlplane.store.run_views import RunReads


class TokenView(NamedTuple):
    """What an answer shows of a token."""

    token: str
    state: str
    status: str
    visit: int
    context: str
    entered_at: datetime
    parent: str | None


class TaskView(NamedTuple):
    """What an answer shows of a task."""

    task: int
    token: str
    state: str
    visit: int
    status: TaskStatus
    attempt: int
    claimed_by: str | None
    lease_until: datetime | None
    queued_at: datetime


@dataclass(frozen=True, slots=True)
class TokenFilter:
    """The filters of `GET /tokens`, which combine (`docs/spec/wire.md` 2.2)."""

    status: str | None = None
    state: str | None = None
    #: The token's own workflow.
    workflow: str | None = None
    #: True when ``workflow`` is that of top tokens, whose rows do not name it.
    top_only: bool = False
    parent: str | None = None
    prefix: str | None = None
    moved_after: datetime | None = None
    moved_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """The filters of `GET /tasks`, which combine (`docs/spec/wire.md` 2.6)."""

    status: str | None = None
    state: str | None = None
    token: str | None = None


class Place(NamedTuple):
    """Where a page of tokens ended: behind this moment and id."""

    entered_at: datetime
    token: str


class Reads(RunReads, Protocol):
    """Read-only queries, each on a committed state. Usable from several threads.

    Raises:
        DatabaseBusy: from each of them, when the database does not answer.
    """

    def token(self, token: str) -> TokenView | None:
        """One token of a workflow, by its exact id."""
        ...

    def tokens(
        self, where: TokenFilter, *, behind: Place | None, limit: int, max_bytes: int
    ) -> tuple[list[TokenView], bool]:
        """A page, most recently moved first, then by id; and whether there is more behind it.

        A page also ends once its contexts hold ``max_bytes``.
        """
        ...

    def history(self, token: str, *, after: int, limit: int | None) -> list[Entry] | None:
        """The entries behind ``after``, oldest first; None when there is no such token."""
        ...

    def tasks(self, where: TaskFilter, *, behind: int, limit: int) -> tuple[list[TaskView], bool]:
        """A page of tasks of workflow tokens, ascending by id; and whether there is more."""
        ...

    def holds(self, holder: str) -> bool:
        """Whether the database answers, with ``holder`` on record (for `GET /ready`)."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...
