"""The rehearsal: what a test starts, lets happen, and looks at."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from math import ceil
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from stateous.durations import parse_duration
from stateous.routine import Occurrence, StateRef, payload_of
from stateous_cli.testing.clock import FakeClock
from stateous_cli.testing.door import Door
from stateous_cli.testing.errors import RehearsalError
from stateous_cli.testing.plane import ControlPlane
from stateous_cli.testing.routines import Cast, Routines
from stateous_cli.testing.sources import Flow, read_source
from stateous_cli.testing.supervisor import Supervisor
from stateous_cli.testing.token import Token
from stateous_client import AsyncClient, Client
from stateous_client import Task as TaskValues
from stateous_controlplane.engine.commands import ClaimTask

NOON: Final = datetime(2027, 3, 1, 12, tzinfo=UTC)
#: Tasks that one moment may bring, unless the test says otherwise.
MOST_TASKS: Final = 1000
#: Whose lease ends in :meth:`Rehearsal.lose`.
_GONE: Final = "lost-supervisor"
#: Tokens, and failures of routines, that an error's note tells of.
_MOST_TOLD: Final = 10

#: An event: an occurrence of the contract, or its name.
Event: TypeAlias = "str | Occurrence[Any]"


class Rehearsal:
    """A workflow, its routines, a control plane and a supervisor, in this process and in memory.

    ``flow`` is a `flow.py`, a graph file or a Workflow; ``routines`` a supervisor's folder, or
    functions that `@on_state` marked. States without a routine are left to the test. The clock
    begins ``at`` a moment of your choice, in UTC if it has no zone; leases last ``lease``.

    Nothing happens by itself. :meth:`run` lets everything happen that can happen now, and
    :meth:`advance` lets time pass. Use it in a ``with`` block: an error that leaves the block takes
    the tokens' histories along as a note.

    Refusals are raised as the client raises them (``EventNotAllowed``, ``TokenNotFound``, ...).

    Raises:
        InvalidWorkflow, FlowImportError: what `stateous compile` would say.
        RehearsalError, SupervisorError: the routines do not fit the workflow.
    """

    def __init__(
        self,
        flow: Flow,
        routines: Routines = (),
        *,
        at: datetime = NOON,
        lease: str | timedelta = "2m",
    ) -> None:
        source = read_source(flow)
        self._cast = Cast(source.document, routines)
        self._lease = _length(lease)
        self._clock = FakeClock(at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC))
        self._plane = ControlPlane(source.document, source.text, self._clock, self._lease)
        self._door = Door(self._plane, self._clock)
        self._client = self._door.client()
        self._supervisor = Supervisor(self._client, self._cast.routines, self._clock, "rehearsal")
        self._wakes_at: datetime | None = None
        self._running = False
        self._over = False

    # ── tokens ──────────────────────────────────────────────────────────

    def start(self, token: str, context: Mapping[str, Any] | None = None) -> Token:
        """Start a token; its first task waits for :meth:`run`. One that exists stays as it is."""
        self._client.start(token, None if context is None else dict(context))
        return self._look(token)

    def token(self, token: str) -> Token:
        """A look at a token. Raises TokenNotFound."""
        self._client.get(token)
        return self._look(token)

    def tokens(self) -> list[Token]:
        """All tokens, children too, the most recently moved first."""
        return [self._look(each["token"]) for each in self._client.iter_tokens()]

    def fire(
        self,
        token: str | Token,
        event: Event,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> Token:
        """Fire an event from outside. With a ``key`` that was used before nothing is done."""
        name, fields = _said(event, payload)
        self._client.fire(_id(token), name, fields, key=key)
        return self._look(token)

    def report(
        self,
        token: str | Token,
        event: Event,
        payload: Mapping[str, Any] | None = None,
        *,
        context: Mapping[str, Any] | None = None,
    ) -> Token:
        """End the token's waiting task from outside with an event, and maybe with writes.

        Raises:
            TaskNotHeld: the task is still queued; nobody has taken it.
            RehearsalError: the token has no open task.
        """
        name, fields = _said(event, payload)
        writes = None if context is None else dict(context)
        self._client.report(self._open_task(token)["task"], name, fields, context=writes)
        return self._look(token)

    def report_failed(self, token: str | Token, error: str) -> Token:
        """Let the token's waiting task fail from outside: it uses up a retry."""
        self._client.report_failed(self._open_task(token)["task"], error)
        return self._look(token)

    def pause(self, token: str | Token) -> Token:
        """Pause a top token with its children."""
        self._client.pause(_id(token))
        return self._look(token)

    def resume(self, token: str | Token) -> Token:
        """Let a paused token go on."""
        self._client.resume(_id(token))
        return self._look(token)

    def cancel(self, token: str | Token) -> Token:
        """Cancel a top token with its children; their routines are cancelled in :meth:`run`."""
        self._client.cancel(_id(token))
        return self._look(token)

    # ── routines ────────────────────────────────────────────────────────

    def routine(self, state: str | StateRef[Any], fake: Callable[..., Any] | None) -> None:
        """Let ``fake`` be the routine of ``state`` from now on; None: nobody works on it.

        ``state`` is named as a claim names it: ``coding``, of a child ``design-review/triage``. A
        fake is called with ``ctx`` like any routine and returns what one returns; or, for short, the
        name of an event, or its name and payload: ``("coded", {"branch": "b"})``.
        """
        self._cast.put(state, fake)

    def client(self) -> Client:
        """A new client of this control plane, for routines that use one."""
        return self._door.client()

    def async_client(self) -> AsyncClient:
        """A new asyncio client of this control plane. It waits by the fake clock."""
        return self._door.async_client()

    # ── what happens, and when ──────────────────────────────────────────

    @property
    def now(self) -> datetime:
        """The fake clock, in UTC."""
        return self._clock.moment

    def run(self, *, most: int = MOST_TASKS) -> None:
        """Let everything happen that can happen without time passing.

        Raises:
            RehearsalError: after ``most`` tasks there is still one more: a token goes round.
        """
        with self._alone("run()"):
            _on_a_free_thread(lambda: self._run(most))

    def advance(self, duration: str | timedelta, *, most: int = MOST_TASKS) -> None:
        """Let time pass, as ``"6h"``: what happens meanwhile happens, each at its own time."""
        length = _length(duration)
        with self._alone("advance()"):
            _on_a_free_thread(lambda: self._advance(length, most))

    def lose(self, what: str | int | Token) -> None:
        """Let the supervisor of a token's task (or of this task) stop answering.

        A queued task is taken first, and its routine not called; one whose `async def` routine is
        running is left alone. Then time passes until the lease has ended.

        Raises:
            RehearsalError: the token has no task that anybody could be working on.
        """
        task = self._task(what) if isinstance(what, int) else self._open_task(what)
        number = task["task"]
        if task["status"] == "queued":
            self._plane.ask(ClaimTask(number, _GONE, self._lease))
            task = self._task(number)
        elif not self._supervisor.drop(number):
            raise RehearsalError(
                f"task {number} of {task['token']} is {task['status']}: it has no lease to lose"
            )
        if task["status"] != "claimed":
            raise RehearsalError(
                f"task {number} of {task['token']} cannot be taken now:\n"
                f"{self._look(task['token'])}"
            )
        self.advance(self._lease + timedelta(seconds=1))

    def _run(self, most: int) -> None:
        taken = 0
        while True:
            self._spin()
            self._supervisor.beat()
            if not self._supervisor.claim():
                break
            taken += 1
            if taken > most:
                raise RehearsalError(
                    f"there is still work after {most} tasks; does a token go round without end? "
                    f"The one that moved last:\n{self.tokens()[0]}"
                )
        # Those that the last heartbeat cancelled still have their `finally` to do.
        self._spin()

    def _spin(self) -> None:
        seconds = self._supervisor.spin()
        if seconds is None:
            self._wakes_at = None
        else:
            self._wakes_at = self.now + timedelta(microseconds=max(1, ceil(seconds * 1e6)))

    def _advance(self, length: timedelta, most: int) -> None:
        until = self.now + length
        self._run(most)
        while True:
            due = min(self._dues(), default=until)
            self._clock.move_to(min(due, until))
            self._supervisor.beat()
            self._plane.tick()
            self._run(most)
            if due >= until:
                return

    def _dues(self) -> Iterator[datetime]:
        due = self._plane.next_due()
        if due is not None:
            yield due
        if self._wakes_at is not None:
            yield self._wakes_at
        if self._supervisor.running:
            yield self.now + self._lease * 3 / 4

    @contextmanager
    def _alone(self, what: str) -> Iterator[None]:
        if self._over:
            raise RehearsalError(f"{what} was called after the rehearsal's end")
        if self._running:
            raise RehearsalError(
                f"{what} was called by a routine: only the test lets things happen"
            )
        self._running = True
        try:
            yield
        finally:
            self._running = False

    # ── its end ─────────────────────────────────────────────────────────

    def close(self) -> None:
        """End the rehearsal: routines that still run are cancelled; tokens can still be looked at."""
        self._over = True
        _on_a_free_thread(self._supervisor.close)
        self._cast.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            said = str(error)
            for part in self._parts():
                if part not in said:
                    error.add_note(f"\n{part}")
        self.close()

    def story(self) -> str:
        """What happened, for people: each top token's story, and what routines raised."""
        return "\n\n".join(self._parts()) or "no token was started"

    def _parts(self) -> list[str]:
        tops = [each for each in self._client.iter_tokens() if "parent" not in each]
        parts = [str(self._look(each["token"])) for each in tops[:_MOST_TOLD]]
        if len(tops) > _MOST_TOLD:
            parts.append(f"and {len(tops) - _MOST_TOLD} tokens that moved before these")
        return parts + [
            f"the routine of {each.state!r} raised (task {each.task} of {each.token}, "
            f"attempt {each.attempt}):\n{each.trace}"
            for each in self._supervisor.failures[-_MOST_TOLD:]
        ]

    def _look(self, token: str | Token) -> Token:
        return Token(_id(token), self._client, self._plane)

    def _open_task(self, token: str | Token) -> TaskValues:
        look = self.token(_id(token))
        task = look.task
        if task is None:
            raise RehearsalError(f"the token {look.id!r} has no open task:\n{look}")
        return task

    def _task(self, number: int) -> TaskValues:
        for task in self._client.iter_tasks():
            if task["task"] == number:
                return task
        raise RehearsalError(f"there is no task {number}")


def _id(token: str | Token) -> str:
    return token.id if isinstance(token, Token) else token


def _said(event: Event, payload: Mapping[str, Any] | None) -> tuple[str, dict[str, Any] | None]:
    if not isinstance(event, Occurrence):
        return event, None if payload is None else dict(payload)
    if payload is not None:
        raise RehearsalError(f"{event!r:.100} has its payload with it: leave out the other one")
    fields = payload_of(event)
    return event.name, None if fields is None else dict(fields)


def _length(duration: str | timedelta) -> timedelta:
    if not isinstance(duration, timedelta):
        return parse_duration(duration)
    if duration < timedelta(0):
        raise ValueError(f"time does not go back: {duration}")
    return duration


def _on_a_free_thread(act: Callable[[], None]) -> None:
    """Do ``act`` here; in an `async def` test, whose loop has this thread, on a thread beside it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        act()
        return
    raised: list[BaseException] = []

    def aside() -> None:
        try:
            act()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=aside, name="rehearsal")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
