"""Processes for scripts, forked beforehand and used once: the runner's side of the fork server."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import itertools
import json
import logging
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, Final

import stateous
import stateous_supervisor
from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.scripts import frames
from stateous_supervisor.scripts.answers import (
    MAX_ANSWER_BYTES,
    Answer,
    BadAnswer,
    Done,
    Failed,
    read_answer,
)
from stateous_supervisor.scripts.records import COMMAND, EXITED, FORK, KILL, RECORD, STARTED

# Forked and waiting. Whoever takes one has another one forked in its place.
_READY: Final = 2
# A fork server that is not ready by then will not be.
_START_SECONDS: Final = 30.0
# How much of a script's answers is read ahead of what is made of them, in bytes.
_READ_AHEAD: Final = 64 * 1024

# The server sees the standard library and the modules that it needs, and runs nobody's start-up code.
_PROGRAM: Final = """
import sys
sys.path += {path!r}
from stateous_supervisor.scripts.fork_server import main
main({descriptor})
"""

_log: Final = logging.getLogger("stateous.supervisor")


class ProcessDied(Exception):
    """The process ended without its last answer. The text says how, as far as that is known."""


class Process:
    """A process that has not got its script yet. It runs one, whose answers are read once."""

    def __init__(self, number: int, connection: socket.socket) -> None:
        self.number = number
        self._connection = connection
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def run(self, job: dict[str, Any]) -> AsyncGenerator[Answer, None]:
        """Have it run ``job`` (:mod:`frames`): its answers, of which `Done` or `Failed` is the last.

        Nothing is read ahead by more than 64 KiB: a process whose answers nobody takes stands still.

        Raises:
            ProcessDied: it was killed, or has crashed.
            BadAnswer: it said what cannot be passed on.
        """
        reader, writer = await asyncio.open_unix_connection(
            sock=self._connection, limit=_READ_AHEAD
        )
        try:
            payload = json.dumps(job).encode()
            writer.write(frames.HEAD.pack(frames.JOB, len(payload)) + payload)
            await writer.drain()
            while True:
                kind, length = frames.HEAD.unpack(await reader.readexactly(frames.HEAD.size))
                if length > MAX_ANSWER_BYTES:
                    raise BadAnswer("the script's process said more than it may")
                answer = read_answer(kind, await reader.readexactly(length))
                yield answer
                if isinstance(answer, Done | Failed):
                    return
        except (asyncio.IncompleteReadError, OSError):
            raise ProcessDied(await self._how()) from None
        finally:
            writer.close()

    async def _how(self) -> str:
        # The two sockets know nothing of one another: the server's word may be a moment away.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                by = await asyncio.shield(self._ended)
                if by:
                    return f"the script's process was ended by {signal.Signals(by).name}"
        return "the script's process ended without an answer"

    @property
    def is_over(self) -> bool:
        """Whether it has ended, as far as the server has told."""
        return self._ended.done()

    def ended(self, by: int) -> None:
        """The server says that it has ended, by this signal or 0."""
        if not self._ended.done():
            self._ended.set_result(by)

    def drop(self) -> None:
        """Have it end, as long as it waits for its script."""
        self._connection.close()


class ScriptProcesses:
    """Gives out processes, each once. Everything happens on one event loop.

    When the fork server has died, which only somebody else can bring about, the next process that is
    asked for starts another.

    Raises:
        SupervisorError: the script engine is not installed, or the system cannot fork.
    """

    def __init__(self) -> None:
        if not hasattr(socket, "send_fds"):
            raise SupervisorError("script jobs need a system that can fork: Linux or macOS")
        homes = (_home_of(stateous.__file__), _home_of(stateous_supervisor.__file__))
        self._path = (*dict.fromkeys((*homes, _engine_home())),)
        self._server: _Server | None = None
        self._ready: deque[Process] = deque()

    async def open(self) -> None:
        """Start the fork server, and have the first processes forked.

        Raises:
            SupervisorError: it does not start.
        """
        self._server = await _Server.start(self._path)
        if not self._server.filters:
            _log.warning(
                "this system does not filter system calls: scripts are held by their language and "
                "by limits alone"
            )
        self._refill()

    @property
    def server_pid(self) -> int | None:
        """The fork server's process; None while there is none."""
        return None if self._server is None else self._server.pid

    async def take(self) -> Process:
        """A process that waits for its script.

        Raises:
            SupervisorError: a new fork server was needed, and does not start.
        """
        if self._server is None or self._server.gone:
            await self.close()
            await self.open()
        while self._ready and self._ready[0].is_over:  # somebody has ended it while it waited
            self._ready.popleft().drop()
        if not self._ready:
            self._refill()
        process = self._ready.popleft()
        self._refill()
        return process

    def kill(self, process: Process) -> None:
        """End a process at once, whatever it does; nothing happens when it has ended."""
        if self._server is not None:
            self._server.kill(process.number)

    async def close(self) -> None:
        """End all of them, and the fork server."""
        server, self._server = self._server, None
        self._forget()
        if server is not None:
            await server.close()

    def _refill(self) -> None:
        assert self._server is not None
        while len(self._ready) < _READY:
            self._ready.append(self._server.fork())

    def _forget(self) -> None:
        while self._ready:
            self._ready.pop().drop()


class _Server:
    """A running fork server."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self._process = process
        self._control = control
        self._numbers = itertools.count(1)
        self._living: dict[int, Process] = {}
        self._unread = b""
        self._started: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.gone = False
        self.filters = False
        asyncio.get_running_loop().add_reader(control.fileno(), self._read)

    @classmethod
    async def start(cls, path: Sequence[str]) -> _Server:
        ours, theirs = socket.socketpair()
        with theirs:
            program = _PROGRAM.format(path=list(path), descriptor=theirs.fileno())
            try:
                process = subprocess.Popen(  # noqa: ASYNC220 as fast as a fork; it is read without blocking
                    [sys.executable, "-I", "-S", "-B", "-c", program],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env={},
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise SupervisorError(
                    f"the process for scripts does not start: {error.strerror}"
                ) from None
        ours.setblocking(False)
        server = cls(process, ours)
        try:
            async with asyncio.timeout(_START_SECONDS):
                server.filters = await server._started
        except (TimeoutError, ConnectionError):
            await server.close()
            raise SupervisorError(
                "the process for scripts does not start: what it said stands above"
            ) from None
        return server

    @property
    def pid(self) -> int:
        return self._process.pid

    def fork(self) -> Process:
        number = next(self._numbers)
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        process = Process(number, ours)
        with theirs, contextlib.suppress(OSError):  # a server that is gone is told by its socket
            socket.send_fds(self._control, [COMMAND.pack(FORK, number)], [theirs.fileno()])
        self._living[number] = process
        return process

    def kill(self, number: int) -> None:
        if number in self._living:
            with contextlib.suppress(OSError):
                self._control.send(COMMAND.pack(KILL, number))

    async def close(self) -> None:
        self._lose()
        # It kills what it has forked and ends: a matter of milliseconds.
        for _ in range(200):
            if self._process.poll() is not None:
                return
            await asyncio.sleep(0.01)
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        try:
            data = self._control.recv(4096)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            return self._lose()
        self._unread += data
        while len(self._unread) >= RECORD.size:
            kind, number, value = RECORD.unpack(self._unread[: RECORD.size])
            self._unread = self._unread[RECORD.size :]
            if kind == STARTED:
                self._started.set_result(bool(value))
            elif kind == EXITED and number in self._living:
                self._living.pop(number).ended(value)
        return None

    def _lose(self) -> None:
        if self.gone:
            return
        self.gone = True
        asyncio.get_running_loop().remove_reader(self._control.fileno())
        self._control.close()
        if not self._started.done():
            self._started.set_exception(ConnectionError())
        for process in self._living.values():
            process.ended(0)
        self._living.clear()


def _home_of(file: str | None) -> str:
    assert file is not None
    return str(Path(file).parent.parent)


def _engine_home() -> str:
    # Found, and not imported: the engine is never loaded into the runner's own process.
    spec = importlib.util.find_spec("_quickjs")
    if spec is None or spec.origin is None:
        raise SupervisorError(
            "the script engine is not installed: run pip install 'stateous-supervisor[scripts]'"
        )
    return str(Path(spec.origin).parent)
