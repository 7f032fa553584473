"""A desk and reads of paper, and a client that holds every answer against the OpenAPI document."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import jsonschema_rs
import pytest
from fastapi import FastAPI

from stateous.json import JsonText
from stateous_controlplane.answers import Answer
from stateous_controlplane.api.app import make_app
from stateous_controlplane.api.connection import ConnectionLimits
from stateous_controlplane.api.paths import PathTable, Place
from stateous_controlplane.api.ports import Answered, ApiSettings, Served
from stateous_controlplane.api.server import Server
from stateous_controlplane.engine.commands import (
    AddNote,
    AnswerTicket,
    Cancel,
    Claim,
    Heartbeat,
    Pause,
    Resume,
    SendEvent,
    Subject,
    SubmitRun,
    WriteMemory,
)
from stateous_controlplane.engine.rows import Entry, TaskStatus
from stateous_controlplane.store.port import Place as PageEnd
from stateous_controlplane.store.port import (
    TaskFilter,
    TaskView,
    TokenFilter,
    TokenView,
)
from stateous_controlplane.store.run_views import (
    GraphView,
    NewestPlace,
    RunFilter,
    RunInFull,
    RunState,
    RunView,
)
from stateous_controlplane.writer.requests import Asked, Emits, PutGraph
from stateous_controlplane.writer.submission import Submission

AT = datetime(2027, 3, 1, 14, 51, 53, 873706, tzinfo=UTC)
TOKEN = Answer(
    200,
    b'{"token":"T-1","state":"coding","status":"active","visit":1,"context":{},'
    b'"entered_at":"2027-03-01T14:51:53.873706Z"}',
)
GRAPH = "sha256:" + "0" * 64
RUN = (
    b'{"id":"run-1","machine":"review","graph":"%s","key":null,"parent":null,"job":null,'
    b'"status":"active","configuration":[],"error":null,'
    b'"started_at":"2027-03-01T14:51:53.873706Z","ended_at":null}' % GRAPH.encode()
)
RUN_ANSWERS = {
    SubmitRun: Answer(201, RUN),
    PutGraph: Answer(201, b'{"graph":"%s","machine":"review"}' % GRAPH.encode()),
    Emits: Answer(204, None),
}
SERVED = Served("ticket", "sha256:1", "sha256:2", b'{ "stateous": 1,\n "workflow": "ticket" }\n')


def view(token: str = "T-1", *, state: str = "coding", status: str = "active", at: int = 0) -> Any:
    return TokenView(token, state, status, 1, '{"repo":"acme"}', AT.replace(microsecond=at), None)


@dataclass
class PaperFollower:
    """Changes when the test says so."""

    news: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False

    async def changed(self) -> None:
        await self.news.wait()
        self.news.clear()


@dataclass
class PaperDesk:
    """Writes down what it is asked, and answers what the test has put there."""

    asked: list[Asked] = field(default_factory=list)
    answer: Answer | None = None
    #: Takes the place of an answer at once.
    answering: Callable[[Asked], Awaitable[Answer]] | None = None
    serving: bool = True
    followers: list[PaperFollower] = field(default_factory=list)
    withdrawn: int = 0
    handed_in: dict[Submission, asyncio.Task[Answer]] = field(default_factory=dict)

    async def ask(self, request: Asked) -> Answer:
        self.asked.append(request)
        if self.answering is not None:
            try:
                return await self.answering(request)
            except asyncio.CancelledError:
                self.withdrawn += 1
                raise
        if self.answer is not None:
            return self.answer
        match request:
            case Claim() | AddNote() | WriteMemory():
                return Answer(204, None)
            case Heartbeat():
                return Answer(200, b'{"lost":[]}')
            case SendEvent() | AnswerTicket():
                return Answer(200, b'{"result":"taken"}')
            case SubmitRun() | PutGraph() | Emits():
                return RUN_ANSWERS[type(request)]
            case (
                Pause(subject=Subject.RUN)
                | Resume(subject=Subject.RUN)
                | Cancel(subject=Subject.RUN)
            ):
                return Answer(200, RUN)
            case _:
                return TOKEN

    def hand_in(self, request: Asked, answered: Answered) -> Submission:
        submission = Submission(request)
        asking = asyncio.ensure_future(self.ask(request))
        self.handed_in[submission] = asking

        def tell(asking: asyncio.Task[Answer]) -> None:
            if not asking.cancelled():
                answered(asking.result())

        asking.add_done_callback(tell)
        return submission

    def withdraw(self, submission: Submission) -> None:
        self.handed_in[submission].cancel()

    @contextmanager
    def follow(self, token: str) -> Iterator[PaperFollower]:
        follower = PaperFollower()
        self.followers.append(follower)
        try:
            yield follower
        finally:
            self.followers.remove(follower)


@dataclass
class PaperReads:
    """Answers from lists; ``asked`` has what each read was asked with."""

    views: dict[str, TokenView] = field(default_factory=lambda: {"T-1": view()})
    entries: dict[str, list[Entry]] = field(default_factory=lambda: {"T-1": []})
    pages: list[TokenView] = field(default_factory=list)
    task_pages: list[TaskView] = field(default_factory=list)
    runs_in_full: dict[str, RunInFull] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    more: bool = False
    asked: list[Any] = field(default_factory=list)
    #: Called by each read, which may raise or block.
    before: Callable[[], None] = lambda: None
    held: bool = True

    def token(self, token: str) -> TokenView | None:
        self.before()
        return self.views.get(token)

    def history(self, token: str, *, after: int, limit: int | None) -> list[Entry] | None:
        self.before()
        self.asked.append((after, limit))
        entries = self.entries.get(token)
        return None if entries is None else [e for e in entries if e.seq > after][:limit]

    def tokens(
        self, where: TokenFilter, *, behind: PageEnd | None, limit: int, max_bytes: int
    ) -> tuple[list[TokenView], bool]:
        self.before()
        self.asked.append((where, behind, limit, max_bytes))
        return self.pages, self.more

    def tasks(self, where: TaskFilter, *, behind: int, limit: int) -> tuple[list[TaskView], bool]:
        self.before()
        self.asked.append((where, behind, limit))
        return self.task_pages, self.more

    def run_state(self, run: str) -> RunState | None:
        self.before()
        full = self.runs_in_full.get(run)
        if full is None:
            return None
        return RunState(full.view.status, full.starter, bool(full.tickets))

    def run(self, run: str) -> RunInFull | None:
        self.before()
        return self.runs_in_full.get(run)

    def runs(
        self, where: RunFilter, *, behind: NewestPlace | None, limit: int
    ) -> tuple[list[RunView], bool]:
        self.before()
        self.asked.append((where, behind, limit))
        return [full.view for full in self.runs_in_full.values()], self.more

    def run_history(self, run: str, *, after: int, limit: int | None) -> list[Entry] | None:
        self.before()
        self.asked.append((after, limit))
        return (
            [e for e in self.entries["T-1"] if e.seq > after] if run in self.runs_in_full else None
        )

    def graph(self, checksum: str) -> str | None:
        self.before()
        return self.documents.get(checksum)

    def graphs(self, *, behind: NewestPlace | None, limit: int) -> tuple[list[GraphView], bool]:
        self.before()
        self.asked.append((behind, limit))
        return [GraphView(each, "statechart", "review", (), AT, 0) for each in self.documents], (
            self.more
        )

    def holds(self, holder: str) -> bool:
        self.before()
        self.asked.append(holder)
        return self.held

    def close(self) -> None:
        """Nothing is open."""


def entry(seq: int, kind: str = "note") -> Entry:
    return Entry("T-1", seq, AT, kind, JsonText('{"task":1,"text":"x"}'))


def task_view(task: int) -> TaskView:
    return TaskView(task, "T-1", "coding", 1, TaskStatus.QUEUED, 0, None, None, AT)


class DocumentedClient(httpx.AsyncClient):
    """An HTTP client for which an answer that the document does not allow is an error."""

    def __init__(self, app: FastAPI, *, base_url: str = "http://127.0.0.1:8080") -> None:
        super().__init__(transport=httpx.ASGITransport(app), base_url=base_url)
        self.document = app.openapi()
        self._paths = PathTable(
            Place(path, 0, operations) for path, operations in self.document["paths"].items()
        )

    async def send(self, request: httpx.Request, **more: Any) -> httpx.Response:
        response = await super().send(request, **more)
        found = self._paths.find(request.url.path)
        operation = found and found.place.endpoints.get(request.method.lower())
        if operation:
            self._check(operation, response)
        else:
            assert response.status_code in (403, 404, 405, 413, 421) or request.method == "HEAD"
        return response

    def _check(self, operation: dict[str, Any], response: httpx.Response) -> None:
        allowed = operation["responses"]
        assert str(response.status_code) in allowed, (operation["operationId"], response.text)
        answer = allowed[str(response.status_code)]
        if "$ref" in answer:
            answer = self.document["components"]["responses"][answer["$ref"].rpartition("/")[2]]
        if "content" not in answer:
            assert response.content == b""
            assert "content-type" not in response.headers
            assert "content-length" not in response.headers
            return
        assert response.headers["content-type"] == "application/json"
        schema = answer["content"]["application/json"]["schema"]
        whole = {**schema, "components": self.document["components"]}
        jsonschema_rs.validator_for(whole).validate(json.loads(response.content))
        for name in answer.get("headers", {}):
            if name in response.headers:
                header = answer["headers"][name]["schema"]
                jsonschema_rs.validate(header, response.headers[name])


@pytest.fixture
def desk() -> PaperDesk:
    return PaperDesk()


@pytest.fixture
def reads() -> PaperReads:
    return PaperReads()


@pytest.fixture
def make_client(desk: PaperDesk, reads: PaperReads) -> Callable[..., DocumentedClient]:
    def make(served: Served | None = SERVED, **settings: Any) -> DocumentedClient:
        return DocumentedClient(make_app(desk, reads, served, ApiSettings(**settings)))

    return make


@pytest.fixture
async def client(make_client: Callable[..., DocumentedClient]) -> AsyncIterator[DocumentedClient]:
    async with make_client() as client:
        yield client


@dataclass
class Wire:
    """A server on a port of its own, and raw connections to it."""

    server: Server
    port: int

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, limit=2**22)

    async def until(self, connections: int) -> None:
        """Wait until so many are open."""
        async with asyncio.timeout(5):
            while self.server.connections != connections:  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    async def say(self, *parts: bytes, pause: float = 0.0) -> bytes:
        """All that comes back on one connection, until the server closes it."""
        reader, writer = await self.connect()
        for part in parts:
            writer.write(part)
            await writer.drain()
            if pause:
                await asyncio.sleep(pause)
        try:
            return await asyncio.wait_for(reader.read(-1), 5)
        finally:
            writer.close()


@pytest.fixture
def serve(desk: PaperDesk, reads: PaperReads) -> Callable[..., Any]:
    """A context manager: the API behind the real protocol, with the given limits."""

    @asynccontextmanager
    async def serving(app: Any = None, begin: Any = None, **limits: Any) -> AsyncIterator[Wire]:
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        api = app or make_app(desk, reads, SERVED, ApiSettings())
        if app is None and begin is None:
            begin = api.front.begin
        server = Server(api, [listening], begin=begin, limits=ConnectionLimits(**limits))
        await server.start()
        try:
            yield Wire(server, port)
        finally:
            await server.abort()

    return serving


@pytest.fixture
def make_view() -> Callable[..., TokenView]:
    return view


@pytest.fixture
def make_entry() -> Callable[..., Entry]:
    return entry


@pytest.fixture
def make_task_view() -> Callable[[int], TaskView]:
    return task_view
