"""A supervisor of the simulation: the product's pure cores, with happenings in place of loops.

`Session`, `Pending`, `Pulse`, `judge` and the client's protocol are the product's own. The outbox is
a list that outlives crashes, with ids that only grow. Routines are processes that follow a script of
chance: they note, remember, take their time, and end as routines do. It can crash at each named
point:

::

    before put · after put · before send · after answer · after removal · after grant · in routine
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

from stateous.json import JsonObject
from stateous.limits import MAX_GRANTS_PER_CLAIM
from stateous_client.errors import BadAnswer, ClientError
from stateous_client.protocol import calls, run_calls
from stateous_client.protocol.courses import Course, Send, Sleep
from stateous_client.protocol.dialogue import Dialogue
from stateous_client.protocol.exchange import Request
from stateous_supervisor.backoff import Backoff
from stateous_supervisor.loops.answers import refusal, unanswered
from stateous_supervisor.loops.heartbeat import Pulse
from stateous_supervisor.messages import Attempt, Draft, Message
from stateous_supervisor.pace import Pace
from stateous_supervisor.pending import Pending
from stateous_supervisor.session import Ask, Held, Over, Recall, Rest, Session
from stateous_supervisor.verdict import (
    Accepted,
    Refused,
    Unanswered,
    Verdict,
    failed_instead,
    judge,
    verdict_if_held,
    verdict_if_lost,
)
from tests.sim.disk import Disk
from tests.sim.timeline import Bell, Host, Until
from tests.sim.witness import Witness, mark_of

POINTS: Final = (
    "before put",
    "after put",
    "before send",
    "after answer",
    "after removal",
    "after grant",
    "in routine",
)
PACE: Final = Pace(
    claim_wait=4, backoff=(0.5, 1.0, 2.0, 4.0), heartbeat=2.0, http_timeout=3.0, claim_pause=0.5
)

Play = Generator[Any, Any, "JsonObject | None"]


class Supervisor:
    """One supervisor process after another on ``host``, with one outbox.

    ``routine`` makes what an attempt does, ``point`` is called at each named point and may raise. One
    that ``keeps`` no outbox loses it with its process, as who runs nothing but scripts.
    """

    def __init__(
        self,
        host: Host,
        witness: Witness,
        states: Sequence[str],
        jobs: Sequence[str] = (),
        *,
        places: int,
        keeps: bool = True,
        routine: Callable[[Supervisor, Attempt, JsonObject], Play],
        point: Callable[[str], None],
    ) -> None:
        self.host = host
        host.crashed = self._crashed
        self.disk = Disk()
        self._witness = witness
        self._states = states
        self._jobs = jobs
        self._keeps = keeps
        self._places = places
        self._routine = routine
        self.point = point
        self._dialogue = Dialogue.of(
            "http://plane",
            PACE.http_timeout,
            0,
            draw=host.timeline.random.random,
            now=host.monotonic,
        )

    # ── from its start to its end ───────────────────────────────────────

    def start(self) -> None:
        """The process begins."""
        self.host.boot()
        self.session = Session(
            self._places,
            fresh_request=lambda: f"{self.host.timeline.random.getrandbits(128):032x}",
            pace=PACE,
        )
        self.pending = Pending()
        # What a full disk refused: messages to write and, by their rows, to remove.
        self._kept: deque[Draft | Message] = deque()
        self._bell = Bell()
        self._lease: float | None = None
        self._served: set[int] = set()
        self._routines: dict[Attempt, Any] = {}
        self._claiming: Any = None
        self.host.run(self._begin())
        self.host.run(self._heartbeats())

    @property
    def quiet(self) -> bool:
        """Whether it has nothing to say and runs nothing."""
        return not self.disk.rows and not self.session.held and not self._kept

    def _crashed(self) -> None:
        self._routines.clear()
        if not self._keeps:
            self.disk.rows.clear()

    def _tell(self, what: str) -> None:
        self.host.timeline.tell(self.host.name, what)

    def _ask(self, request: Request[Any]) -> Course[Any]:
        course = self._dialogue.ask(request)
        reply = None
        try:
            while True:
                step = course.send(reply)
                reply = yield step
                if isinstance(step, Send) and reply is not None:
                    self._lease = request.lease_after(reply, self._lease)
        except StopIteration as end:
            return end.value

    # ── claims ──────────────────────────────────────────────────────────

    def _begin(self) -> Play:
        for message in list(self.disk.rows.values()):
            self.pending.add(message)
        while (first := self.pending.first()) is not None:
            yield from self._deliver(first)
        self._claiming = self.host.run(self._claims())
        return None

    def _claims(self) -> Play:
        while True:
            match self.session.next_claim(self.host.monotonic()):
                case Over():
                    return None
                case Rest(seconds):
                    yield Until(self._bell, seconds)
                case Ask(request, most):
                    queues = self._states, self._jobs
                    yield from self._claim(queues, request, PACE.claim_wait, most)
                case Recall(request):
                    yield from self._claim(((), ()), request, 0, MAX_GRANTS_PER_CLAIM)

    def _claim(
        self,
        queues: tuple[Sequence[str], Sequence[str]],
        request: str,
        wait: int,
        most: int | None,
    ) -> Play:
        name, (states, jobs) = self.host.name, queues
        asked: Request[Any]
        if most is None:
            asked = calls.claim(name, states, jobs, request=request, wait=wait)
        else:
            asked = calls.claim_many(name, states, jobs, request=request, wait=wait, max=most)
        try:
            answer = yield from self._ask(asked)
        except ClientError as error:
            now = self.host.monotonic()
            if unanswered(error) is not None:
                self.session.claim_unanswered(now)
            elif isinstance(error, BadAnswer):
                self.session.claim_unreadable(now)
            else:
                self.session.claim_refused(now)
            return None
        grants = answer if most is not None else [] if answer is None else [answer]
        by_attempt = {Attempt(each["task"], each["attempt"]): each for each in grants}
        self.point("after grant")
        held = [Held(attempt, on_loop=True) for attempt in by_attempt]
        for attempt in self.session.claim_answered(self.host.monotonic(), held):
            self._witness.begun(attempt.task, attempt.number)
            self._tell(f"runs {by_attempt[attempt]['state']} as {attempt}")
            self._routines[attempt] = self.host.run(self._run(attempt, by_attempt[attempt]))
        return None

    # ── routines ────────────────────────────────────────────────────────

    def _run(self, attempt: Attempt, grant: JsonObject) -> Play:
        outcome = yield from self._routine(self, attempt, grant)
        self._routines.pop(attempt, None)
        if outcome is not None and self.session.ended(self.host.monotonic(), attempt):
            self.put(Draft(attempt, str(grant["token"]), "report", outcome))
        self._bell.ring()
        return None

    def put(self, draft: Draft) -> None:
        """Write a message, and send it unless its attempt is lost."""
        self.point("before put")
        if self._kept or self.disk.full:
            self._keep(draft)
        else:
            self._write(draft)

    def _write(self, draft: Draft) -> None:
        message = self.disk.insert(draft)
        mark = draft.body.get("text") or draft.body.get("key") or mark_of(draft.body.get("data"))
        if draft.kind != "report" and mark != "last":
            self._witness.written(draft.attempt.task, draft.attempt.number, str(mark))
        self.point("after put")
        if self.session.holds(draft.attempt):
            self._send(message)
        else:
            self._remove(message)

    # ── while the disk is full ──────────────────────────────────────────

    def _keep(self, refused: Draft | Message) -> None:
        self._kept.append(refused)
        if len(self._kept) == 1:
            self._tell("cannot write its outbox")
            self.session.outbox_refuses()
            if self._claiming is not None:
                self._claiming.kill()
                self._claiming = self.host.run(self._claims())
            self.host.run(self._refill())

    def _refill(self) -> Play:
        backoff = Backoff(PACE.backoff)
        while self.disk.full:
            yield Sleep(backoff.unanswered())
        kept, self._kept = self._kept, deque()
        self._tell(f"writes {len(kept)} that waited")
        for each in kept:
            if isinstance(each, Draft):
                self._write(each)
            else:
                self._remove(each)
        self.session.outbox_takes()
        self._bell.ring()
        return None

    # ── heartbeats ──────────────────────────────────────────────────────

    def _heartbeats(self) -> Play:
        pulse = Pulse(self.host.monotonic(), PACE)
        while True:
            yield Sleep(max(0.01, pulse.due_in(self.host.monotonic(), self._lease)))
            if pulse.due_in(self.host.monotonic(), self._lease) > 0:
                continue
            now, held = self.host.monotonic(), self.session.held
            if held:
                request = calls.heartbeat(self.host.name, [it.attempt.task for it in held])
                try:
                    lost = yield from self._ask(request)
                except ClientError as error:
                    if unanswered(error) is not None:
                        pulse.unanswered(self.host.monotonic())
                        continue
                else:
                    self._lose([it.attempt for it in held if it.attempt.task in lost])
            pulse.beaten(now)

    def _lose(self, attempts: list[Attempt]) -> None:
        for attempt in self.session.lost(self.host.monotonic(), attempts):
            self._tell(f"has lost {attempt}")
            process = self._routines.pop(attempt, None)
            if process is not None:
                process.kill()
            self.pending.forget(attempt)
            for message in list(self.disk.rows.values()):
                if message.attempt == attempt:
                    self._remove(message)
        self._bell.ring()

    # ── deliveries ──────────────────────────────────────────────────────

    def _send(self, message: Message) -> None:
        self.pending.add(message)
        if message.task not in self._served:
            self._served.add(message.task)
            self.host.run(self._courier(message.task))

    def _courier(self, task: int) -> Play:
        while (message := self.pending.head(task)) is not None:
            yield from self._deliver(message)
        self._served.discard(task)
        self._bell.ring()
        return None

    def _deliver(self, message: Message) -> Play:
        backoff = Backoff(PACE.backoff)
        while self.pending.head(message.task) is message:
            self.point("before send")
            answer = yield from self._try(message)
            self.point("after answer")
            if isinstance(answer, Unanswered):
                yield Sleep(backoff.unanswered())
                continue
            yield from self._settle(message, answer)
            return None
        return None

    def _try(self, message: Message) -> Generator[Any, Any, Accepted | Refused | Unanswered]:
        task, number, body = message.task, message.attempt.number, message.body
        request: Request[Any]
        match message.kind:
            case "report":
                outcome = {**body, "attempt": number, "supervisor": self.host.name}
                request = calls.send_report(task, outcome)
            case "note":
                request = calls.note(task, str(body["text"]), attempt=number, number=message.id)
            case "memory":
                key, value = str(body["key"]), body["value"]
                request = calls.memory(task, key, value, attempt=number, number=message.id)
            case "emit":
                value = {"event": body["event"], "data": body["data"]}
                first: Any = body["number"]
                request = run_calls.emits(task, self.host.name, number, first, [value])
        try:
            yield from self._ask(request)
        except BadAnswer:
            return Accepted()
        except ClientError as error:
            return unanswered(error) or refusal(error)
        return Accepted()

    def _settle(self, message: Message, answer: Accepted | Refused) -> Play:
        if isinstance(answer, Refused):
            self._tell(f"message {message.id} of {message.attempt} is refused: {answer.text}")
            verdict = judge(message, answer)
            if verdict is Verdict.ASK:
                held = yield from self._is_held(message)
                verdict = verdict_if_held(message) if held else verdict_if_lost(message)
            if verdict is Verdict.STOP:
                self._stop(message)
                return None
            if verdict is Verdict.FAIL:
                while self.disk.full:
                    yield Sleep(1.0)
                by = self.disk.insert(failed_instead(message, answer))
                self.disk.rows.pop(message.id, None)
                self.point("after put")
                self.pending.replace(message, by)
                return None
        self.pending.done(message)
        self._remove(message)
        if message.kind == "report":
            self.session.settled(message.attempt)
            self._bell.ring()
        return None

    def _stop(self, message: Message) -> None:
        self.pending.done(message)
        self._remove(message)
        self._lose([message.attempt])

    def _is_held(self, message: Message) -> Generator[Any, Any, bool]:
        backoff = Backoff(PACE.backoff)
        while True:
            try:
                lost = yield from self._ask(calls.heartbeat(self.host.name, [message.task]))
            except ClientError as error:
                if unanswered(error) is None:
                    return True
                yield Sleep(backoff.unanswered())
            else:
                return message.task not in lost

    def _remove(self, message: Message) -> None:
        if self.disk.full:
            self._keep(message)
            return
        self.disk.rows.pop(message.id, None)
        self.point("after removal")
