"""The server: uvicorn on sockets that are bound already, started and stopped by its owner.

It takes no signals and writes no lines of its own; `serve` does both.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from stateous_controlplane.api.connection import ConnectionLimits
from stateous_controlplane.api.direct import Begin
from stateous_controlplane.api.protocol import Protocol

#: How long requests in progress may take once the server stops, in seconds.
GRACE_SECONDS: Final = 5.0
_BACKLOG: Final = 2048


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the event loop: uvloop's where there is one, for `asyncio.Runner`."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


class Server:
    """Serves ``app`` on ``sockets``, which belong to it from the start on.

    With ``begin``, requests that it knows go the short way (:mod:`.direct`).
    """

    def __init__(
        self,
        app: ASGIApp,
        sockets: Sequence[socket.socket],
        *,
        begin: Begin | None = None,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self._sockets = list(sockets)
        self._none_open = asyncio.Event()
        http: Any = partial(
            Protocol,
            limits=limits or ConnectionLimits(),
            lost=self._note_a_lost_connection,
            begin=begin,
        )
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(
                app,
                http=http,
                ws="none",
                lifespan="off",
                interface="asgi3",
                proxy_headers=False,
                server_header=False,
                date_header=False,
                access_log=False,
                log_config=None,
                backlog=_BACKLOG,
            )
        )

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._uvicorn.server_state.connections)

    async def start(self) -> None:
        """Listen, and answer from now on."""
        config = self._uvicorn.config
        config.load()
        self._uvicorn.lifespan = config.lifespan_class(config)
        await self._uvicorn.startup(sockets=self._sockets)

    async def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Take no more connections, close the idle ones, and let requests in progress end.

        What is not answered after ``grace`` seconds is cut. Long polls are the desk's: its owner
        ends them first, so that they are answered now.
        """
        self._stop_listening()
        state = self._uvicorn.server_state
        for connection in list(state.connections):
            connection.shutdown()
        if state.connections:
            self._none_open.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._none_open.wait()
        await self.abort()

    async def abort(self) -> None:
        """Stop at once: open requests are cut."""
        self._stop_listening()
        state = self._uvicorn.server_state
        for connection in list(state.connections):
            if isinstance(connection, Protocol):
                connection.cut()
        tasks = list(state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _note_a_lost_connection(self) -> None:
        if not self._uvicorn.server_state.connections:
            self._none_open.set()

    def _stop_listening(self) -> None:
        for server in getattr(self._uvicorn, "servers", ()):
            server.close()
        for listening in self._sockets:
            listening.close()
