"""From the first answer to the last: the API, the writer, a companion, and the signals that end it.

The first signal stops gently: no new connections, long polls answered at once, up to 5 s for the
requests in progress. A second one cuts them. A companion, the supervisor of `--supervise`, gets each
signal first, and the control plane stops once it has ended (`docs/spec/wire.md` 6.3).
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from socket import socket
from typing import Final, Protocol

from stateous_controlplane.api.app import make_app
from stateous_controlplane.api.connection import ConnectionLimits
from stateous_controlplane.api.ports import ApiSettings
from stateous_controlplane.api.server import Server
from stateous_controlplane.garbage import leave_startup_alone
from stateous_controlplane.settings import ListenAddress, ServeError
from stateous_controlplane.startup import Workflow
from stateous_controlplane.store.port import Store
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.desk import Broken, WriterDesk
from stateous_controlplane.writer.sequencer import Terms

#: How long requests in progress may take once the control plane stops, in seconds.
STOP_SECONDS: Final = 5.0

STOP_SIGNALS: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
)


class Companion(Protocol):
    """What runs beside the control plane in its process: the supervisor of `--supervise`."""

    def start(self, url: str, ended: Callable[[int], None]) -> None:
        """Begin, against the control plane at ``url``.

        ``ended`` is to be called once, from any thread, with an exit code.
        """
        ...

    def stop(self) -> None:
        """A signal came: the first stops it gently, the second at once."""
        ...


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """All that a control plane has once it holds its database and its port."""

    store: Store
    listening: socket
    listen: ListenAddress
    holder: str
    lease: timedelta
    workflow: Workflow | None
    api: ApiSettings
    max_connections: int


class Serving:
    """One control plane that answers. Make and use it on the event loop's thread."""

    def __init__(self, plane: ControlPlane, companion: Companion | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._plane = plane
        self._companion = companion
        self._companion_code = 0
        self._signals = 0
        self._broken: Broken | None = None
        self._stop = asyncio.Event()
        self._cut = asyncio.Event()

    async def until_stopped(self) -> int:
        """Answer until a signal or the loss of the hold; the exit code.

        Raises:
            ServeError: the hold was lost, or the writer met a defect.
        """
        plane = self._plane
        for number in STOP_SIGNALS:
            self._loop.add_signal_handler(number, self._on_signal)
        catalog = Catalog(None if plane.workflow is None else plane.workflow.machine)
        terms = Terms(plane.holder, plane.lease, ticket_key=plane.api.ticket_key)
        desk = WriterDesk(plane.store, catalog, terms, self._on_broken)
        reads = plane.store.reads()
        served = None if plane.workflow is None else plane.workflow.served
        app = make_app(desk, reads, served, plane.api, catalog)
        server = Server(
            app,
            [plane.listening],
            begin=app.front.begin,
            limits=ConnectionLimits(connections=plane.max_connections),
        )
        await server.start()
        leave_startup_alone()
        say(f"serving on {plane.listen.url} (Ctrl-C stops)")
        if self._companion is not None:
            self._companion.start(plane.listen.url, self._on_companion_ended)
        await self._stop.wait()
        desk.end_waits()
        await self._stop_server(server)
        # Nobody waits for an answer any more: a locked database must not keep the process.
        plane.store.stop_waiting()
        await desk.end()
        reads.close()
        return self._exit_code()

    async def _stop_server(self, server: Server) -> None:
        gently = asyncio.ensure_future(server.stop(STOP_SECONDS))
        at_once = asyncio.ensure_future(self._cut.wait())
        await asyncio.wait((gently, at_once), return_when=asyncio.FIRST_COMPLETED)
        if not gently.done():
            await server.abort()
        at_once.cancel()
        await gently

    def _exit_code(self) -> int:
        if self._broken is Broken.HOLD_LOST:
            raise ServeError("another control plane took the database; this control plane stopped")
        if self._broken is Broken.DEFECT:
            raise ServeError("the control plane met a defect of its own; its log says more")
        return max(self._companion_code, 0 if self._signals < 2 else 1)

    # ── what ends it ────────────────────────────────────────────────────

    def _on_signal(self) -> None:
        self._signals += 1
        if self._companion is not None and not self._stop.is_set():
            self._companion.stop()
            return
        if self._stop.is_set():
            self._cut.set()
        self._stop.set()

    def _on_companion_ended(self, code: int) -> None:
        self._loop.call_soon_threadsafe(self._companion_ended, code)

    def _companion_ended(self, code: int) -> None:
        self._companion_code = code
        self._stop.set()

    def _on_broken(self, broken: Broken) -> None:
        self._broken = broken
        if self._companion is not None:
            self._companion.stop()
        self._stop.set()


def say(line: str) -> None:
    """A line for the person at the terminal, on stderr."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201
