"""Sends to keys on their way: which rows of the outbox are to be delivered, and when.

A send stands in the outbox from the commit that sent it on, and goes from there in the commit that
delivers it (:mod:`stateous_controlplane.engine.runs.delivery`). The outbox on record is therefore
the truth, and this queue only spares looking at it: what a batch has committed is delivered by the
next. Where the two may differ (at a start, after a delivery that failed, when it is not known what
was committed) the queue is empty, the writer is *behind*, and looks at the record again. Deliveries
begin in the order of the outbox, so that one sender's reach one receiver in the order they were sent;
none is done before one of the same sender that was to come before it and failed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from stateous_controlplane.engine.commands import Deliver
from stateous_controlplane.engine.rows import Sent

#: How many sends are looked up at once.
MAX_LOOKED_UP: Final = 250


class Outgoing:
    """The sends that wait for their delivery. A new one is behind, and looks at once."""

    def __init__(self) -> None:
        self._queue: deque[Deliver] = deque()
        self._behind = True
        self._more = False
        #: The record is to be looked at now.
        self.look_now = True

    @property
    def waiting(self) -> bool:
        """Whether there is something to do at once."""
        return bool(self._queue) or self.look_now

    def committed(self, sent: Collection[Sent]) -> None:
        """These were sent. While the record is ahead they are found there, in their turn."""
        if not self._behind:
            self._queue.extend(Deliver(each.token, each.seq) for each in sent)

    def found(self, places: Sequence[tuple[str, int]]) -> None:
        """The oldest that the record has, at most :data:`MAX_LOOKED_UP`."""
        self._queue = deque(Deliver(sender, seq) for sender, seq in places)
        self._behind = self._more = len(places) >= MAX_LOOKED_UP
        self.look_now = False

    def take(self, most: int) -> list[Deliver]:
        """The next to be delivered."""
        taken = [self._queue.popleft() for _ in range(min(most, len(self._queue)))]
        if self._more and not self._queue:
            self.look_now = True
        return taken

    def failed(self) -> None:
        """The record is ahead; it is looked at with the clock's next tick."""
        self._queue.clear()
        self._behind = True
        self._more = self.look_now = False

    def tick(self) -> None:
        """Look at the record, if it is ahead."""
        self.look_now = self._behind and not self._queue


def overtakes(request: object, failed: Iterable[object]) -> bool:
    """Whether it would deliver a send before an earlier one of its run, whose delivery has failed.

    It is left on record with the other, and both come in their turn.
    """
    return isinstance(request, Deliver) and any(
        isinstance(each, Deliver) and each.sender == request.sender for each in failed
    )
