"""How often the protocol writes: head and body of an answer leave in one write (1.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from stateous_controlplane.api.app import make_app
from stateous_controlplane.api.connection import ConnectionLimits
from stateous_controlplane.api.ports import ApiSettings
from stateous_controlplane.api.protocol import Protocol


class PaperTransport(asyncio.Transport):
    """Counts writes."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, data: Any) -> None:
        self.writes.append(bytes(data))

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing is open."""

    abort = close
    pause_reading = close
    resume_reading = close


@pytest.mark.parametrize(
    "request_line",
    [
        "GET /health",
        "HEAD /health",
        "GET /tokens/T-1",
        "GET /tokens",
        "GET /nothing",
        "POST /tasks/claim",
        "POST /tokens/T-1/events/done",
        "OPTIONS /tokens",
    ],
)
async def test_an_answer_is_one_write(desk: Any, reads: Any, request_line: str) -> None:
    loop = asyncio.get_running_loop()
    config = uvicorn.Config(
        make_app(desk, reads, None, ApiSettings()),
        ws="none",
        lifespan="off",
        interface="asgi3",
        proxy_headers=False,
        log_config=None,
    )
    lost: Callable[[], None] = lambda: None  # noqa: E731
    state = ServerState()
    protocol = Protocol(config, state, {}, loop, limits=ConnectionLimits(), lost=lost)
    transport = PaperTransport()
    protocol.connection_made(transport)
    for number in range(1, 4):
        protocol.data_received(f"{request_line} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await asyncio.gather(*state.tasks)
        assert len(transport.writes) == number
        assert transport.writes[-1].startswith(b"HTTP/1.1 ")
    protocol.connection_lost(None)
