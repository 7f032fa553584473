"""The connections of the server: uvicorn's httptools protocol, with the limits of ours.

What it adds (`docs/spec/wire.md` 1.1). A connection is idle, or a request arrives on it, or one is
being answered; idle and arriving have a deadline each:

- *idle* for 30 s: it is closed.
- A request is *arriving* from its first byte until the last of its body. After 30 s it is cut with
  408. The time does not count while an earlier request of the connection is being answered.
- *answering* has no deadline; a long poll may last.

One timer for each connection looks at this. It is never moved by a request: when it goes off too
early it is set again for what is due then. The interval is at most the shortest limit, so that no
deadline is missed.

An answer that is given while the rest of its request still arrives (413, 408, a malformed request)
closes the connection. It closes *slowly*: our half first, while what the caller still sends is
read and dropped; else the caller's system could throw the answer away with a reset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from stateous.wire.problems import Code, Refusal
from stateous_controlplane.answers import refused
from stateous_controlplane.api.connection import (
    ConnectionLimits,
    Cycle,
    answer_bytes,
    without_delay,
)
from stateous_controlplane.api.direct import Begin, Direct
from stateous_controlplane.api.paths import split_target
from stateous_controlplane.api.reparsing import new_parser, renamed, without_upgrade

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application
    from uvicorn.config import Config
    from uvicorn.server import ServerState


#: The methods of requests that ask for something to be done.
_ASKING: Final = frozenset({"POST", "PUT"})
_VERSIONS: Final = frozenset({"1.0", "1.1"})


class Protocol(HttpToolsProtocol):
    """One connection. ``lost`` is called when it is over."""

    cycle: Cycle | None  # type: ignore[assignment]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
        lost: Callable[[], None],
        begin: Begin | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._begin = begin
        self._limits = limits
        self._lost = lost
        self._timer: asyncio.TimerHandle | None = None
        self._idle_since = self.loop.time()
        #: When the first byte of a request came that has not arrived whole.
        self._arriving_since: float | None = None
        self._head_open = False
        self._head_bytes = 0
        self._method = ""
        #: That of a request which the parser has under another.
        self._unknown_method = ""
        self._keeps_alive = True
        #: The head asks for another protocol.
        self._upgrading = False
        #: The request that is being answered; later ones wait in ``pipeline``.
        self._answering: Cycle | Direct | None = None
        #: The body of a request that may arrive whole, and then go the short way; None: there is none.
        self._whole: bytes | None = None
        self._closing_slowly = False

    # ── the connection ──────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or refuse it when there are too many."""
        full = len(self.connections) >= self._limits.connections
        super().connection_made(transport)
        without_delay(transport)
        if full:
            self.connections.discard(self)
            most = self._limits.connections
            self._close_with(
                Refusal(Code.TOO_MANY_CONNECTIONS, f"there are {most} connections already"),
                linger=min(1.0, self._limits.linger),
            )
            return
        self._look_again_in(min(self._limits.idle, self._limits.request))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell every request of the connection that nobody is there."""
        if self._timer is not None:
            self._timer.cancel()
        for cycle, _ in self.pipeline:
            cycle.disconnected = True
        if self._answering is not None:
            self._answering.disconnect()
        self.pipeline.clear()
        super().connection_lost(exc)
        self._lost()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """The caller has closed its half: what is being answered is still answered."""
        if self._answering is None or self._answering.more_body:
            return None
        self._answering.leave()
        self.pipeline.clear()
        return True

    def shutdown(self) -> None:
        """Close at once when idle, else after the answer."""
        if self._answering is None:
            self.transport.close()
        else:
            self._answering.keep_alive = False

    def cut(self) -> None:
        """Close at once, without an answer to what is being answered."""
        if isinstance(self._answering, Direct):
            self._answering.cut()
        self.transport.abort()

    # ── time ────────────────────────────────────────────────────────────

    def _look_again_in(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        limits = self._limits
        if self._closing_slowly:
            self.transport.abort()
        elif self._arriving_since is not None and self._waits_for_caller:
            remaining = self._arriving_since + limits.request - self.loop.time()
            if remaining > 0:
                self._look_again_in(remaining)
                return
            sentence = f"the request has not arrived within {limits.request:g} seconds"
            self._close_with(Refusal(Code.REQUEST_TIMEOUT, sentence))
        elif self._answering is not None:
            self._look_again_in(min(limits.idle, limits.request))
        else:
            remaining = self._idle_since + limits.idle - self.loop.time()
            if remaining > 0:
                self._look_again_in(min(remaining, limits.request))
            elif self.transport.get_write_buffer_size():
                # Whoever does not read its answer for so long will not.
                self.transport.abort()
            else:
                self.transport.close()

    @property
    def _waits_for_caller(self) -> bool:
        """Whether nothing but the arriving request itself keeps it from being answered."""
        return self._answering is None or self._answering.more_body

    # ── what comes in ───────────────────────────────────────────────────

    def data_received(self, data: bytes) -> None:
        """Parse what came; malformed HTTP is answered 400, and the connection closes."""
        if self._closing_slowly and self._arriving_since is None:
            return
        try:
            self._feed(data)
        except httptools.HttpParserError as error:
            self._whole = None
            self._close_with(Refusal(Code.BAD_REQUEST, f"this is no HTTP request: {error}"))
            return
        if self._whole is not None:
            self._go_the_long_way(self._whole)
        if self._head_open:
            self._head_bytes += len(data)
            if self._head_bytes > self._limits.head:
                sentence = f"the request's head is longer than {self._limits.head} bytes"
                self._close_with(Refusal(Code.BAD_REQUEST, sentence))

    def _feed(self, data: bytes) -> None:
        begins = self._arriving_since is None
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserInvalidMethodError:
                known = renamed(data) if begins else None
                if known is None:
                    raise
                self._unknown_method, data = known
                self.parser = new_parser(self)
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                if self._upgrading:
                    data = self._without_upgrade() + data
            else:
                return

    def _without_upgrade(self) -> bytes:
        self._upgrading = False
        self.parser = new_parser(self)
        return without_upgrade(self._method, self.url, self.headers)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._arriving_since = self.loop.time()
        self._head_open = True
        self._head_bytes = 0
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; one that stands behind a chunked body counts for nothing."""
        if not self._head_open:
            return
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head of a request: its app starts, or waits for those before it."""
        self._head_open = False
        version = self.parser.get_http_version()
        if version not in _VERSIONS:
            raise ValueError(f"HTTP/{version} is not spoken here")
        self._method = self._unknown_method or self.parser.get_method().decode("ascii")
        self._unknown_method = ""
        if self.parser.should_upgrade() and self._method != "CONNECT":
            self._upgrading = True
            return
        self._keeps_alive = version == "1.1" and self.parser.should_keep_alive()
        if (
            self._begin is not None
            and self._answering is None
            and self._method in _ASKING
            and not (self.expect_100_continue or self._closing_slowly or self.flow.write_paused)
        ):
            self._whole = b""
        else:
            self._go_the_long_way()

    def on_body(self, body: bytes) -> None:
        """A part of a body; that of a request which is answered already is dropped."""
        if self._whole is not None:
            self._whole += body
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        """The last byte of a request."""
        if self._upgrading:
            return
        self._arriving_since = None
        if self._closing_slowly:
            self.transport.close()
            return
        if self._whole is not None and self._went_the_short_way(self._whole):
            return
        if self.cycle is not None:
            self.cycle.more_body = False
            self.cycle.message_event.set()

    def _went_the_short_way(self, body: bytes) -> bool:
        """Have a request that is there whole answered; if that needs a task, begin the long way."""
        raw_path, _ = split_target(self.url)
        beginning = None
        if self._begin is not None:
            headers = dict(reversed(self.headers))
            # A defect is met again on the long way, which tells of it.
            with suppress(Exception):
                beginning = self._begin(self._method, raw_path, headers, body)
        if beginning is None:
            self._go_the_long_way(body)
            return False
        self._whole = self.cycle = None
        direct = Direct(self.transport, self.on_response_complete, keep_alive=self._keeps_alive)
        self._answering = direct
        direct.ask(beginning)
        return True

    def _go_the_long_way(self, body: bytes = b"") -> None:
        """Start the app for a request, with what has come of its body; or let it wait its turn."""
        self._whole = None
        raw_path, query = split_target(self.url)
        path = raw_path.decode("latin-1")
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": self.parser.get_http_version(),
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "http",
            "root_path": self.root_path,
            "headers": self.headers,
            "state": self.app_state.copy(),
            "method": self._method,
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
        }
        cycle = self.cycle = Cycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=[],
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=self._keeps_alive,
            on_response=self.on_response_complete,
        )
        if body:
            self.on_body(body)
        if self._answering is None:
            self._start_asgi_task(cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))

    # ── answers ─────────────────────────────────────────────────────────

    def _start_asgi_task(self, cycle: Cycle, app: ASGI3Application) -> None:  # type: ignore[override]
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """An answer was written: on with the next request, or wait for one, or close."""
        cycle, self._answering = self._answering, None
        if self.transport.is_closing():
            return
        self._idle_since = self.loop.time()
        if cycle is not None and not cycle.keep_alive:
            self.pipeline.clear()
            if cycle.more_body:
                self._close_slowly(self._limits.linger)
            else:
                self.transport.close()
            return
        if self._arriving_since is not None:
            self._arriving_since = self._idle_since
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())  # type: ignore[arg-type]

    def _close_with(self, refusal: Refusal, *, linger: float | None = None) -> None:
        """Refuse what is arriving, and close; an earlier request is answered first, if there is."""
        if not self._waits_for_caller and self._answering is not None:
            self._answering.keep_alive = False
            self.pipeline.clear()
            self.flow.pause_reading()
            return
        if self._answering is not None:
            self._answering.disconnect()
            self._answering = None
        if self._closing_slowly:
            self.transport.close()
            return
        self.transport.write(answer_bytes(refused(refusal), close=True))
        self._arriving_since = None
        self._close_slowly(self._limits.linger if linger is None else linger)

    def _close_slowly(self, seconds: float) -> None:
        self._closing_slowly = True
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        if self._timer is not None:
            self._timer.cancel()
        self._look_again_in(seconds)
