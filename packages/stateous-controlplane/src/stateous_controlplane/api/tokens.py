"""Reads of tokens and their histories, and the long polls among them (`docs/spec/wire.md` 2.2)."""

from __future__ import annotations

from typing import Final, NamedTuple

from stateous.wire.problems import Refusal
from stateous_controlplane.answers import Answer, entry_json, refused, token_json
from stateous_controlplane.api.cursors import write_token_cursor
from stateous_controlplane.api.endpoint import Call
from stateous_controlplane.api.longpoll import Wait
from stateous_controlplane.api.ports import Desk
from stateous_controlplane.api.queries import (
    HistoryPage,
    TokenPage,
    history_page,
    token_page,
    token_wait,
)
from stateous_controlplane.api.reading import Reading
from stateous_controlplane.api.shapes import token_not_found
from stateous_controlplane.engine.rows import Status
from stateous_controlplane.store.port import Place, Reads, TokenView

#: A page of a list ends once its contexts hold this many bytes.
MAX_PAGE_BYTES: Final = 16 * 1_048_576


class Page(NamedTuple):
    """One page of a list, and the cursor of the next when there is more."""

    answer: Answer
    next: str | None = None


class TokenReads:
    """What can be asked about tokens. ``served`` is the name of the served workflow."""

    def __init__(self, desk: Desk, reading: Reading, served: str | None) -> None:
        self._desk = desk
        self._reading = reading
        self._served = served

    async def token(self, call: Call) -> Answer:
        """`GET /tokens/{token}`."""
        asked = token_wait(call.query)
        if isinstance(asked, Refusal):
            return refused(asked)
        token = call.parameters["token"]
        if not asked.wait:
            return token_answer(token, await self._reading.run(lambda reads: reads.token(token)))
        with self._desk.follow(token) as follower:
            async with Wait(follower, call.receive, asked.wait) as wait:
                first = view = await self._reading.run(lambda reads: reads.token(token))
                while first is not None and view is not None:
                    if _ended(view) or (asked.moved and view.entered_at != first.entered_at):
                        break
                    if not await wait.changed():
                        break
                    view = await self._reading.run(lambda reads: reads.token(token))
                return token_answer(token, view)

    async def history(self, call: Call) -> Answer:
        """`GET /tokens/{token}/history`."""
        asked = history_page(call.query)
        if isinstance(asked, Refusal):
            return refused(asked)
        token = call.parameters["token"]
        if not asked.wait:
            return await self._history(token, asked)
        with self._desk.follow(token) as follower:
            async with Wait(follower, call.receive, asked.wait) as wait:
                answer = await self._history(token, asked)
                while answer == _NO_ENTRIES and await wait.changed():
                    answer = await self._history(token, asked)
                return answer

    async def page(self, query: bytes) -> Page:
        """`GET /tokens`."""
        asked = token_page(query, served=self._served)
        if isinstance(asked, Refusal):
            return Page(refused(asked))
        return await self._reading.run(lambda reads: read_page(reads, asked))

    async def _history(self, token: str, asked: HistoryPage) -> Answer:
        return await self._reading.run(lambda reads: read_history(reads, token, asked))


_NO_ENTRIES: Final = Answer(200, b"[]")


def _ended(view: TokenView) -> bool:
    return not Status(view.status).live


def token_answer(token: str, view: TokenView | None) -> Answer:
    """What a read of one token answers, now."""
    if view is None:
        return refused(token_not_found(token))
    return Answer(200, token_json(view).encode())


def read_history(reads: Reads, token: str, asked: HistoryPage) -> Answer:
    """The entries that are asked for and there, now."""
    # Made into bytes here, on the thread that reads: a history can be long.
    entries = reads.history(token, after=asked.after, limit=asked.limit)
    if entries is None:
        return refused(token_not_found(token))
    return Answer(200, f"[{','.join(map(entry_json, entries))}]".encode())


def read_page(reads: Reads, asked: TokenPage) -> Page:
    """The tokens that are asked for."""
    views, more = reads.tokens(
        asked.where, behind=asked.behind, limit=asked.limit, max_bytes=MAX_PAGE_BYTES
    )
    answer = Answer(200, f"[{','.join(map(token_json, views))}]".encode())
    if not (more and views):
        return Page(answer)
    return Page(answer, write_token_cursor(Place(views[-1].entered_at, views[-1].token)))
