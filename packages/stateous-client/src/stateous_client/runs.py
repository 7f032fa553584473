"""Runs through the blocking client (`docs/spec/statechart.md` 16)."""

# RunMethods documents each method once; a test checks that all of them have their docstring.
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stateous_client.protocol import run_calls
from stateous_client.run_methods import NO_INPUT, RunMethods
from stateous_client.shell import Shell
from stateous_client.values import (
    Entry,
    Graph,
    GraphName,
    Run,
    RunStatus,
    Sent,
    TicketValue,
)


class Runs(Shell, RunMethods):
    """A client's methods for runs."""

    def submit(
        self,
        graph: str | dict[str, Any],
        input: Any = NO_INPUT,
        *,
        key: str | None = None,
        id: str | None = None,
        idempotency_key: str | None = None,
        starter: str | None = None,
    ) -> Run:
        return self._do(
            run_calls.submit(
                graph, input, key=key, id=id, idempotency_key=idempotency_key, starter=starter
            )
        )

    def run(
        self, run: str, *, wait: int = 0, outputs: bool = False, starter: str | None = None
    ) -> Run:
        return self._do(run_calls.run(run, held=wait, outputs=outputs, starter=starter))

    def wait_run(
        self, run: str, *, timeout: float | None = None, starter: str | None = None
    ) -> Run:
        return self._run(self._dialogue.wait_run(run, timeout, starter))

    def runs(
        self,
        *,
        status: RunStatus | None = None,
        machine: str | None = None,
        key: str | None = None,
        parent: str | None = None,
        limit: int | None = None,
    ) -> list[Run]:
        request = run_calls.runs(
            status=status, machine=machine, key=key, parent=parent, limit=limit
        )
        return (self._do(request)).items

    def iter_runs(
        self,
        *,
        status: RunStatus | None = None,
        machine: str | None = None,
        key: str | None = None,
        parent: str | None = None,
        page: int = 100,
    ) -> Iterator[Run]:
        first = run_calls.runs(status=status, machine=machine, key=key, parent=parent, limit=page)
        return self._walk(self._dialogue.pages(first))

    def run_history(
        self,
        run: str,
        *,
        after: int = 0,
        limit: int | None = None,
        starter: str | None = None,
    ) -> list[Entry]:
        return self._do(run_calls.run_history(run, after=after, limit=limit, starter=starter))

    def tickets(self, run: str, *, starter: str, wait: int = 0) -> list[TicketValue]:
        return self._do(run_calls.tickets(run, starter=starter, held=wait))

    def reply(
        self, ticket: str, answer: Any = None, *, run: str | None = None, key: str | None = None
    ) -> Sent:
        return self._do(run_calls.reply(ticket, answer, run=run, key=key))

    def send(self, run: str, event: str, data: Any = None, *, key: str | None = None) -> Sent:
        return self._do(run_calls.send(run, event, data, key=key))

    def pause_run(self, run: str) -> Run:
        return self._do(run_calls.steer(run, "pause"))

    def resume_run(self, run: str) -> Run:
        return self._do(run_calls.steer(run, "resume"))

    def cancel_run(self, run: str) -> Run:
        return self._do(run_calls.steer(run, "cancel"))

    def put_graph(self, document: dict[str, Any]) -> GraphName:
        return self._do(run_calls.put_graph(document))

    def graph(self, checksum: str) -> dict[str, Any]:
        return self._do(run_calls.graph(checksum))

    def graphs(self, *, limit: int | None = None) -> list[Graph]:
        return (self._do(run_calls.graphs(limit=limit))).items

    def iter_graphs(self, *, page: int = 100) -> Iterator[Graph]:
        return self._walk(self._dialogue.pages(run_calls.graphs(limit=page)))

    def emits(
        self, task: int, supervisor: str, attempt: int, first: int, values: list[dict[str, Any]]
    ) -> None:
        return self._do(run_calls.emits(task, supervisor, attempt, first, values))
