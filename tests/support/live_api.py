"""The whole control plane on a thread of this process: a real store, a real writer, a real socket."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from stateous_controlplane.api.app import make_app
from stateous_controlplane.api.ports import ApiSettings
from stateous_controlplane.api.server import Server
from stateous_controlplane.startup import put_on_record, read_workflow
from stateous_controlplane.store.opening import open_store
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.desk import Broken, WriterDesk
from stateous_controlplane.writer.hold import holder_name
from stateous_controlplane.writer.sequencer import Terms

LEASE = timedelta(seconds=30)
TICKET_KEY = bytes(range(32))


@dataclass
class LiveApi:
    """An API that answers at ``url``."""

    url: str
    app: FastAPI
    #: Why the writer ended, when it did.
    broken: list[Broken]

    @property
    def document(self) -> dict[str, Any]:
        """The OpenAPI document."""
        return self.app.openapi()


@contextmanager
def live_api(graph: Path, url: str) -> Iterator[LiveApi]:
    """Serve the graph file on the database that ``url`` names."""
    holder = holder_name()
    workflow = read_workflow(graph)
    store = open_store(url)
    assert store.take_hold(holder, datetime.now(UTC)) is None
    put_on_record(store, holder, workflow, datetime.now(UTC))
    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    broken: list[Broken] = []
    served: list[LiveApi] = []
    ready = threading.Event()

    async def serve() -> None:
        over = asyncio.Event()
        stop.append(lambda: loop.call_soon_threadsafe(over.set))
        loop = asyncio.get_running_loop()
        catalog = Catalog(workflow.machine)
        terms = Terms(holder, LEASE, ticket_key=TICKET_KEY)
        desk = WriterDesk(store, catalog, terms, broken.append)
        reads = store.reads()
        settings = ApiSettings(holder=holder, ticket_key=TICKET_KEY)
        app = make_app(desk, reads, workflow.served, settings, catalog)
        server = Server(app, [listening])
        await server.start()
        served.append(LiveApi(address, app, broken))
        ready.set()
        await over.wait()
        desk.end_waits()
        await server.stop(5.0)
        await desk.end()
        reads.close()

    stop: list[Any] = []
    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(30)
        yield served[0]
    finally:
        stop[0]()
        thread.join(30)
        store.give_up_hold(holder)
        store.close()
