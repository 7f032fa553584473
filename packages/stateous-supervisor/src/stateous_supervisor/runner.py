"""Runs routines: `async def` ones on an event loop of their own, `def` ones in daemon threads.

The author's code never runs on the thread of the claims and deliveries, nor on that of the
heartbeats; a routine that blocks harms at most the other `async def` routines. What a routine ends
with is made an outcome where it ended, because that runs the author's code too (validators, `repr`).

Nothing that a routine does may keep its end from being told, or another routine from running. What
it raises ends the attempt, `SystemExit` and `KeyboardInterrupt` too; a process that it forks is no
runner (:mod:`stateous_supervisor.forks`).

Each `def` routine has a new thread, so that what one leaves there (values of `threading.local`,
context variables, an event loop, a signal mask) never meets another. Threads that
are used again would save nothing: to wake one costs as much as to begin one.

A thread cannot be stopped. What is left of a cancelled `def` routine runs on, and is not listened
to; being a daemon, it ends with the process.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from stateous.json import Json, JsonObject
from stateous_supervisor.calls import Call, call_of
from stateous_supervisor.crashpoints import reached
from stateous_supervisor.failures import cut, defined_at, raised_at, shown_trace
from stateous_supervisor.forks import Home, forked_loops
from stateous_supervisor.mailbox import Mailbox
from stateous_supervisor.messages import Attempt, Draft, Kind, Message, Outgoing
from stateous_supervisor.outcome import raised
from stateous_supervisor.registry import JobRoutine, Routine

#: Called from any thread when a routine has ended: with its outcome, or with None when it was
#: cancelled by :meth:`Runner.cancel` and did not object.
Ended: TypeAlias = "Callable[[Attempt, JsonObject | None], None]"

_log = logging.getLogger("stateous.supervisor")


@dataclass(frozen=True, slots=True)
class _Sink:
    """Where `ctx.note`, `ctx.memory` and `ctx.emit` of one attempt go: to the outbox, at once."""

    outbox: Outgoing
    attempt: Attempt
    token: str
    #: A `def` routine waits until its message is on disk; the routines' loop must not.
    waits: bool
    #: Values of an attempt are numbered in the order that they stand in the outbox, from whatever
    #: thread they come. A number that was not written is the next one's.
    emitting: threading.Lock = field(default_factory=threading.Lock)
    emitted: list[int] = field(default_factory=lambda: [0])

    def note(self, text: str) -> None:
        self._put("note", {"text": text})

    def memory(self, key: str, value: Json) -> None:
        self._put("memory", {"key": key, "value": value})

    def emit(self, event: str, value: Json) -> None:
        with self.emitting:
            number = self.emitted[0] + 1
            self._put("emit", {"number": number, "event": event, "data": value})
            self.emitted[0] = number

    def _put(self, kind: Kind, body: JsonObject) -> None:
        reached(f"before-{kind}")
        done = self.outbox.put(Draft(self.attempt, self.token, kind, body), keep=not self.waits)
        if self.waits:
            done.result()
        else:
            done.add_done_callback(functools.partial(self._look, kind))
        reached(f"after-{kind}")

    def _look(self, kind: Kind, done: Future[Message]) -> None:
        error = done.exception()
        if error is not None:
            _log.error(
                "task %d of %s: its %s is lost: %s", self.attempt.task, self.token, kind, error
            )


class Runner:
    """The routines that run. Its methods are called from one thread."""

    def __init__(self, outbox: Outgoing, ended: Ended, *, folder: Path) -> None:
        """``folder`` is where the author's own code is, for the log."""
        self._outbox = outbox
        self._ended = ended
        self._folder = folder
        self._home = Home()
        self._tasks: dict[Attempt, asyncio.Task[JsonObject]] = {}
        self._cancelled: set[Attempt] = set()
        self.loop = asyncio.new_event_loop()
        self._mailbox = Mailbox(self.loop)
        self._closing = False
        self._thread = threading.Thread(target=self._turn, name="routines", daemon=True)
        self._thread.start()

    def start(
        self, attempt: Attempt, routine: Routine | JobRoutine, grant: Mapping[str, Any]
    ) -> None:
        """Run the routine of a grant. Its end is told through ``ended``."""
        sink = _Sink(self._outbox, attempt, grant["token"], waits=not routine.on_loop)
        try:
            call = call_of(routine, attempt, grant, sink)
            if routine.on_loop:
                self._mailbox.post(self._begin, call)
            else:
                threading.Thread(
                    target=self._in_thread, args=(call,), name=call.title, daemon=True
                ).start()
        except Exception as error:  # a grant that no `ctx` can be made of; no more threads
            self._ended(attempt, raised(error, attempt.number))

    def cancel(self, attempt: Attempt) -> None:
        """Cancel the routine if it is an `async def` one; a thread runs on."""
        self._mailbox.post(self._cancel, attempt)

    def close(self, timeout: float) -> None:
        """Cancel what still runs on the loop, and end the loop within ``timeout`` seconds.

        May be called twice.
        """
        if not self._closing:
            self._closing = True
            self._mailbox.post(self._wind_up)
        self._thread.join(timeout)

    # On a thread of its own

    def _in_thread(self, call: Call) -> None:
        outcome = call.failed("the routine ended, and nobody could tell how")
        try:
            outcome = self._called(call)
        finally:
            self._ended(call.attempt, outcome)

    def _called(self, call: Call) -> JsonObject:
        try:
            reached("before-call")
            try:
                value = call.function(call.ctx)
            finally:
                self._home.stay()
            reached("after-call")
            if not inspect.iscoroutine(value):
                return self._returned(call, value)
            value.close()
            return self._wrong(
                call,
                call.failed(
                    f"the routine of {call.name!r} is a def that returned a coroutine: "
                    f"write it as async def"
                ),
            )
        except BaseException as error:
            return self._raised(call, error)

    # On the routines' loop

    def _turn(self) -> None:
        asyncio.set_event_loop(self.loop)
        forked_loops.watch(self.loop)
        while not self._closing:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                # Raised in a task that a routine made; the loop goes on for the other routines.
                _log.error("a task of a routine raised %s", type(error).__name__)
        self.loop.close()

    def _begin(self, call: Call) -> None:
        task = self.loop.create_task(self._run(call), name=call.title)
        self._tasks[call.attempt] = task
        task.add_done_callback(functools.partial(self._done, call.attempt))

    async def _run(self, call: Call) -> JsonObject:
        try:
            reached("before-call")
            try:
                value = await call.function(call.ctx)
            finally:
                self._home.stay()
            reached("after-call")
            return self._returned(call, value)
        except asyncio.CancelledError as error:
            if call.attempt in self._cancelled:
                raise
            return self._raised(call, error)
        except BaseException as error:
            return self._raised(call, error)

    def _done(self, attempt: Attempt, task: asyncio.Task[JsonObject]) -> None:
        del self._tasks[attempt]
        self._cancelled.discard(attempt)
        self._ended(attempt, None if task.cancelled() else task.result())

    def _cancel(self, attempt: Attempt) -> None:
        task = self._tasks.get(attempt)
        if task is not None:
            self._cancelled.add(attempt)
            task.cancel()

    def _wind_up(self) -> None:
        for attempt in self._tasks:
            self._cancel(attempt)
        self.loop.create_task(self._stop_when_done(set(self._tasks.values())))

    async def _stop_when_done(self, tasks: set[asyncio.Task[JsonObject]]) -> None:
        if tasks:
            await asyncio.wait(tasks)
        # What routines began and left is cancelled as `asyncio.run` does it.
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self.loop.shutdown_asyncgens()
        self.loop.stop()

    # What a routine ended with

    def _returned(self, call: Call, value: object) -> JsonObject:
        outcome = call.returned(value)
        return self._wrong(call, outcome) if outcome["kind"] == "failed" else outcome

    def _wrong(self, call: Call, outcome: JsonObject) -> JsonObject:
        _log.warning(
            "task %d of %s: the routine of %s failed in attempt %d (%s): %s",
            call.attempt.task,
            call.ctx.token,
            call.name,
            call.attempt.number,
            defined_at(call.function, self._folder),
            cut(str(outcome["error"])),
        )
        return outcome

    def _raised(self, call: Call, error: BaseException) -> JsonObject:
        outcome = call.raised(error)
        # The first frame is the one above; the author's code begins behind it.
        trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
        told = str(outcome["error"])
        _log.warning(
            "task %d of %s: the routine of %s raised in attempt %d (%s): %s\n%s",
            call.attempt.task,
            call.ctx.token,
            call.name,
            call.attempt.number,
            raised_at(trace, self._folder) or defined_at(call.function, self._folder),
            cut(told),
            shown_trace(error, trace, told),
        )
        return outcome


@dataclass(frozen=True, slots=True)
class RoutineWork:
    """The work of one routine, done by the runner."""

    runner: Runner
    routine: Routine | JobRoutine

    def start(self, attempt: Attempt, grant: Mapping[str, Any]) -> None:
        """Run it for a grant."""
        self.runner.start(attempt, self.routine, grant)

    def cancel(self, attempt: Attempt) -> None:
        """Cancel it, as far as it can be."""
        self.runner.cancel(attempt)
