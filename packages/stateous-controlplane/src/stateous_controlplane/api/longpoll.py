"""Requests that wait (`docs/spec/wire.md` 1.1): a caller that goes away ends its wait.

Whether a caller has gone is only watched while a request waits: a request that is answered in one
batch ends before anybody could notice.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from starlette.types import Receive

from stateous_controlplane.answers import Answer
from stateous_controlplane.api.bodies import CallerGone
from stateous_controlplane.api.ports import Desk, Follower
from stateous_controlplane.writer.requests import Asked


async def caller_left(receive: Receive) -> None:
    """Returns once the connection is closed; what still comes in on it is passed over."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def ask_while_there(desk: Desk, request: Asked, receive: Receive) -> Answer:
    """Ask, and withdraw the request when the caller goes away.

    Raises:
        CallerGone: it went away; nothing was assigned to it.
    """
    asking = asyncio.ensure_future(desk.ask(request))
    watching = asyncio.ensure_future(caller_left(receive))
    watching.add_done_callback(lambda _: asking.cancel())
    try:
        return await asking
    except asyncio.CancelledError:
        if watching.done() and not watching.cancelled():
            raise CallerGone from None
        raise
    finally:
        watching.cancel()


class Wait:
    """A wait for changes of a token, until ``seconds`` are over or the caller has left."""

    def __init__(self, follower: Follower, receive: Receive, seconds: int) -> None:
        self._follower = follower
        self._receive = receive
        self._until = asyncio.get_running_loop().time() + seconds
        self._leaving: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Wait:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._leaving is not None:
            self._leaving.cancel()

    async def changed(self) -> bool:
        """True once the token has changed, false when waiting has no sense any more.

        Raises:
            CallerGone: the caller has left.
        """
        remaining = self._until - asyncio.get_running_loop().time()
        if remaining <= 0 or self._follower.over:
            return False
        if self._leaving is None:
            self._leaving = asyncio.ensure_future(caller_left(self._receive))
        changing = asyncio.ensure_future(self._follower.changed())
        try:
            done, _ = await asyncio.wait(
                {changing, self._leaving},
                timeout=remaining,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            changing.cancel()
        if self._leaving in done:
            raise CallerGone
        return changing in done and not self._follower.over
