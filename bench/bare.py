"""The yardstick: a FastAPI app with one route that returns a constant `Response`.

It runs on uvicorn with uvloop and httptools, as the control plane does, and says its port in the
same words. `python -m bench.bare`
"""

from __future__ import annotations

import signal
import socket
import sys
from typing import Final

import uvicorn
from fastapi import FastAPI, Response

_BODY: Final = (
    b'{"token":"T-1","state":"testing","status":"active","visit":1,'
    b'"context":{"repo":"acme/api","tries":0,"note":null},'
    b'"entered_at":"2027-03-01T14:51:53.873706Z"}'
)

app = FastAPI()


@app.post("/constant")
async def constant() -> Response:
    """The same bytes each time."""
    return Response(_BODY, media_type="application/json")


def main() -> None:
    """Serve until SIGTERM, which uvicorn raises once more when it has stopped."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"serving on http://127.0.0.1:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
    config = uvicorn.Config(
        app, loop="uvloop", http="httptools", log_level="error", access_log=False
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
