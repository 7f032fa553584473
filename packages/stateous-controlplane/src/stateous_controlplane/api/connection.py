"""What passes on a connection: its limits, what an app receives, and the bytes of an answer.

It refines uvicorn's cycle: head and body of an answer leave in one write (in two, a kept-alive
answer waits 40 ms for the acknowledgement of the first); a caller that has closed its half of the
connection still gets an answer that is under way, while a long poll learns that it has left.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from stateous_controlplane.answers import Answer, unexpected

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application, ASGIReceiveEvent, ASGISendEvent

log = logging.getLogger("stateous.serve")

RawHeaders: TypeAlias = tuple[tuple[bytes, bytes], ...]

_BODILESS = frozenset({204, 304})
_JSON: Final = (b"content-type", b"application/json")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What one server's connections may do; times are in seconds."""

    connections: int = 1000
    #: From the first byte of a request to the last of its body.
    request: float = 30.0
    #: Without a request.
    idle: float = 30.0
    #: For the caller to read an answer whose request was not read whole.
    linger: float = 5.0
    #: Bytes of a request before its body.
    head: int = 256 * 1024


def without_delay(transport: asyncio.BaseTransport) -> None:
    """Send what is written at once: else a second write waits for the first one's acknowledgement."""
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def answer_bytes(answer: Answer, extra: RawHeaders = (), *, close: bool) -> bytes:
    """A whole answer, for what no app answers."""
    status, body = answer
    head = head_bytes(status, headers_of_answer(answer, extra), close=close)
    return head if body is None else head + body


def headers_of_answer(answer: Answer, extra: RawHeaders = ()) -> RawHeaders:
    """The headers of an answer. One without a body (204) has no content headers."""
    if answer.body is None:
        return extra
    return (_JSON, (b"content-length", b"%d" % len(answer.body)), *extra)


def head_bytes(status: int, headers: Iterable[tuple[bytes, bytes]], *, close: bool) -> bytes:
    """Status line and headers, with the empty line behind them."""
    parts = [STATUS_LINE[status]]
    for name, value in headers:
        parts += (name, b": ", value, b"\r\n")
    parts.append(b"connection: close\r\n\r\n" if close else b"\r\n")
    return b"".join(parts)


class Cycle(RequestResponseCycle):
    """A request, and its answer. The app sees the ASGI interface."""

    def __init__(self, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self._body_taken = False
        #: The caller has closed its half of the connection, and may still read.
        self.left = False

    async def run_asgi(self, app: ASGI3Application) -> None:
        """Run the app; whatever it does, the connection ends up answered or closed."""
        try:
            await app(self.scope, self.receive, self.send)
            if not self.response_complete and not (self.disconnected or self.left):
                log.error("a request was left without an answer: %s", self.scope["method"])
        except asyncio.CancelledError:
            self.transport.abort()
            raise
        except Exception:
            log.exception("a request failed: %s", self.scope["method"])
            if not self.response_complete and not self.disconnected:
                self._finish(unexpected().status, [], [unexpected().body or b""])
        finally:
            if not self.response_complete and not self.disconnected:
                self.transport.close()
            self.on_response = _nothing

    async def receive(self) -> ASGIReceiveEvent:
        """The body, in parts as it arrives; then, once the caller has left, that it has."""
        if self.waiting_for_100_continue and not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.waiting_for_100_continue = False
        if not self._over:
            self.flow.resume_reading()
            await self.message_event.wait()
            self.message_event.clear()
        if self._over:
            return {"type": "http.disconnect"}
        body = bytes(self.body)
        self.body.clear()
        self._body_taken = not self.more_body
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: ASGISendEvent) -> None:
        """Take the app's answer; its last part sends the whole."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = list(message.get("headers", ()))
            self.response_started = True
        elif message["type"] == "http.response.body":
            self._parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                self._finish(self._status, self._headers, self._parts)
        else:
            raise RuntimeError(f"an app may not send {message['type']!r}")

    def leave(self) -> None:
        """Note that the caller has closed its half of the connection."""
        self.left = True
        self.keep_alive = False
        self.message_event.set()

    def disconnect(self) -> None:
        """Note that nothing can be sent any more."""
        self.disconnected = True
        self.message_event.set()

    @property
    def _over(self) -> bool:
        return self.disconnected or self.response_complete or (self.left and self._body_taken)

    def _finish(self, status: int, headers: list[tuple[bytes, bytes]], parts: list[bytes]) -> None:
        if self.more_body:
            # The rest of the request comes in unread: no other can be told apart behind it.
            self.keep_alive = False
        if status not in _BODILESS and not any(name == b"content-length" for name, _ in headers):
            headers = [*headers, (b"content-length", b"%d" % sum(map(len, parts)))]
        head = head_bytes(status, headers, close=not self.keep_alive)
        bodiless = status in _BODILESS or self.scope["method"] == "HEAD"
        self.transport.write(head if bodiless else b"".join((head, *parts)))
        self.response_started = self.response_complete = True
        self.message_event.set()
        self.on_response()


def _nothing() -> None:
    """What is called in place of a callback that may not be called twice."""
