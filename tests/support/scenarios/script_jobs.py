"""The scripts of a scenario: run for real, each in a process of the sandbox.

What a script emits is told when it has ended, in order and before its end. So nothing depends on
how long it takes, and yet everything comes as the supervisor says it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import Any, Final

from stateous.json import JsonObject
from stateous_supervisor import job_outcome
from stateous_supervisor.messages import Attempt, Draft, Message
from stateous_supervisor.scripts.jobs import ScriptJobs
from stateous_supervisor.scripts.processes import ScriptProcesses
from tests.support.scenarios.service import Refused, Service

RUNNER: Final = "scenario"
#: Refusals of what comes from a job that is over (`docs/spec/statechart.md` 10.4).
OVER: Final = frozenset({"attempt_over", "task_not_held"})


class _Said:
    """An outbox that keeps the drafts until somebody takes them."""

    left: tuple[Message, ...] = ()
    path: Path | None = None

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self._ids = count(1)
        self.put_away: Any = None

    def put(self, draft: Draft, *, keep: bool = True) -> Future[Message]:
        self.drafts.append(draft)
        message = Message(next(self._ids), draft.attempt, draft.token, draft.kind, draft.body)
        asyncio.get_running_loop().call_soon(self.put_away, message)
        done: Future[Message] = Future()
        done.set_result(message)
        return done

    def replace(self, message: Message, draft: Draft) -> Future[Message]:
        raise AssertionError("a script's messages are never replaced here")

    def remove(self, message: Message) -> None: ...

    def forget(self, attempt: Attempt) -> None: ...

    def hurry(self) -> None: ...

    def close(self) -> None: ...


class Scripts:
    """Runs the scripts that ``service`` has queued; those at the paths ``held`` are not run.

    Their grants stay in :attr:`held`, by task.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._processes = ScriptProcesses()
        self._said = _Said()
        self._ended: dict[Attempt, asyncio.Future[JsonObject | None]] = {}
        self._jobs = ScriptJobs(self._processes, self._said, self._end)
        self._said.put_away = self._jobs.gone
        self.held: dict[int, Any] = {}

    async def open(self) -> None:
        """Start the fork server."""
        await self._processes.open()

    async def close(self) -> None:
        """End all processes."""
        await self._jobs.close()

    async def run_all(self, held: Collection[tuple[str, str]]) -> None:
        """Run what is queued, and what comes of it, one script after another.

        ``held`` are the checksums and paths of scripts that are not run.
        """
        while (grant := await self._claim()) is not None:
            run = await self._service.ask("GET", f"/runs/{grant['token']}")
            if (run["graph"], grant["script"]["path"]) in held:
                self.held[grant["task"]] = grant
            else:
                await self._tell(grant, await self._outcome(grant))

    async def _claim(self) -> Any:
        body = {"supervisor": RUNNER, "jobs": ["scripts"]}
        return await self._service.ask("POST", "/tasks/claim", body)

    async def _outcome(self, grant: Any) -> JsonObject:
        attempt = Attempt(grant["task"], grant["attempt"])
        self._said.drafts.clear()
        self._ended[attempt] = ended = asyncio.get_running_loop().create_future()
        self._jobs.start(attempt, grant)
        outcome: JsonObject | None
        try:
            async with asyncio.timeout(grant["timeout"]):
                outcome = await asyncio.shield(ended)
        except TimeoutError:
            self._jobs.cancel(attempt)
            await ended
            outcome = job_outcome.timed_out(grant["timeout"], attempt.number)
        assert outcome is not None, "nobody cancels a script here"
        return outcome

    def _end(self, attempt: Attempt, outcome: JsonObject | None) -> None:
        self._ended.pop(attempt).set_result(outcome)

    async def _tell(self, grant: Any, outcome: JsonObject) -> None:
        """What the script said: one value after another, and its end."""
        path, who = f"/tasks/{grant['task']}", {"supervisor": RUNNER, "attempt": grant["attempt"]}
        try:
            for draft in list(self._said.drafts):
                value = {"event": draft.body["event"], "data": draft.body["data"]}
                body = {**who, "first": draft.body["number"], "values": [value]}
                await self._service.ask("POST", f"{path}/emits", body)
            await self._service.ask("POST", f"{path}/report", {**outcome, **who})
        except Refused as refused:
            if refused.code not in OVER:
                raise
