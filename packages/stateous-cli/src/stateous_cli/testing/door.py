"""The HTTP API of a rehearsal, without a server: requests of the real client, answered in place.

Bodies and queries go through the API's own checks, and answers are its own bytes. What is missing
is what only a socket has. A request that may wait is answered as if its time were over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import httpx

from stateous.json import JsonObject
from stateous.limits import MAX_BODY_BYTES, MAX_REPORT_BYTES
from stateous.wire.headers import LEASE, NEXT_CURSOR
from stateous.wire.problems import Code, Refusal
from stateous_cli.testing.clock import FakeClock
from stateous_cli.testing.errors import RehearsalError
from stateous_cli.testing.plane import ControlPlane
from stateous_client import AsyncClient, Client
from stateous_controlplane.answers import Answer, refused
from stateous_controlplane.api import commands, health, outcomes, queries, tasks, tokens
from stateous_controlplane.api.bodies import read_object, too_long
from stateous_controlplane.api.paths import PathTable, Place, decode_path
from stateous_controlplane.engine.commands import Request

URL: Final = "http://rehearsal"
#: An `async def` routine that waits for a token looks once in so many seconds of the fake clock.
_LOOK_SECONDS: Final = 1.0

_Parameters: TypeAlias = Mapping[str, str]
_Shape: TypeAlias = Callable[[JsonObject, _Parameters, Mapping[bytes, bytes]], Request | Refusal]


class _Said(NamedTuple):
    """An answer, and the headers of its own."""

    answer: Answer
    headers: Mapping[str, str] = {}


_Endpoint: TypeAlias = Callable[[_Parameters, httpx.Request], _Said]


class Door:
    """The way to the control plane ``plane``. Any thread may go through it."""

    def __init__(self, plane: ControlPlane, clock: FakeClock) -> None:
        self._plane = plane
        self._clock = clock
        self._lease = {LEASE: f"{plane.lease.total_seconds():g}"}
        self._table = PathTable(self._places())

    def client(self) -> Client:
        """A new client. Waiting with it is a RehearsalError: nothing would happen meanwhile."""
        transport = httpx.MockTransport(self._answer)
        return Client.through(transport, URL, sleep=_no_sleep, now=lambda: self._clock.elapsed)

    def async_client(self) -> AsyncClient:
        """A new asyncio client, which waits by the fake clock."""
        transport = httpx.MockTransport(self._answer)
        return AsyncClient.through(
            transport, URL, sleep=_fake_sleep, now=lambda: self._clock.elapsed
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        said = self._said(request)
        status, body = said.answer
        headers = dict(said.headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        return httpx.Response(status, headers=headers, content=body or b"")

    def _said(self, request: httpx.Request) -> _Said:
        path = decode_path(request.url.raw_path.partition(b"?")[0])
        found = None if path is None else self._table.find(path)
        endpoint = None if found is None else found.place.endpoints.get(request.method)
        if found is None or endpoint is None:
            where = f"{request.method} {request.url.path}"
            return _Said(refused(Refusal(Code.NOT_FOUND, f"there is nothing at {where}")))
        if len(request.content) > found.place.max_body:
            return _Said(refused(too_long(found.place.max_body)))
        return endpoint(found.parameters, request)

    # ── what there is ───────────────────────────────────────────────────

    def _places(self) -> list[Place[_Endpoint]]:
        steering: dict[str, _Shape] = {
            "pause": commands.pause_of,
            "resume": commands.resume_of,
            "cancel": commands.cancel_of,
        }
        return [
            _place("/tokens", POST=self._asks(commands.start_of), GET=self._tokens),
            _place("/tokens/{token}", GET=self._token),
            _place("/tokens/{token}/history", GET=self._history),
            _place("/tokens/{token}/events/{event}", POST=self._asks(commands.fire_of)),
            *(
                _place(f"/tokens/{{token}}/{how}", POST=self._asks(shape))
                for how, shape in steering.items()
            ),
            _place("/tasks", GET=self._tasks),
            _place("/tasks/claim", POST=self._asks(commands.claim_of, self._lease)),
            _place("/tasks/heartbeat", POST=self._asks(commands.heartbeat_of, self._lease)),
            _place("/tasks/{task}/report", MAX_REPORT_BYTES, POST=self._asks(outcomes.report_of)),
            _place("/tasks/{task}/note", POST=self._asks(outcomes.note_of)),
            _place("/tasks/{task}/memory", PUT=self._asks(outcomes.memory_of)),
            _place("/workflow", GET=lambda *_: _Said(health.workflow(self._plane.workflow.served))),
            _place(
                "/health",
                GET=lambda *_: _Said(health.health(self._plane.workflow.served), self._lease),
            ),
            _place("/ready", GET=lambda *_: _Said(Answer(200, b'{"ready":true}'))),
        ]

    def _asks(self, shape: _Shape, headers: Mapping[str, str] | None = None) -> _Endpoint:
        def ask(parameters: _Parameters, request: httpx.Request) -> _Said:
            body = read_object(request.content)
            if isinstance(body, Refusal):
                return _Said(refused(body))
            raw = {name.lower(): value for name, value in reversed(request.headers.raw)}
            command = shape(body, parameters, raw)
            if isinstance(command, Refusal):
                return _Said(refused(command))
            return _Said(self._plane.ask(command), headers or {})

        return ask

    def _token(self, parameters: _Parameters, request: httpx.Request) -> _Said:
        asked = queries.token_wait(request.url.query)
        if isinstance(asked, Refusal):
            return _Said(refused(asked))
        token = parameters["token"]
        return _Said(tokens.token_answer(token, self._plane.reads.token(token)))

    def _history(self, parameters: _Parameters, request: httpx.Request) -> _Said:
        asked = queries.history_page(request.url.query)
        if isinstance(asked, Refusal):
            return _Said(refused(asked))
        return _Said(tokens.read_history(self._plane.reads, parameters["token"], asked))

    def _tokens(self, parameters: _Parameters, request: httpx.Request) -> _Said:
        served = self._plane.workflow.document.workflow
        asked = queries.token_page(request.url.query, served=served)
        if isinstance(asked, Refusal):
            return _Said(refused(asked))
        return _of_page(tokens.read_page(self._plane.reads, asked))

    def _tasks(self, parameters: _Parameters, request: httpx.Request) -> _Said:
        asked = queries.task_page(request.url.query)
        if isinstance(asked, Refusal):
            return _Said(refused(asked))
        return _of_page(tasks.read_page(self._plane.reads, asked))


def _place(template: str, max_body: int = MAX_BODY_BYTES, **endpoints: Any) -> Place[_Endpoint]:
    return Place(template, max_body, dict(endpoints))


def _of_page(page: tokens.Page) -> _Said:
    return _Said(page.answer, {} if page.next is None else {NEXT_CURSOR: page.next})


def _no_sleep(seconds: float) -> None:
    raise RehearsalError(
        "a client that waits for a token waits for ever here, because nothing happens meanwhile: "
        "let run() or advance() make it happen, then look"
    )


async def _fake_sleep(seconds: float) -> None:
    await asyncio.sleep(max(seconds, _LOOK_SECONDS))
