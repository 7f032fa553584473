"""The outermost layer: what is checked before a request's body is read (`docs/spec/wire.md` 1.2).

One plain ASGI callable. It lets a request in, or not (421, 403, 413), finds its route (404, 405),
and calls the route's app directly: between the server and a hot route stands nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stateous.limits import MAX_BODY_BYTES
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.answers import Answer, refused, unexpected
from stateous_controlplane.api.admission import Admission, Headers
from stateous_controlplane.api.bodies import too_long
from stateous_controlplane.api.connection import RawHeaders
from stateous_controlplane.api.endpoint import HEADERS, Asking, send_answer
from stateous_controlplane.api.paths import PathTable, Place, decode_path, loggable_path
from stateous_controlplane.api.shapes import shown
from stateous_controlplane.writer.requests import Asked

log = logging.getLogger("stateous.serve")


class _Way(NamedTuple):
    """Where a request that is let in goes."""

    app: ASGIApp
    path: str
    parameters: Mapping[str, str]


class _Turned(NamedTuple):
    """A request that is not let in; ``extra`` are headers of the answer."""

    refusal: Refusal
    extra: RawHeaders = ()


class Beginning(NamedTuple):
    """What a whole request asks of the desk of its route, or its answer."""

    route: Asking
    asked: Asked | Answer


class Front:
    """Checks each request, and passes it to its route; ``outside`` gets what is no HTTP request."""

    def __init__(
        self,
        admission: Admission,
        places: Iterable[Place[ASGIApp]],
        outside: ASGIApp,
        *,
        access_log: bool,
    ) -> None:
        self._admission = admission
        self._table = PathTable(places)
        self._outside = outside
        self._access_log = access_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._outside(scope, receive, send)
            return
        if self._access_log:
            send = _logged(scope, send)
        headers: Headers = dict(reversed(scope["headers"]))
        way = self._way(scope["method"], scope.get("raw_path") or scope["path"].encode(), headers)
        if isinstance(way, _Turned):
            await send_answer(send, refused(way.refusal), way.extra)
            return
        scope["path"] = way.path
        scope["path_params"] = way.parameters
        scope[HEADERS] = headers
        await way.app(scope, receive, send)

    def begin(
        self, method: str, raw_path: bytes, headers: Headers, body: bytes
    ) -> Beginning | None:
        """What comes of a request that has arrived whole; None: it needs a task of its own."""
        if self._access_log:
            return None
        way = self._way(method, raw_path, headers)
        if isinstance(way, _Turned) or not isinstance(way.app, Asking):
            return None
        return Beginning(way.app, way.app.asked(body, way.parameters, headers))

    def _way(self, method: str, raw_path: bytes, headers: Headers) -> _Way | _Turned:
        path = decode_path(raw_path)
        found = None if path is None else self._table.find(path)
        refusal = self._admission.refuse(method, headers)
        if refusal is None and b"content-length" in headers:
            limit = MAX_BODY_BYTES if found is None else found.place.max_body
            refusal = _refuse_length(headers[b"content-length"], limit)
        if refusal is not None:
            return _Turned(refusal)
        if found is None or path is None:
            shown_path = shown(raw_path.decode("utf-8", "replace"))
            return _Turned(Refusal(Code.NOT_FOUND, f"there is nothing at {shown_path}"))
        app = found.place.endpoints.get(method)
        if app is None:
            allowed = found.place.allowed
            refusal = Refusal(
                Code.METHOD_NOT_ALLOWED,
                f"{shown(path)} takes {allowed}, and not {shown(method)}",
            )
            return _Turned(refusal, ((b"allow", allowed.encode()),))
        return _Way(app, path, found.parameters)


class Contained:
    """A cold route's app, of which an error that nobody expected becomes 500 `unexpected`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = False

        async def noticing(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, noticing)
        except Exception:
            log.exception("a request failed: %s", scope["method"])
            if not started:
                await send_answer(send, unexpected())


def _refuse_length(value: bytes, limit: int) -> Refusal | None:
    # A value that is no number is the server's to refuse, as malformed HTTP.
    digits = value.lstrip(b"0")
    if digits.isdigit() and (len(digits) > len(str(limit)) or int(digits) > limit):
        return too_long(limit)
    return None


def _logged(scope: Scope, send: Send) -> Send:
    line = f"{scope['method']} {loggable_path(scope.get('raw_path') or b'')}"

    async def logging_send(message: Message) -> None:
        if message["type"] == "http.response.start":
            log.info("%s %d", line, message["status"])
        await send(message)

    return logging_send
