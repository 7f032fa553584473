"""The delivery loop: sends what is on disk, in order per task (`docs/spec/authoring.md` 8.6).

Each task that has messages has a courier, who sends them one after the other until none is left.
Couriers work at the same time, over kept connections. A message that gets no answer is sent again
without end, until the supervisor stops: then it has one try more, and stays on disk.

An attempt whose lease is in doubt (:mod:`stateous_supervisor.leases`) is asked after by a heartbeat
before the next of its messages goes: a routine that slept through its lease, because its process or
its host did, is not listened to.

Values that an attempt emitted go many in one request, when they come faster than the answers. Like all
messages they may arrive twice: they are numbered, and the control plane passes by what it has seen. When
it says that the attempt is over, the work is stopped: there is nobody to work for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, assert_never, cast

from stateous_client import AsyncClient, BadAnswer, ClientError
from stateous_supervisor.aftermath import Entry, what_follows
from stateous_supervisor.backoff import Backoff
from stateous_supervisor.crashpoints import reached
from stateous_supervisor.errors import OutboxError
from stateous_supervisor.leases import Leases
from stateous_supervisor.loops.answers import refusal, unanswered
from stateous_supervisor.messages import Attempt, Kind, Message, Outgoing
from stateous_supervisor.outcome import told
from stateous_supervisor.pace import Pace
from stateous_supervisor.pending import Pending
from stateous_supervisor.verdict import (
    Accepted,
    Answer,
    Refused,
    Unanswered,
    Verdict,
    failed_instead,
    judge,
    verdict_if_held,
    verdict_if_lost,
)

# More at once make neither side faster: a control plane answers those that come together at once,
# and the client's pool looks at each of its connections for each request.
_AT_ONCE: Final = 8

_log: Final = logging.getLogger("stateous.supervisor")


class DeliveryLoop:
    """The couriers. Everything happens on one event loop.

    ``settled`` is told of each attempt whose report is answered for good, or stays on disk;
    ``ran_out`` of each whose lease turns out to be over; ``stop`` of each that there is nobody to work
    for any more; ``gone`` of each message that needs no more sending, or stays; ``changed`` is called when a courier has nothing left to send. ``entry`` is what an
    attempt of this run belongs to.
    """

    def __init__(
        self,
        plane: AsyncClient,
        outbox: Outgoing,
        *,
        supervisor: str,
        leases: Leases,
        entry: Callable[[Attempt], Entry | None],
        settled: Callable[[Attempt], None],
        ran_out: Callable[[Attempt], None],
        stop: Callable[[Attempt], None],
        gone: Callable[[Message], None],
        changed: Callable[[], None],
        pace: Pace,
        clock: Callable[[], float],
    ) -> None:
        self._plane = plane
        self._outbox = outbox
        self._supervisor = supervisor
        self._leases = leases
        self._entry = entry
        self._settled = settled
        self._ran_out = ran_out
        self._stop = stop
        self._gone = gone
        self._changed = changed
        self._pace = pace
        self._clock = clock
        self._pending = Pending()
        self._couriers: set[asyncio.Task[None]] = set()
        self._served: set[int] = set()
        self._at_once = asyncio.Semaphore(_AT_ONCE)
        self._stopping = asyncio.Event()

    @property
    def idle(self) -> bool:
        """Whether no message is on its way."""
        return not self._served

    def stop(self) -> None:
        """Each message that still waits, or comes, has one try."""
        self._stopping.set()

    async def send_left(self, messages: Sequence[Message]) -> None:
        """Send what an earlier run left, in order, one at a time; return when none can go."""
        for message in messages:
            self._pending.add(message)
        while (first := self._pending.first()) is not None:
            await self._deliver(first)

    def send(self, message: Message) -> None:
        """Send a message that is on disk, after those of its task before it."""
        self._pending.add(message)
        if self._pending.stays(message.task):
            self._leave(message)
        elif message.task not in self._served:
            self._served.add(message.task)
            courier = asyncio.get_running_loop().create_task(self._run(message.task))
            self._couriers.add(courier)
            courier.add_done_callback(self._couriers.discard)

    def forget(self, attempt: Attempt) -> None:
        """The attempt is lost: its messages are dropped, here and on disk."""
        self._pending.forget(attempt)
        self._outbox.forget(attempt)

    async def close(self) -> None:
        """Cancel the couriers; what they have not sent stays on disk."""
        for courier in self._couriers:
            courier.cancel()
        await asyncio.gather(*self._couriers, return_exceptions=True)

    async def _run(self, task: int) -> None:
        try:
            while (message := self._pending.head(task)) is not None:
                await self._deliver(message)
        finally:
            self._served.discard(task)
            self._changed()

    async def _deliver(self, message: Message) -> None:
        """Send the first message of a task until it is settled, or stays, or is forgotten."""
        backoff = Backoff(self._pace.backoff)
        while self._pending.head(message.task) is message:
            last_try = self._stopping.is_set()
            if self._leases.in_doubt(message.attempt, self._clock()):
                held = await self._is_held(message)
                if held is None:
                    return self._stay(message.task)
                if not held:
                    return self._ran_out(message.attempt)
                continue
            together = self._pending.with_followers(message)
            answer = await self._send(together)
            if not isinstance(answer, Unanswered):
                return await self._settle(together, answer)
            if last_try:
                return self._stay(message.task)
            await self._wait(backoff, answer)
        return None

    async def _settle(self, together: Sequence[Message], answer: Accepted | Refused) -> None:
        message = together[0]
        self._tell(message, answer)
        if isinstance(answer, Accepted):
            return self._drop(together)
        verdict = judge(message, answer)
        if verdict is Verdict.ASK:
            held = await self._is_held(message)
            if held is None:
                return self._stay(message.task)
            verdict = verdict_if_held(message) if held else verdict_if_lost(message)
        match verdict:
            case Verdict.FAIL:
                return await self._fail(message, answer)
            case Verdict.STOP:
                self._drop(together)
                return self._stop(message.attempt)
            case _:
                return self._drop(together)

    async def _send(self, together: Sequence[Message]) -> Answer:
        message = together[0]
        try:
            async with self._at_once:
                reached(f"before-send-{message.kind}")
                token = await self._call(together)
        except BadAnswer:
            # Any status below 400 is an acceptance here (docs/spec/wire.md 2.8).
            return Accepted()
        except ClientError as error:
            return unanswered(error) or refusal(error)
        finally:
            reached(f"after-send-{message.kind}")
        return Accepted(token)

    async def _call(self, together: Sequence[Message]) -> Mapping[str, Any] | None:
        message = together[0]
        # The client checks the types of what a foreign row may hold.
        body = cast("dict[str, Any]", message.body)
        attempt = message.attempt.number
        match message.kind:
            case "report":
                outcome = {**body, "attempt": attempt, "supervisor": self._supervisor}
                return await self._plane.send_report(message.task, outcome)
            case "note":
                text = body.get("text", "")
                await self._plane.note(message.task, text, attempt=attempt, number=message.id)
            case "memory":
                key, value = body.get("key", ""), body.get("value")
                await self._plane.memory(
                    message.task, key, value, attempt=attempt, number=message.id
                )
            case "emit":
                values = [
                    {"event": it.body.get("event"), "data": it.body.get("data")} for it in together
                ]
                await self._plane.emits(
                    message.task, self._supervisor, attempt, body.get("number", 0), values
                )
            case _:
                assert_never(message.kind)
        return None

    async def _is_held(self, message: Message) -> bool | None:
        """Whether the task is still ours; None when nobody answered before the stop."""
        backoff = Backoff(self._pace.backoff)
        while True:
            last = self._stopping.is_set()
            asked_at = self._clock()
            try:
                lost = await self._plane.heartbeat(self._supervisor, [message.task])
            except ClientError as error:
                silence = unanswered(error)
                if silence is None:
                    _log.warning("the control plane refused a heartbeat: %s", refusal(error).text)
                    # A report that does not fit is refused, and harms nothing.
                    self._leases.renewed((message.attempt,), asked_at)
                    return True
                if last:
                    return None
                await self._wait(backoff, silence)
            else:
                if message.task in lost:
                    return False
                self._leases.renewed((message.attempt,), asked_at)
                return True

    async def _fail(self, message: Message, refused: Refused) -> None:
        try:
            written = self._outbox.replace(message, failed_instead(message, refused))
            by = await asyncio.wrap_future(written)
        except OutboxError as error:
            _log.error("task %d of %s: %s", message.task, message.token, error)
            self._drop((message,))
        else:
            self._pending.replace(message, by)

    async def _wait(self, backoff: Backoff, silence: Unanswered) -> None:
        delay = backoff.unanswered()
        _log.warning(
            "cannot reach the control plane at %s (%s); trying again in %gs",
            self._plane.url,
            silence.reason,
            delay,
        )
        try:
            async with asyncio.timeout(delay):
                await self._stopping.wait()
        except TimeoutError:
            pass

    def _drop(self, together: Sequence[Message]) -> None:
        for message in together:
            self._pending.done(message)
            self._outbox.remove(message)
            self._gone(message)
            if message.kind == "report":
                self._settled(message.attempt)

    def _stay(self, task: int) -> None:
        for message in self._pending.stay(task):
            self._leave(message)

    def _leave(self, message: Message) -> None:
        self._gone(message)
        if message.kind == "report":
            _log.warning(
                "task %d of %s: the control plane cannot be reached; the report stays in the "
                "outbox for the next start",
                message.task,
                message.token,
            )
            self._settled(message.attempt)

    def _tell(self, message: Message, answer: Accepted | Refused) -> None:
        match answer:
            case Refused():
                _log.warning(
                    "task %d of %s: the control plane refused %s: %s",
                    message.task,
                    message.token,
                    _WHAT[message.kind],
                    answer.text,
                )
            case Accepted() if message.kind == "report":
                outcome = told(message.body)
                _log.info("task %d of %s: reported %s", message.task, message.token, outcome)
                entry = self._entry(message.attempt)
                if message.body["kind"] == "failed" and answer.token and entry is not None:
                    _log.info(
                        "task %d of %s: attempt %d failed: %s",
                        message.task,
                        message.token,
                        message.attempt.number,
                        what_follows(entry, answer.token),
                    )
            case Accepted():
                pass
            case _:
                assert_never(answer)


_WHAT: Final[dict[Kind, str]] = {
    "report": "the report",
    "note": "a note",
    "memory": "a memory write",
    "emit": "an emitted value",
}
