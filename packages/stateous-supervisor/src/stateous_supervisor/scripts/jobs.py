"""Runs script jobs: each in its process, with what it says passed on while it runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import aclosing
from itertools import count
from typing import Any, Final, assert_never

from stateous.json import JsonObject, write_json
from stateous.limits import (
    MAX_EMITTED,
    MAX_RUN_VALUE_BYTES,
    MAX_SCRIPT_MEMORY_BYTES,
)
from stateous_supervisor import job_outcome
from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.messages import Attempt, Draft, Message, Outgoing
from stateous_supervisor.scripts.answers import BadAnswer, Done, Emitted, Failed, error_text
from stateous_supervisor.scripts.processes import ProcessDied, ScriptProcesses

# How much of what an attempt emitted may be under way, in values and in bytes. A script that emits
# faster than the control plane takes it stands still at this.
_MOST_VALUES: Final = 1000
_MOST_BYTES: Final = 4 * MAX_RUN_VALUE_BYTES

_log: Final = logging.getLogger("stateous.supervisor")


class ScriptJobs:
    """The scripts that run. Everything happens on one event loop.

    ``ended`` is called when a script has ended: with its outcome, or with None when it was cancelled.
    How long a script may take is its caller's to watch.
    """

    def __init__(
        self,
        processes: ScriptProcesses,
        outbox: Outgoing,
        ended: Callable[[Attempt, JsonObject | None], None],
    ) -> None:
        self._processes = processes
        self._outbox = outbox
        self._ended = ended
        self._tasks: dict[Attempt, asyncio.Task[JsonObject]] = {}
        self._under_way: dict[Attempt, _UnderWay] = {}

    def start(self, attempt: Attempt, grant: Mapping[str, Any]) -> None:
        """Run the script of a grant. Its end is told through ``ended``."""
        task = asyncio.get_running_loop().create_task(self._run(attempt, grant))
        self._tasks[attempt] = task
        self._under_way[attempt] = _UnderWay()
        task.add_done_callback(lambda it: self._done(attempt, it))

    def cancel(self, attempt: Attempt) -> None:
        """Kill the process of an attempt at once; nothing happens when it has ended."""
        task = self._tasks.get(attempt)
        if task is not None:
            task.cancel()

    def gone(self, message: Message) -> None:
        """A message that an attempt said is not under way any more."""
        under_way = self._under_way.get(message.attempt)
        if under_way is not None and message.kind == "emit":
            under_way.less(_size(message.body))

    async def close(self) -> None:
        """Kill what runs, and all that is ready."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._processes.close()

    async def _run(self, attempt: Attempt, grant: Mapping[str, Any]) -> JsonObject:
        path, token = grant["script"]["path"], grant["token"]
        try:
            return await self._answered(attempt, grant)
        except (BadAnswer, ProcessDied, SupervisorError) as error:
            problem = str(error)
        except Exception as error:
            _log.exception("task %d of %s: %s met a defect", attempt.task, token, path)
            problem = f"the runner met a defect: {type(error).__name__}"
        return job_outcome.failed(error_text(path, None, problem), attempt.number)

    async def _answered(self, attempt: Attempt, grant: Mapping[str, Any]) -> JsonObject:
        path, token = grant["script"]["path"], grant["token"]
        under_way = self._under_way[attempt]
        process = await self._processes.take()
        try:
            async with aclosing(process.run(_job(grant))) as answers:
                async for answer in answers:
                    match answer:
                        case Emitted(event, data):
                            body: JsonObject = {
                                "number": under_way.number(),
                                "event": event,
                                "data": data,
                            }
                            await under_way.more(_size(body))
                            put = self._outbox.put(Draft(attempt, token, "emit", body))
                            put.add_done_callback(under_way.look)
                        case Done(output):
                            under_way.check()
                            return job_outcome.done(output, attempt.number)
                        case Failed(status, line, message):
                            error = error_text(path, line, message)
                            return job_outcome.failed(error, attempt.number, status)
                        case _:
                            assert_never(answer)
        finally:
            self._processes.kill(process)
        raise ProcessDied("the script's process ended without an answer")

    def _done(self, attempt: Attempt, task: asyncio.Task[JsonObject]) -> None:
        del self._tasks[attempt]
        del self._under_way[attempt]
        self._ended(attempt, None if task.cancelled() else task.result())


class _UnderWay:
    """What an attempt emitted that is not answered yet."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._values = 0
        self._bytes = 0
        self._changed = asyncio.Event()
        self._refusal: BaseException | None = None

    def number(self) -> int:
        """The number of the next value, from 1."""
        return next(self._numbers)

    async def more(self, size: int) -> None:
        """Count a value in, once there is room for it.

        Raises:
            OutboxError: an earlier value could not be kept.
        """
        self.check()
        while self._values and (self._values >= _MOST_VALUES or self._bytes + size > _MOST_BYTES):
            self._changed.clear()
            await self._changed.wait()
        self._values += 1
        self._bytes += size

    def look(self, put: Future[Message]) -> None:
        """See what became of a value that was to be kept. From any thread."""
        self._refusal = self._refusal or put.exception()

    def check(self) -> None:
        """Go on only when every value so far could be kept.

        Raises:
            OutboxError: one could not.
        """
        if self._refusal is not None:
            raise self._refusal

    def less(self, size: int) -> None:
        """A value has gone."""
        self._values -= 1
        self._bytes -= size
        self._changed.set()


def _job(grant: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "source": grant["script"]["source"],
        "input": write_json(grant["input"]),
        "timeout": grant["timeout"],
        "memory": MAX_SCRIPT_MEMORY_BYTES,
        "value": MAX_RUN_VALUE_BYTES,
        "emitted": MAX_EMITTED,
    }


def _size(body: JsonObject) -> int:
    return len(write_json(body))
