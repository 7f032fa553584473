"""A TCP proxy of our own, whose traffic a test can cut: a partition of one supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Final

_CHUNK: Final = 65536


class Proxy:
    """Forwards 127.0.0.1:``port`` to a port of another process, until it is cut.

    While it is cut nothing passes in either direction and nobody is told: connections stay open, new
    ones are accepted, and bytes wait, as they do behind a switch that has lost its link. What waited
    is passed on after the mend, late.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._passing = asyncio.Event()
        self._passing.set()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy")
        self._thread.start()
        self.port: int = self._call(self._open())

    def cut(self) -> None:
        """Let nothing pass."""
        self._loop.call_soon_threadsafe(self._passing.clear)

    def mend(self) -> None:
        """Let everything pass again."""
        self._loop.call_soon_threadsafe(self._passing.set)

    def close(self) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _open(self) -> int:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._passing.wait()
            with contextlib.suppress(OSError):
                far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
                try:
                    async with asyncio.TaskGroup() as both:
                        both.create_task(self._pass_on(reader, far_writer))
                        both.create_task(self._pass_on(far_reader, writer))
                finally:
                    far_writer.close()
        except asyncio.CancelledError:
            pass  # the proxy is closed
        finally:
            writer.close()
            self._connections.discard(task)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                await self._passing.wait()
                writer.write(chunk)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()


@contextlib.contextmanager
def proxy(target: int) -> Iterator[Proxy]:
    """A proxy before the port ``target``, closed when the block ends."""
    made = Proxy(target)
    try:
        yield made
    finally:
        made.close()
