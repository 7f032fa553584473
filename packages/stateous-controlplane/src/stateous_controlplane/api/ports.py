"""What the API needs of the rest of the control plane, as protocols."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from stateous.graph.machine import Machine
from stateous_controlplane.answers import Answer
from stateous_controlplane.writer.requests import Asked
from stateous_controlplane.writer.submission import Submission

#: Takes an answer, once.
Answered: TypeAlias = Callable[[Answer], None]


class Follower(Protocol):
    """Notices that a token changed since the follower was made."""

    def changed(self) -> Awaitable[None]:
        """Returns once a commit changed the token; at once when one did since the last call.

        Also returns when the control plane stops: :attr:`over` is true then.
        """
        ...

    @property
    def over(self) -> bool:
        """Whether the control plane stops, so that waiting has no sense any more."""
        ...


class Desk(Protocol):
    """Where requests that change something are handed in. Its methods belong to the event loop."""

    def ask(self, request: Asked) -> Awaitable[Answer]:
        """The answer, once it is durable.

        Cancelling withdraws a claim that waits: nothing is assigned to it. After the hold is lost
        every answer is 503 ``not_serving``.
        """
        ...

    def hand_in(self, request: Asked, answered: Answered) -> Submission | None:
        """As :meth:`ask`, for who needs no task to wait in: ``answered`` is called once.

        None: it was called already.
        """
        ...

    def withdraw(self, submission: Submission) -> None:
        """The caller has gone away: ``answered`` is not called, a claim that waits gets nothing."""
        ...

    def follow(self, token: str) -> AbstractContextManager[Follower]:
        """Follow the commits that change ``token``; used for long polls of reads."""
        ...

    @property
    def serving(self) -> bool:
        """Whether the hold is ours, as far as the control plane knows."""
        ...


class Machines(Protocol):
    """The machines that the writer has ready, by the checksums of their documents."""

    def __contains__(self, checksum: object) -> bool:
        """Whether it has the machine of this document."""
        ...

    def offer(self, machine: Machine) -> None:
        """Hand it a machine that is ready; any thread may."""
        ...


@dataclass(frozen=True, slots=True)
class Served:
    """The workflow that is served: the document's bytes as the file has them, and its hashes."""

    workflow: str
    checksum: str
    contract: str
    document: bytes


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """How the API listens (`docs/spec/wire.md` 1.1, 1.2, 6.3)."""

    #: True when it listens on loopback only: then `Host` must be a loopback name or an allowed one.
    loopback: bool = True
    allow_hosts: frozenset[str] = field(default_factory=frozenset)
    lease_seconds: int = 120
    access_log: bool = False
    #: The name of our hold, which `GET /ready` looks for on record.
    holder: str = ""
    #: What the values of tickets are derived with.
    ticket_key: bytes = field(default=b"", repr=False)
