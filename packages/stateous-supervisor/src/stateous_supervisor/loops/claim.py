"""The claim loop: asks for tasks as long as places are free (`docs/spec/authoring.md` 8.6).

How a stop ends a claim in flight. A claim may wait in the control plane for many seconds, and the
supervisor must neither wait as long nor lose a task that is granted at that moment. So it gives the
answer a moment; then it cuts the connection, and asks once, with the same request id and nothing to
claim from, what that request was granted (`docs/spec/wire.md` 3.8, request ids): those tasks are
run, and no new one is taken. The same, without the moment, ends a claim when the outbox cannot be
written any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias, assert_never

from stateous.limits import MAX_GRANTS_PER_CLAIM
from stateous_client import AsyncClient, BadAnswer, ClientError
from stateous_supervisor.loops.answers import refusal, unanswered
from stateous_supervisor.loops.bell import Bell
from stateous_supervisor.messages import Attempt
from stateous_supervisor.pace import Pace
from stateous_supervisor.session import Ask, Held, Over, Phase, Recall, Rest, Session
from stateous_supervisor.work import Queue, names_of, queue_of

Grant: TypeAlias = Mapping[str, Any]

_log: Final = logging.getLogger("stateous.supervisor")


class ClaimLoop:
    """Claims from ``queues``, and hands each new grant to ``begin``, with the time of the grant.

    ``queues`` tells of each whether its routine is an `async def` one. Of when something was
    granted only this is known for sure: before the answer, and as long after the request as the
    control plane may hold the answer back, at the latest.
    """

    def __init__(
        self,
        session: Session,
        plane: AsyncClient,
        *,
        supervisor: str,
        queues: Mapping[Queue, bool],
        begin: Callable[[Attempt, Grant, float], None],
        bell: Bell,
        pace: Pace,
        clock: Callable[[], float],
    ) -> None:
        self._session = session
        self._plane = plane
        self._supervisor = supervisor
        self._queues = queues
        self._begin = begin
        self._bell = bell
        self._pace = pace
        self._clock = clock
        self._call: asyncio.Future[Any] | None = None

    async def run(self) -> None:
        """Claim until the session says that it is over."""
        while True:
            match self._session.next_claim(self._clock()):
                case Over():
                    return
                case Rest(seconds):
                    await self._bell.wait(seconds)
                case Ask(request, most):
                    await self._ask(self._queues, request, self._pace.claim_wait, most)
                case Recall(request):
                    await self._ask((), request, 0, MAX_GRANTS_PER_CLAIM)
                case step:
                    assert_never(step)

    def cut(self, grace: float) -> None:
        """The session claims no more, for good or for now: a claim in flight has ``grace`` left."""
        self._bell.ring()
        call = self._call
        if call is not None:
            asyncio.get_running_loop().call_later(grace, call.cancel)

    async def _ask(
        self, queues: Collection[Queue], request: str, wait: int, most: int | None
    ) -> None:
        asked_at = self._clock()
        call = asyncio.ensure_future(
            self._plane.claim(
                self._supervisor,
                names_of(queues, "state"),
                jobs=names_of(queues, "job"),
                request=request,
                wait=wait,
                max=most,
            )
        )
        self._call = call
        try:
            await asyncio.wait((call,))
        finally:
            self._call = None
            # Only a loop that is itself cancelled leaves a call behind.
            call.cancel()
        if call.cancelled():
            return
        now = self._clock()
        error = call.exception()
        if error is None:
            self._granted(now, call.result(), by=min(now, asked_at + wait), one=most is None)
        elif not isinstance(error, ClientError):
            raise error
        elif (silence := unanswered(error)) is not None:
            self._unanswered(now, silence.reason)
        else:
            _log.warning("the control plane refused a claim: %s", refusal(error).text)
            if isinstance(error, BadAnswer):
                self._session.claim_unreadable(now)
            else:
                self._session.claim_refused(now)

    def _granted(self, now: float, answer: Any, *, by: float, one: bool) -> None:
        grants: list[Grant] = ([] if answer is None else [answer]) if one else answer
        by_attempt: dict[Attempt, Grant] = {}
        for grant in grants:
            queue = queue_of(grant)
            if queue in self._queues:
                by_attempt[Attempt(grant["task"], grant["attempt"])] = grant
            else:
                _log.error("task %d is not for this supervisor: %s", grant["task"], queue.name)
        held = [Held(it, self._queues[queue_of(grant)]) for it, grant in by_attempt.items()]
        for attempt in self._session.claim_answered(now, held):
            self._begin(attempt, by_attempt[attempt], by)

    def _unanswered(self, now: float, reason: str) -> None:
        delay = self._session.claim_unanswered(now)
        if self._session.phase is Phase.WORKING:
            _log.warning(
                "cannot reach the control plane at %s (%s); trying again in %gs",
                self._plane.url,
                reason,
                delay,
            )
