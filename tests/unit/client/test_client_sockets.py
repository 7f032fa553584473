"""The clients over real sockets: connections are reused, and closed; proxies are left alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from stateous_client import AsyncClient, Client, TokenNotFound, Unreachable
from stateous_client.errors import NOBODY_LISTENS

HEALTH = b'{"workflow":"sdlc","checksum":"sha256:0","contract":"sha256:1"}'
REFUSED = b'{"error":"there is no token","code":"token_not_found"}'


class Desk(ThreadingHTTPServer):
    """A stand-in for a control plane that counts its connections."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.opened: list[tuple[str, int]] = []
        self.closed = threading.Semaphore(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Desk

    def setup(self) -> None:
        super().setup()
        self.server.opened.append(self.client_address)

    def finish(self) -> None:
        super().finish()
        self.server.closed.release()

    def do_GET(self) -> None:
        body = HEALTH if self.path == "/health" else REFUSED
        self.send_response(200 if body is HEALTH else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is written."""


@pytest.fixture
def desk() -> Iterator[Desk]:
    with Desk() as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def test_a_connection_is_reused_and_closed(desk: Desk) -> None:
    with Client(desk.url) as client:
        for _ in range(5):
            assert client.health()["workflow"] == "sdlc"
            with pytest.raises(TokenNotFound):
                client.get("T")
        assert len(desk.opened) == 1
    assert desk.closed.acquire(timeout=10)


async def test_an_async_connection_is_reused_and_closed(desk: Desk) -> None:
    async with AsyncClient(desk.url) as client:
        for _ in range(5):
            assert (await client.health())["workflow"] == "sdlc"
            with pytest.raises(TokenNotFound):
                await client.get("T")
        assert len(desk.opened) == 1
    assert await asyncio.to_thread(desk.closed.acquire, timeout=10)


def test_a_proxy_of_the_environment_is_not_used(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with Client(desk.url, retries=0) as client:
        assert client.health()["workflow"] == "sdlc"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "no-such-host.invalid"])
async def test_both_say_the_same_of_a_connection_that_cannot_be_made(host: str) -> None:
    url = f"http://{host}:1"
    with Client(url, retries=0) as client, pytest.raises(Unreachable) as blocking:
        client.health()
    async with AsyncClient(url, retries=0) as async_client:
        with pytest.raises(Unreachable) as waiting:
            await async_client.health()
    assert str(blocking.value) == str(waiting.value)
    assert "invalid" in host or blocking.value.why.endswith("Connection refused")


@pytest.mark.parametrize(("host", "told"), [("127.0.0.1", True), ("no-such-host.invalid", False)])
def test_a_traceback_of_a_refused_connection_ends_with_what_to_do(host: str, told: bool) -> None:
    with Client(f"http://{host}:1", retries=0) as client, pytest.raises(Unreachable) as error:
        client.health()
    assert getattr(error.value, "__notes__", []) == ([NOBODY_LISTENS] if told else [])
