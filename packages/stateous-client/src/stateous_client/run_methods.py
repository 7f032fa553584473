"""The methods for runs of statecharts that both clients have (`docs/spec/statechart.md` 16)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final

from stateous_client.documented import Documented
from stateous_client.values import RunStatus

#: What a run gets that is submitted without an input.
NO_INPUT: Final[dict[str, Any]] = {}


class RunMethods(Documented):
    """What can be asked about runs. Errors are those of the other methods.

    Reads, and with a ``key`` or ``idempotency_key`` the writes too, are tried again as they are.
    """

    @abstractmethod
    def submit(
        self,
        graph: str | dict[str, Any],
        input: Any = NO_INPUT,
        *,
        key: str | None = None,
        id: str | None = None,
        idempotency_key: str | None = None,
        starter: str | None = None,
    ) -> Any:
        """Start a run of a document, or of the one on record with this checksum; returns the run.

        ``key`` is the run's own: one live run has it. With ``id`` or ``idempotency_key`` the submit
        is done once however often it is sent. ``starter`` is a secret of 32 to 256 visible ASCII
        characters, which opens the run's tickets later; without it the answer's ``starter`` is one,
        shown this once. Raises GraphNotFound, KeyTaken, RunExists, or Invalid for a definition,
        input or id that is refused.
        """

    @abstractmethod
    def run(
        self, run: str, *, wait: int = 0, outputs: bool = False, starter: str | None = None
    ) -> Any:
        """The run in full. Raises RunNotFound.

        ``wait``, up to 60 whole seconds, holds the answer back until the run has ended. With
        ``outputs`` also each state's last output; with ``starter`` nothing is masked.
        """

    @abstractmethod
    def wait_run(
        self, run: str, *, timeout: float | None = None, starter: str | None = None
    ) -> Any:
        """The run in full once it has ended.

        It waits in long polls of at most a minute. Raises the builtin TimeoutError after
        ``timeout`` seconds; None waits without end.
        """

    @abstractmethod
    def runs(
        self,
        *,
        status: RunStatus | None = None,
        machine: str | None = None,
        key: str | None = None,
        parent: str | None = None,
        limit: int | None = None,
    ) -> Any:
        """One page of runs, newest first; the filters combine. ``limit`` is 1 to 1000."""

    @abstractmethod
    def iter_runs(
        self,
        *,
        status: RunStatus | None = None,
        machine: str | None = None,
        key: str | None = None,
        parent: str | None = None,
        page: int = 100,
    ) -> Any:
        """All runs that the filters let through, fetched in pages of ``page``."""

    @abstractmethod
    def run_history(
        self,
        run: str,
        *,
        after: int = 0,
        limit: int | None = None,
        starter: str | None = None,
    ) -> Any:
        """The ledger's entries of the run behind the seq ``after``, oldest first."""

    @abstractmethod
    def tickets(self, run: str, *, starter: str, wait: int = 0) -> Any:
        """The open tickets of the run with their values, for who started it. Raises NotStarter.

        ``wait``, up to 60 whole seconds, holds the answer back until there is one.
        """

    @abstractmethod
    def reply(
        self, ticket: str, answer: Any = None, *, run: str | None = None, key: str | None = None
    ) -> Any:
        """Answer the ticket with this value, once; ``answer`` is any JSON.

        With ``run`` only a ticket of that run is answered. ``key`` makes a repeat harmless. Raises
        TicketRefused for a value that is wrong, used or void, AnswerNotTaken when no rule takes the
        answer (the ticket stays open), RunNotActive, or Invalid.
        """

    @abstractmethod
    def send(self, run: str, event: str, data: Any = None, *, key: str | None = None) -> Any:
        """Send the run an event; ``data`` is any JSON. Returns what became of it.

        ``key`` makes a repeat harmless. Raises EventNotAllowed, RunNotActive, RunNotFound, Invalid.
        """

    @abstractmethod
    def pause_run(self, run: str) -> Any:
        """Pause a top run and its children: no job is claimed, events are held."""

    @abstractmethod
    def resume_run(self, run: str) -> Any:
        """Resume a paused run, apply what was held, and return the run after that."""

    @abstractmethod
    def cancel_run(self, run: str) -> Any:
        """Cancel a top run and its children for good."""

    @abstractmethod
    def put_graph(self, document: dict[str, Any]) -> Any:
        """Put a compiled document on record; one that is there stays. Raises Invalid."""

    @abstractmethod
    def graph(self, checksum: str) -> Any:
        """The document on record with this checksum. Raises GraphNotFound."""

    @abstractmethod
    def graphs(self, *, limit: int | None = None) -> Any:
        """One page of the documents on record. ``limit`` is 1 to 1000."""

    @abstractmethod
    def iter_graphs(self, *, page: int = 100) -> Any:
        """All documents on record, fetched in pages of ``page``."""

    @abstractmethod
    def emits(
        self, task: int, supervisor: str, attempt: int, first: int, values: list[dict[str, Any]]
    ) -> Any:
        """Tell the values that an attempt at a job emitted, each ``{"event", "data"}``.

        They are numbered within the attempt, ``first`` and up; those taken before are passed by.
        """
