"""A hot route as an ASGI app: bytes in, an answer's bytes out, nothing in between.

Requests of a second by the thousand go through here, so that no model is made and no response
object; `docs/spec/wire.md` 1.2 gives the order: length, type, JSON, the endpoint's own checks, then
the desk.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from starlette.types import Receive, Scope, Send

from stateous.json import JsonObject
from stateous.limits import MAX_BODY_BYTES
from stateous.wire.problems import Refusal
from stateous_controlplane.answers import Answer, refused, unexpected
from stateous_controlplane.api.admission import Headers
from stateous_controlplane.api.bodies import (
    CallerGone,
    read_body,
    read_object,
    too_long,
    wrong_type,
)
from stateous_controlplane.api.commands import Parameters
from stateous_controlplane.api.connection import RawHeaders, headers_of_answer
from stateous_controlplane.api.longpoll import ask_while_there
from stateous_controlplane.api.ports import Desk
from stateous_controlplane.api.reading import unavailable
from stateous_controlplane.engine.commands import Claim
from stateous_controlplane.store.port import DatabaseBusy, HoldLost
from stateous_controlplane.writer.requests import Asked

log = logging.getLogger("stateous.serve")

#: Where the outer layer leaves the headers, so that they are looked through once.
HEADERS: Final = "stateous.headers"

#: The endpoint's own checks: from a body, the path's parameters and the headers to a request.
Shape: TypeAlias = Callable[[JsonObject, Parameters, Headers], Asked | Refusal]


@dataclass(frozen=True, slots=True)
class Call:
    """What a read is asked with."""

    parameters: Mapping[str, str]
    query: bytes
    receive: Receive
    headers: Headers


Look: TypeAlias = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Sending:
    """What a route is asked with that makes its request itself; the body's type is checked."""

    parameters: Mapping[str, str]
    query: bytes
    headers: Headers
    body: bytes


Take: TypeAlias = Callable[[Sending], Awaitable[Answer]]


def headers_of(scope: Scope) -> Headers:
    """The headers of a request; of one that is given twice, the first."""
    known: Headers | None = scope.get(HEADERS)
    return dict(reversed(scope["headers"])) if known is None else known


async def send_answer(send: Send, answer: Answer, extra: RawHeaders = ()) -> None:
    """Send an answer with its headers."""
    headers = headers_of_answer(answer, extra)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body or b""})


class Asking:
    """A route that hands a request in at the desk.

    ``shape`` makes the request of the body; ``max_body`` is in bytes; ``extra`` are headers of
    every answer. With ``reads_body`` false a body obeys its limit and type, and is not looked at.
    """

    def __init__(
        self,
        desk: Desk,
        shape: Shape,
        *,
        max_body: int = MAX_BODY_BYTES,
        extra: RawHeaders = (),
        reads_body: bool = True,
    ) -> None:
        self._reads_body = reads_body
        self.max_body = max_body
        self.desk = desk
        self.extra = extra
        self._shape = shape

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            answer = await self._answer(scope, receive)
        except CallerGone:
            return
        except Exception:
            log.exception("a request failed: %s %s", scope["method"], self._shape.__name__)
            answer = unexpected()
        await send_answer(send, answer, self.extra)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        body = await read_body(receive, self.max_body)
        if isinstance(body, Refusal):
            return refused(body)
        request = self.asked(body, scope["path_params"], headers_of(scope))
        if isinstance(request, Answer):
            return request
        if isinstance(request, Claim) and request.wait:
            return await ask_while_there(self.desk, request, receive)
        return await self.desk.ask(request)

    def asked(self, body: bytes, parameters: Parameters, headers: Headers) -> Asked | Answer:
        """What a request with this body asks of the desk; or its answer, when it is refused."""
        if len(body) > self.max_body:
            return refused(too_long(self.max_body))
        refusal = wrong_type(body, headers.get(b"content-type"))
        if refusal is not None:
            return refused(refusal)
        fields = read_object(body) if self._reads_body else {}
        if isinstance(fields, Refusal):
            return refused(fields)
        request = self._shape(fields, parameters, headers)
        return refused(request) if isinstance(request, Refusal) else request


class Looking:
    """A route that reads, and changes nothing. What a body holds is not looked at."""

    max_body = MAX_BODY_BYTES

    def __init__(self, look: Look) -> None:
        self._look = look

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        call = Call(scope["path_params"], scope["query_string"], receive, headers_of(scope))
        try:
            answer = await self._look(call)
        except CallerGone:
            return
        except (DatabaseBusy, HoldLost) as error:
            answer = unavailable(error)
        except Exception:
            log.exception("a read failed: %s", self._look)
            answer = unexpected()
        await send_answer(send, answer)


class Taking:
    """A route that takes a body, and hands in what it makes of it; it may look things up before."""

    def __init__(self, take: Take, *, max_body: int = MAX_BODY_BYTES) -> None:
        self._take = take
        self.max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            answer = await self._answer(scope, receive)
        except CallerGone:
            return
        except (DatabaseBusy, HoldLost) as error:
            answer = unavailable(error)
        except Exception:
            log.exception("a request failed: %s %s", scope["method"], self._take.__name__)
            answer = unexpected()
        await send_answer(send, answer)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        body = await read_body(receive, self.max_body)
        if isinstance(body, Refusal):
            return refused(body)
        headers = headers_of(scope)
        refusal = wrong_type(body, headers.get(b"content-type"))
        if refusal is not None:
            return refused(refusal)
        sending = Sending(scope["path_params"], scope["query_string"], headers, body)
        return await self._take(sending)
