"""The asyncio way of requests onto the wire: HTTP/1.1 on asyncio's transports, spoken by h11.

A supervisor makes hundreds of small requests a second to one address. httpx makes objects of URLs,
headers, requests and responses anew for each of them, and httpcore's pool looks at every connection:
both take more time than all the rest of a supervisor. A client has one address, so what is the same
in all requests is made once, and the pool is a stack of idle connections.

A connection that is not left in good order, because its request was cancelled, took too long or
broke, is cut, and never serves another one. Nor does one that says more than it was asked. The answer
is read while the request is still on its way: who refuses a body for its size answers before he has
all of it, and closes.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from typing import Any, Final

import h11
import httpx

from stateous_client.errors import InvalidArgument
from stateous_client.protocol.address import Address
from stateous_client.protocol.exchange import Answer, Request

# As httpx has it for the blocking client.
_MOST_OF_A_TARGET: Final = 65_536
_BROKEN_OFF: Final = "the connection was closed before the answer was complete"
_OURS: Final = ((b"Accept", b"*/*"), (b"User-Agent", b"stateous-client"))


class Wire:
    """Requests of one client to one address, on one event loop.

    At most ``most`` connections are open at once; one that has been idle for ``idle_for`` seconds is
    not used again.
    """

    def __init__(self, address: Address, *, most: int, idle_for: float) -> None:
        url = httpx.URL(address.base)
        self._trust = ssl.create_default_context() if address.encrypted else None
        self._host = url.raw_host.decode()
        self._port = url.port or (443 if address.encrypted else 80)
        self._prefix = url.raw_path.rstrip(b"/")
        self._headers = [(b"Host", url.netloc), *_OURS, *_credentials(url)]
        self._masked = address.masked
        self._idle_for = idle_for
        self._places = asyncio.Semaphore(most)
        # The last that was used first, with when that was.
        self._idle: list[tuple[float, _Line]] = []
        self._closed = False

    async def ask(self, request: Request[Any], timeout: float) -> Answer:
        """Send a request once, and read its whole answer.

        Connecting, a free connection, and each wait for bytes take ``timeout`` seconds at most, these
        last ones as many more as the answer may be held back.

        Raises:
            httpx.RequestError: there is none.
            InvalidArgument: the request's URL is too long.
        """
        if self._places.locked():
            try:
                async with asyncio.timeout(timeout):
                    await self._places.acquire()
            except TimeoutError as error:
                raise httpx.PoolTimeout("no free connection") from error
        else:
            await self._places.acquire()
        try:
            line = self._idle_line() or await self._connected(timeout)
            try:
                answer = await line.exchange(
                    self._head(request), request.body or b"", timeout + request.held
                )
            except BaseException:
                line.cut()
                raise
            self._put_by(line)
            return answer
        finally:
            self._places.release()

    async def aclose(self) -> None:
        """Close what is idle."""
        self._closed = True
        while self._idle:
            self._idle.pop()[1].close()
        # A closed connection is gone one turn of the loop later, which may be its last.
        await asyncio.sleep(0)

    def _head(self, request: Request[Any]) -> h11.Request:
        headers = [*self._headers, *((name.encode(), value) for name, value in request.headers)]
        if request.method != "GET":
            headers.append((b"Content-Length", str(len(request.body or b"")).encode()))
        target = self._prefix + request.target.encode()
        if len(target) > _MOST_OF_A_TARGET:
            raise InvalidArgument(f"this cannot be asked of {self._masked}: its URL is too long")
        try:
            return h11.Request(method=request.method, target=target, headers=headers)
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error

    def _idle_line(self) -> _Line | None:
        while self._idle:
            since, line = self._idle.pop()
            if _now() - since < self._idle_for and line.is_in_order():
                return line
            line.close()
        return None

    def _put_by(self, line: _Line) -> None:
        if self._closed or not line.is_free():
            line.close()
        else:
            self._idle.append((_now(), line))

    async def _connected(self, seconds: float) -> _Line:
        try:
            async with asyncio.timeout(seconds):
                return await self._opened()
        except TimeoutError as error:
            raise httpx.ConnectTimeout("no connection") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error

    async def _opened(self) -> _Line:
        """A connection to one of the addresses of the host, tried in turn as sockets do it.

        asyncio's own loop over them tells all their errors in one text, and its race between them
        loses the winner's socket when it is cancelled at that moment.
        """
        loop = asyncio.get_running_loop()
        last: OSError | None = None
        for *_, address in await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM):
            try:
                _, line = await loop.create_connection(
                    lambda: _Line(loop),
                    str(address[0]),
                    self._port,
                    ssl=self._trust,
                    server_hostname=self._host if self._trust is not None else None,
                )
                return line
            except OSError as error:
                last = error
        raise last or OSError(f"{self._host} has no address")


class _Line(asyncio.Protocol):
    """One connection, with the state of its conversation."""

    _transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._talk = h11.Connection(h11.CLIENT)
        self._over = False
        self._answer: asyncio.Future[Answer] | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._seconds = 0.0
        self._head: h11.Response | None = None
        self._body = bytearray()

    async def exchange(self, head: h11.Request, body: bytes, seconds: float) -> Answer:
        """Say a request, and hear its answer; no bytes for ``seconds`` end it.

        Raises:
            httpx.RequestError: no answer came, or only a part of one, or none of HTTP/1.1.
        """
        self._answer = self._loop.create_future()
        self._seconds = seconds
        try:
            # In one piece: a head and a body that come in two packets wake the other side up twice.
            parts = (head, h11.Data(data=body), h11.EndOfMessage())
            self._transport.write(b"".join(self._talk.send(part) or b"" for part in parts))
            self._wait()
            return await self._answer
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        finally:
            self._answer = None
            if self._patience is not None:
                self._patience.cancel()

    def is_in_order(self) -> bool:
        """Whether nothing has come, nor ended, since the last answer."""
        return not self._over and not self._transport.is_closing()

    def is_free(self) -> bool:
        """Whether another request may follow the one that is answered; it is made ready for it."""
        both = self._talk.our_state, self._talk.their_state
        if both != (h11.DONE, h11.DONE) or self._talk.trailing_data[0] or not self.is_in_order():
            return False
        self._talk.start_next_cycle()
        self._head = None
        self._body.clear()
        return True

    def close(self) -> None:
        """End it in good order."""
        self._transport.close()

    def cut(self) -> None:
        """End it at once."""
        self._transport.abort()

    # What asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self._over = True
            return self.cut()
        self._talk.receive_data(data)
        return self._read()

    def eof_received(self) -> None:
        self._over = True
        if self._answer is not None and not self._answer.done():
            self._talk.receive_data(b"")
            self._read()

    def connection_lost(self, error: Exception | None) -> None:
        self._over = True
        broken = httpx.ReadError(str(error) if error is not None else "the connection is closed")
        broken.__cause__ = error
        self._fail(broken)

    def _read(self) -> None:
        try:
            while True:
                event: Any = self._talk.next_event()
                match event:
                    case h11.NEED_DATA:
                        return self._wait()
                    case h11.Response():
                        self._head = event
                    case h11.Data():
                        self._body += event.data
                    case h11.EndOfMessage():
                        return self._done()
                    case h11.InformationalResponse():
                        pass
                    case _:
                        return self._fail(httpx.RemoteProtocolError(_BROKEN_OFF))
        except h11.RemoteProtocolError as error:
            # What h11 says of an end that comes too early is about its own states.
            broken = httpx.RemoteProtocolError(_BROKEN_OFF if self._over else str(error))
            broken.__cause__ = error
            self._fail(broken)

    def _done(self) -> None:
        assert self._answer is not None
        assert self._head is not None
        headers: dict[str, str] = {}
        for name, value in self._head.headers:  # h11 has them in lower case
            headers.setdefault(name.decode(), value.decode("latin-1"))  # given twice: the first
        self._answer.set_result(Answer(self._head.status_code, headers, bytes(self._body)))

    def _wait(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._patience = self._loop.call_later(self._seconds, self._late)

    def _late(self) -> None:
        self._fail(httpx.ReadTimeout("no answer"))

    def _fail(self, error: httpx.RequestError) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


def _credentials(url: httpx.URL) -> list[tuple[bytes, bytes]]:
    if not url.userinfo:
        return []
    both = f"{url.username}:{url.password}".encode()
    return [(b"Authorization", b"Basic " + base64.b64encode(both))]


def _now() -> float:
    return asyncio.get_running_loop().time()
