"""The asyncio way of requests onto the wire: HTTP/1.1 over asyncio's streams, spoken by h11.

It stands where httpx has httpcore. A supervisor makes hundreds of small requests a second to one
address, and httpcore's pool, which looks at every connection for every request and is not of one
event loop's library, takes more time than all the rest of the supervisor. A client has one address,
so the pool here is a stack of idle connections.

A connection that is not left in good order, because its request was cancelled, took too long or
broke, is cut, and never serves another one. The answer is read while the request is still on its
way: who refuses a body for its size answers before he has all of it, and closes.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass
from typing import Any, Final

import h11
import httpx

_CHUNK: Final = 65_536


@dataclass(frozen=True, slots=True)
class _Line:
    """One connection, with the state of its conversation."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    talk: h11.Connection


class Wire(httpx.AsyncBaseTransport):
    """Requests of one client to one address, on one event loop.

    At most ``most`` connections are open at once; one that has been idle for ``idle_for`` seconds is
    not used again. ``trust`` is for https addresses.
    """

    def __init__(self, trust: ssl.SSLContext | None, *, most: int, idle_for: float) -> None:
        self._trust = trust
        self._idle_for = idle_for
        self._places = asyncio.Semaphore(most)
        # The last that was used first, with when that was.
        self._idle: list[tuple[float, _Line]] = []
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and read its whole answer."""
        seconds: dict[str, float | None] = request.extensions["timeout"]
        try:
            async with asyncio.timeout(seconds["pool"]):
                await self._places.acquire()
        except TimeoutError as error:
            raise httpx.PoolTimeout("no free connection") from error
        try:
            line = self._idle_line() or await self._connected(request.url, seconds["connect"])
            try:
                response = await _exchanged(line, request, seconds["read"])
            except BaseException:
                line.writer.transport.abort()
                raise
            self._put_by(line)
            return response
        finally:
            self._places.release()

    async def aclose(self) -> None:
        """Close what is idle."""
        self._closed = True
        while self._idle:
            self._idle.pop()[1].writer.close()
        # A closed connection is gone one turn of the loop later, which may be its last.
        await asyncio.sleep(0)

    def _idle_line(self) -> _Line | None:
        while self._idle:
            since, line = self._idle.pop()
            if _now() - since < self._idle_for and not line.reader.at_eof():
                return line
            line.writer.close()
        return None

    def _put_by(self, line: _Line) -> None:
        both = line.talk.our_state, line.talk.their_state
        if self._closed or both != (h11.DONE, h11.DONE):  # one of the two has said that it closes
            line.writer.close()
        else:
            line.talk.start_next_cycle()
            self._idle.append((_now(), line))

    async def _connected(self, url: httpx.URL, seconds: float | None) -> _Line:
        host, port = url.raw_host.decode(), url.port or (443 if url.scheme == "https" else 80)
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await self._opened(host, port, secure=url.scheme == "https")
        except TimeoutError as error:
            raise httpx.ConnectTimeout("no connection") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        return _Line(reader, writer, h11.Connection(h11.CLIENT))

    async def _opened(
        self, host: str, port: int, *, secure: bool
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to one of the addresses of ``host``, tried in turn as sockets do it.

        asyncio's own loop over them tells all their errors in one text, and its race between them
        loses the winner's socket when it is cancelled at that moment.
        """
        asked = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        last: OSError | None = None
        for *_, address in asked:
            try:
                return await asyncio.open_connection(
                    str(address[0]),
                    port,
                    ssl=self._trust if secure else None,
                    server_hostname=host if secure else None,
                    limit=_CHUNK,
                )
            except OSError as error:
                last = error
        raise last or OSError(f"{host} has no address")


async def _exchanged(line: _Line, request: httpx.Request, seconds: float | None) -> httpx.Response:
    try:
        line.writer.write(await _spoken(line.talk, request))
        return await _read(line, seconds)
    except h11.LocalProtocolError as error:
        raise httpx.LocalProtocolError(str(error)) from error
    except h11.RemoteProtocolError as error:
        raise httpx.RemoteProtocolError(str(error)) from error


async def _spoken(talk: h11.Connection, request: httpx.Request) -> bytes:
    # In one piece: a head and a body that come in two packets wake the other side up twice.
    head = h11.Request(
        method=request.method, target=request.url.raw_path, headers=request.headers.raw
    )
    events = (head, h11.Data(data=await request.aread()), h11.EndOfMessage())
    return b"".join(talk.send(event) or b"" for event in events)


async def _read(line: _Line, seconds: float | None) -> httpx.Response:
    status, headers, body = 0, [], bytearray()
    while True:
        event: Any = line.talk.next_event()
        match event:
            case h11.NEED_DATA:
                line.talk.receive_data(await _more(line, seconds))
            case h11.Response():
                status, headers = event.status_code, event.headers.raw_items()
            case h11.Data():
                body += event.data
            case h11.EndOfMessage():
                return httpx.Response(status, headers=headers, stream=httpx.ByteStream(bytes(body)))
            case h11.InformationalResponse():
                pass
            case _:
                raise httpx.RemoteProtocolError("Server disconnected without sending a response.")


async def _more(line: _Line, seconds: float | None) -> bytes:
    try:
        async with asyncio.timeout(seconds):
            return await line.reader.read(_CHUNK)
    except TimeoutError as error:
        raise httpx.ReadTimeout("no answer") from error
    except OSError as error:
        raise httpx.ReadError(str(error)) from error


def _now() -> float:
    return asyncio.get_running_loop().time()
