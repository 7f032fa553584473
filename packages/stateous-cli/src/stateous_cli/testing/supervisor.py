"""The supervisor of a rehearsal: claims, runs routines, reports, by the rules of the real one.

`def` routines are called on the caller's thread, one after the other; `async def` routines take
turns on one event loop, whose time is the fake clock's. What a routine ends with becomes a report as
`docs/spec/authoring.md` 8.5 has it, a refused report is judged as there, and a note or a memory
write is sent at once.

One thing is not as in earnest: a KeyboardInterrupt is the person at the keyboard, and ends the test.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from stateous.json import Json, JsonObject
from stateous.routine import Context
from stateous_cli.testing.clock import FakeClock
from stateous_cli.testing.loop import RoutineLoop
from stateous_client import Client, ClientError
from stateous_supervisor.loops.answers import refusal
from stateous_supervisor.messages import Attempt, Draft, Message
from stateous_supervisor.outcome import failed, raised, returned
from stateous_supervisor.registry import Routine
from stateous_supervisor.verdict import Refused, Verdict, failed_instead, judge

_log: Final = logging.getLogger("stateous.supervisor")


@dataclass(frozen=True, slots=True)
class Failure:
    """A routine that raised: in which attempt, and its traceback as text."""

    token: str
    task: int
    attempt: int
    state: str
    trace: str


@dataclass(frozen=True, slots=True)
class _Call:
    """A routine, and what it is called with."""

    routine: Routine
    attempt: Attempt
    ctx: Context[Any]

    @property
    def state(self) -> str:
        return self.routine.ref.name


@dataclass(frozen=True, slots=True)
class _Sink:
    """Sends what a routine says at once; what comes too late to count is dropped, as in earnest."""

    supervisor: Supervisor
    attempt: Attempt

    def note(self, text: str) -> None:
        self.supervisor.send_note(self.attempt, text)

    def memory(self, key: str, value: Json) -> None:
        self.supervisor.send_memory(self.attempt, key, value)


class Supervisor:
    """Works on the tasks of the states in ``routines``, which may change between two claims."""

    def __init__(
        self, plane: Client, routines: Mapping[str, Routine], clock: FakeClock, name: str
    ) -> None:
        self._plane = plane
        self._routines = routines
        self._clock = clock
        self._name = name
        self._numbers = count(1)
        self._running: dict[Attempt, asyncio.Task[JsonObject]] = {}
        self._held: set[Attempt] = set()
        self._loop: RoutineLoop | None = None
        #: What routines raised, in order.
        self.failures: list[Failure] = []

    # ── what drives it ──────────────────────────────────────────────────

    @property
    def running(self) -> list[int]:
        """The tasks whose `async def` routines have not ended."""
        return [attempt.task for attempt in self._running]

    def claim(self) -> bool:
        """Take one task and begin its routine; false when there is none."""
        if not self._routines:
            return False
        grant = self._plane.claim(self._name, sorted(self._routines))
        if grant is None:
            return False
        self._begin(grant)
        return True

    def spin(self) -> float | None:
        """Let `async def` routines go on as far as they can without time passing.

        Returns the seconds after which one goes on, None when none waits for time.
        """
        return None if self._loop is None else self._loop.spin()

    def beat(self) -> None:
        """Renew the leases of what runs; whatever was taken back is cancelled."""
        if not self._running:
            return
        lost = set(self._plane.heartbeat(self._name, self.running))
        for attempt in [each for each in self._running if each.task in lost]:
            self.drop(attempt.task)

    def drop(self, task: int) -> bool:
        """Hold the task no longer, and cancel its routine; whether one was running."""
        mine = [attempt for attempt in self._running if attempt.task == task]
        for attempt in mine:
            self._held.discard(attempt)
            self._running.pop(attempt).cancel()
        return bool(mine)

    def close(self) -> None:
        """Cancel what runs, and close the event loop."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        for attempt in list(self._running):
            self.drop(attempt.task)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.spin()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    # ── routines ────────────────────────────────────────────────────────

    def _begin(self, grant: Mapping[str, Any]) -> None:
        attempt = Attempt(grant["task"], grant["attempt"])
        ctx: Context[Any] = Context(grant, _Sink(self, attempt))
        call = _Call(self._routines[grant["state"]], attempt, ctx)
        self._held.add(attempt)
        if not call.routine.on_loop:
            self._ended(call, self._called(call))
            return
        if self._loop is None:
            self._loop = RoutineLoop(self._clock)
        name = f"{call.state} of {ctx.token} (task {attempt.task})"
        task = self._loop.create_task(self._awaited(call), name=name)
        self._running[attempt] = task
        task.add_done_callback(functools.partial(self._done, call))

    def _called(self, call: _Call) -> JsonObject:
        try:
            value = call.routine.call(call.ctx)
            if not inspect.iscoroutine(value):
                return returned(call.routine.ref, value, call.ctx)
            value.close()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return self._raised(call, error)
        return failed(
            f"the routine of {call.state!r} is a def that returned a coroutine: "
            f"write it as async def",
            call.attempt.number,
        )

    async def _awaited(self, call: _Call) -> JsonObject:
        try:
            value = await call.routine.call(call.ctx)
            return returned(call.routine.ref, value, call.ctx)
        except KeyboardInterrupt:
            raise
        except asyncio.CancelledError as error:
            if call.attempt not in self._held:
                raise
            return self._raised(call, error)
        except BaseException as error:
            return self._raised(call, error)

    def _done(self, call: _Call, task: asyncio.Task[JsonObject]) -> None:
        self._running.pop(call.attempt, None)
        if not task.cancelled() and task.exception() is None:
            self._ended(call, task.result())

    def _raised(self, call: _Call, error: BaseException) -> JsonObject:
        # The first frame is the one above; the author's code begins behind it.
        inner = error.__traceback__.tb_next if error.__traceback__ is not None else None
        trace = "".join(traceback.format_exception(type(error), error, inner)).rstrip()
        task, number = call.attempt.task, call.attempt.number
        _log.warning(
            "task %d of %s: the routine of %s raised in attempt %d\n%s",
            task,
            call.ctx.token,
            call.state,
            number,
            trace,
        )
        self.failures.append(Failure(call.ctx.token, task, number, call.state, trace))
        return raised(error, number)

    # ── what goes to the control plane ──────────────────────────────────

    def send_note(self, attempt: Attempt, text: str) -> None:
        """Send a note of an attempt that is held."""
        if attempt in self._held:
            self._unless_refused(
                "a note",
                attempt,
                lambda: self._plane.note(
                    attempt.task, text, attempt=attempt.number, number=next(self._numbers)
                ),
            )

    def send_memory(self, attempt: Attempt, key: str, value: Json) -> None:
        """Send a memory write of an attempt that is held."""
        if attempt in self._held:
            self._unless_refused(
                "a memory write",
                attempt,
                lambda: self._plane.memory(
                    attempt.task, key, value, attempt=attempt.number, number=next(self._numbers)
                ),
            )

    def _ended(self, call: _Call, outcome: JsonObject) -> None:
        """Report ``outcome``; in the place of a refused report, maybe that it failed (8.5)."""
        attempt = call.attempt
        draft: Draft | None = Draft(attempt, call.ctx.token, "report", outcome)
        while draft is not None and attempt in self._held:
            message = Message(next(self._numbers), attempt, draft.token, draft.kind, draft.body)
            refused = self._refusal_of(message)
            draft = None if refused is None else self._instead(message, refused)
        self._held.discard(attempt)

    def _refusal_of(self, message: Message) -> Refused | None:
        body = {
            **message.body,
            "attempt": message.attempt.number,
            "supervisor": self._name,
        }
        return self._unless_refused(
            "the report", message.attempt, lambda: self._plane.send_report(message.task, body)
        )

    def _instead(self, message: Message, refused: Refused) -> Draft | None:
        verdict = judge(message, refused)
        if verdict is Verdict.ASK:
            lost = self._plane.heartbeat(self._name, [message.task])
            verdict = Verdict.DROP if message.task in lost else Verdict.FAIL
        return failed_instead(message, refused) if verdict is Verdict.FAIL else None

    def _unless_refused(self, what: str, attempt: Attempt, send: Any) -> Refused | None:
        try:
            send()
        except ClientError as error:
            refused = refusal(error)
            _log.warning(
                "task %d: the control plane refused %s: %s", attempt.task, what, refused.text
            )
            return refused
        return None
