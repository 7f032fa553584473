"""A control plane in virtual time: the real API, writer, engine and store, and no socket.

Whatever is asked is answered at once, and then everything follows that follows without anybody's
doing: sends to keys are delivered. Nothing else happens until somebody asks or time is moved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Final

import httpx

from stateous_controlplane.answers import Answer
from stateous_controlplane.api.app import make_app
from stateous_controlplane.api.ports import Answered, ApiSettings, Follower
from stateous_controlplane.store.port import Store
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.requests import Asked
from stateous_controlplane.writer.sequencer import TICK_SECONDS, Sequencer, Terms
from stateous_controlplane.writer.submission import Submission
from tests.support.scenarios.virtual_time import VirtualClock

#: What tickets are derived with.
TICKET_KEY: Final = bytes(range(32))
_HOLDER: Final = "scenario:1:00000001"
#: Nobody dies in a scenario: what is claimed stays so.
_LEASE: Final = timedelta(days=3650)
_MOST_STEPS: Final = 10_000


class Refused(Exception):
    """The API refused a request."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code = code


class _Desk:
    """The writer, driven by whoever asks."""

    serving = True

    def __init__(self, store: Store, catalog: Catalog, clock: VirtualClock) -> None:
        self._clock = clock
        self._answers: dict[Submission, Answer] = {}
        terms = Terms(_HOLDER, _LEASE, ticket_key=TICKET_KEY)
        self._sequencer = Sequencer(store, catalog, terms, clock, self._deliver, lambda: None)

    async def ask(self, request: Asked) -> Answer:
        submission = Submission(request)
        self._sequencer.submit(submission)
        self.settle()
        return self._answers.pop(submission)

    def hand_in(self, request: Asked, answered: Answered) -> None:
        raise AssertionError("a scenario has no connections")

    def withdraw(self, submission: Submission) -> None:
        raise AssertionError("nobody goes away in a scenario")

    def follow(self, token: str) -> AbstractContextManager[Follower]:
        raise AssertionError("nothing comes of waiting in a scenario")

    def tick(self) -> None:
        """The clock looks for what is due, as it does each second."""
        self._clock.wait(TICK_SECONDS)
        self.settle()

    def settle(self) -> None:
        for _ in range(_MOST_STEPS):
            if not self._sequencer.step():
                return
        raise AssertionError("the control plane never comes to rest")

    def _deliver(self, answers: list[tuple[Submission, Answer]], tokens: set[str]) -> None:
        self._answers.update(answers)


class Service:
    """A control plane that holds ``store``, at the instant ``start``."""

    def __init__(self, store: Store, start: datetime) -> None:
        self.clock = VirtualClock(start)
        taken = store.take_hold(_HOLDER, self.clock.now())
        assert taken is None, taken
        catalog = Catalog(None)
        self._desk = _Desk(store, catalog, self.clock)
        self._reads = store.reads()
        settings = ApiSettings(holder=_HOLDER, ticket_key=TICKET_KEY)
        app = make_app(self._desk, self._reads, None, settings, catalog)
        self._http = httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8080"
        )
        self._desk.tick()

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """What the API answers: the body as a value, None where there is none.

        Raises:
            Refused: it answered with a refusal.
        """
        content = None if method == "GET" else json.dumps(body)
        answer = await self._http.request(
            method,
            path,
            content=content,
            params=query,
            headers={"Content-Type": "application/json", **(headers or {})},
        )
        value: Any = json.loads(answer.content) if answer.content else None
        if answer.status_code >= 400:
            raise Refused(value["code"], value["error"])
        return value

    def tick(self) -> None:
        """What is due at this instant happens."""
        self._desk.tick()

    async def close(self) -> None:
        """Nothing is asked any more."""
        await self._http.aclose()
        self._reads.close()
