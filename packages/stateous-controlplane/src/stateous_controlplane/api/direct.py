"""The short way of requests to hot routes: no task, no messages, the same checks and bytes.

A request that has arrived whole in one piece, as most do, waits for nothing but the desk. So the
connection asks for it at once, and the desk's answer is written when it comes. What arrives in
parts, reads something, or is refused at the door goes the long way, through ASGI. Both ways pass the
same door (:class:`~stateous_controlplane.api.front.Front`), make the same request of a body
(:meth:`Asking.asked <stateous_controlplane.api.endpoint.Asking.asked>`), and write the same bytes.
"""

from __future__ import annotations

import logging
from asyncio import Transport
from collections.abc import Callable
from typing import TypeAlias

from stateous_controlplane.answers import Answer
from stateous_controlplane.api.admission import Headers
from stateous_controlplane.api.connection import answer_bytes
from stateous_controlplane.api.front import Beginning
from stateous_controlplane.engine.commands import Claim
from stateous_controlplane.writer.submission import Submission

#: :meth:`Front.begin`: from method, raw path, headers and body.
Begin: TypeAlias = Callable[[str, bytes, Headers, bytes], Beginning | None]

log = logging.getLogger("stateous.serve")


class Direct:
    """A request that is being answered without a task; to its connection it is like a cycle.

    ``written`` is called when the answer has gone out.
    """

    #: It has arrived whole.
    more_body = False

    def __init__(
        self, transport: Transport, written: Callable[[], None], *, keep_alive: bool
    ) -> None:
        self._transport = transport
        self._written = written
        self.keep_alive = keep_alive
        self._beginning: Beginning | None = None
        self._submission: Submission | None = None
        self._waits = False

    def ask(self, beginning: Beginning) -> None:
        """Hand it in, or answer it at once when it is refused."""
        self._beginning = beginning
        asked = beginning.asked
        if isinstance(asked, Answer):
            self._answer(asked)
            return
        self._waits = isinstance(asked, Claim) and asked.wait > 0
        self._submission = beginning.route.desk.hand_in(asked, self._answer)

    def leave(self) -> None:
        """The caller has closed its half: it still gets an answer, unless it is one to wait for."""
        self.keep_alive = False
        if self._waits:
            self.cut()
            self._transport.close()

    def disconnect(self) -> None:
        """Nobody is there: a claim that waits gets nothing, all else is done and not answered."""
        if self._waits:
            self.cut()
        self._beginning = None

    def cut(self) -> None:
        """Nobody is there, and what is asked for is not to be done if it has not been yet."""
        beginning, self._beginning = self._beginning, None
        if beginning is not None and self._submission is not None:
            beginning.route.desk.withdraw(self._submission)

    def _answer(self, answer: Answer) -> None:
        beginning, self._beginning = self._beginning, None
        if beginning is None:
            return
        try:
            self._transport.write(
                answer_bytes(answer, beginning.route.extra, close=not self.keep_alive)
            )
            self._written()
        except Exception:
            # The desk has others to answer.
            log.exception("an answer could not be sent")
            self._transport.abort()
