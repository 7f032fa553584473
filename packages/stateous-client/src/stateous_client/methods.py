"""The methods that both clients have, documented once.

:class:`Methods` declares each method: its name, parameters and contract; :mod:`.run_methods` those
of runs. ``Client`` and ``AsyncClient`` override all of them with precise return types, and cannot be
made without. Where a method has no docstring of its own it gets the one that stands here, so
``help()`` and editors show it for both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from stateous_client.documented import Documented
from stateous_client.values import TaskStatus, TokenStatus, Until


class Methods(Documented):
    """What can be asked of a control plane (`docs/spec/wire.md` 7).

    Values are plain dicts with the API's keys. Every method can raise a ``ClientError``:
    ``InvalidArgument`` before anything is sent, ``Unreachable`` without an answer, ``BadAnswer``
    for an answer that is none of a control plane, a ``Refused`` for a refusal. Calls that are safe
    to repeat (reads, ``start``, ``fire`` with a key, ``memory``, ``heartbeat``, ``claim`` with a
    request) are tried again after 0.2, 0.5 and 1 s, with jitter.
    """

    @property
    @abstractmethod
    def url(self) -> str:
        """The control plane's URL, without trailing slashes and without its password."""

    @property
    @abstractmethod
    def lease(self) -> float | None:
        """The lease in seconds that the latest answer to health, claim or heartbeat announced.

        None before the first such answer, and when that answer announced none.
        """

    @abstractmethod
    def start(self, token: str, context: dict[str, Any] | None = None) -> Any:
        """Start a token, and return it. A token that exists is returned as it is, unchanged."""

    @abstractmethod
    def get(self, token: str) -> Any:
        """The token. Raises TokenNotFound."""

    @abstractmethod
    def wait(self, token: str, *, until: Until = "ended", timeout: float | None = None) -> Any:
        """The token as soon as it has ended, or with ``until="moved"`` has entered a state or ended.

        It waits in long polls of at most a minute. An ended token is returned at once. Raises the
        builtin TimeoutError after ``timeout`` seconds; None waits without end.
        """

    @abstractmethod
    def tokens(
        self,
        *,
        status: TokenStatus | None = None,
        state: str | None = None,
        workflow: str | None = None,
        parent: str | None = None,
        prefix: str | None = None,
        moved_after: str | datetime | None = None,
        moved_before: str | datetime | None = None,
        limit: int | None = None,
    ) -> Any:
        """One page of tokens, most recently moved first; the filters combine.

        ``limit`` is 1 to 1000, by default 100. Moments are datetimes with a zone, or ISO 8601 text
        with ``Z`` or an offset.
        """

    @abstractmethod
    def iter_tokens(
        self,
        *,
        status: TokenStatus | None = None,
        state: str | None = None,
        workflow: str | None = None,
        parent: str | None = None,
        prefix: str | None = None,
        moved_after: str | datetime | None = None,
        moved_before: str | datetime | None = None,
        page: int = 100,
    ) -> Any:
        """All tokens that the filters let through, fetched in pages of ``page``.

        Every token that does not move meanwhile comes exactly once.
        """

    @abstractmethod
    def history(self, token: str, *, after: int = 0, limit: int | None = None) -> Any:
        """The ledger's entries of the token behind the seq ``after``, oldest first.

        Without ``limit`` (1 to 10,000) all of them.
        """

    @abstractmethod
    def watch(self, token: str, *, after: int = 0) -> Any:
        """The entries behind the seq ``after`` as they come; it ends when the token has ended."""

    @abstractmethod
    def fire(
        self,
        token: str,
        event: str,
        payload: dict[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> Any:
        """Fire an event from outside, and return the moved token.

        With ``key``, 1 to 256 characters, the event is applied once however often it is sent:
        later calls return ``{"duplicate": True, "token": …}``. Raises EventNotAllowed,
        TokenNotActive, TokenNotFound, or Invalid for a payload that does not fit.
        """

    @abstractmethod
    def pause(self, token: str) -> Any:
        """Pause a top token and its children: no task is claimed, events are held."""

    @abstractmethod
    def resume(self, token: str) -> Any:
        """Resume a paused token, apply what was held, and return the token after that."""

    @abstractmethod
    def cancel(self, token: str) -> Any:
        """Cancel a top token and its children for good."""

    @abstractmethod
    def report(
        self,
        task: int,
        event: str,
        payload: dict[str, Any] | None = None,
        *,
        context: dict[str, Any] | None = None,
        attempt: int | None = None,
    ) -> Any:
        """Report the event of a waiting or claimed task from outside; returns its token.

        ``context`` holds changes by top-level key. With ``attempt`` the report counts for that
        attempt only. Raises EventNotAllowed, TaskNotHeld, AttemptOver, TaskNotFound, Invalid.
        """

    @abstractmethod
    def report_failed(self, task: int, error: str, *, attempt: int | None = None) -> Any:
        """Report from outside that a waiting or claimed task failed; returns its token."""

    @abstractmethod
    def note(
        self, task: int, text: str, *, attempt: int | None = None, number: int | None = None
    ) -> Any:
        """Record a note of 1 to 500 characters in the ledger of the task's token.

        ``number``, with ``attempt``, lets a resend double nothing: a number that is not above the
        last one of this task and attempt is not applied (`docs/spec/wire.md` 2.6).
        """

    @abstractmethod
    def memory(
        self,
        task: int,
        key: str,
        value: Any,
        *,
        attempt: int | None = None,
        number: int | None = None,
    ) -> Any:
        """Keep ``value``, any JSON, for the routine of the task's state; None deletes the key.

        ``number`` is as for :meth:`note`.
        """

    @abstractmethod
    def tasks(
        self,
        *,
        status: TaskStatus | None = None,
        state: str | None = None,
        token: str | None = None,
        limit: int | None = None,
    ) -> Any:
        """One page of tasks, by number; ``state`` is as a claim names it. ``limit`` is 1 to 1000."""

    @abstractmethod
    def iter_tasks(
        self,
        *,
        status: TaskStatus | None = None,
        state: str | None = None,
        token: str | None = None,
        page: int = 100,
    ) -> Any:
        """All tasks that the filters let through, fetched in pages of ``page``."""

    @abstractmethod
    def workflow(self) -> Any:
        """The graph document of the served workflow. Raises NotFound while none is served."""

    @abstractmethod
    def health(self) -> Any:
        """Name and hashes of the served workflow, all None while none is; never waits."""

    @abstractmethod
    def ready(self) -> Any:
        """Whether the control plane holds its database and the database answers.

        An answer 503 is False, and is not asked again; no answer at all is Unreachable.
        """

    @abstractmethod
    def claim(
        self,
        supervisor: str,
        states: Sequence[str],
        *,
        jobs: Sequence[str] = (),
        request: str | None = None,
        wait: int = 0,
        max: int | None = None,
    ) -> Any:
        """Claim a task of one of ``states``: a grant, or None when there is no such task.

        With ``max`` (1 to 100) a list of up to so many grants, maybe empty. ``wait``, 0 to 30 whole
        seconds, lets the control plane hold the answer back until there is a task. ``request``,
        ``[A-Za-z0-9._-]{1,64}``, makes the claim repeatable: the same request gets the same grant.
        """

    @abstractmethod
    def heartbeat(self, supervisor: str, tasks: Iterable[int]) -> Any:
        """Renew the leases of up to 1,000 tasks; returns the numbers of those that are lost."""

    @abstractmethod
    def send_report(self, task: int, outcome: dict[str, Any]) -> Any:
        """Report an outcome as a supervisor has it (`docs/spec/wire.md` 1.5); returns the token.

        Any success is an acceptance (2.8): None is returned when the answer is no JSON object.
        """
