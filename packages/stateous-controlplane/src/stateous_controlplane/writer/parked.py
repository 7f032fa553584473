"""Claims that wait: kept in memory in order of arrival, found by the queues that they name.

A claim that finds nothing waits here and costs nothing. It is served in the very batch that queues
a task for it. So a claim waits only while none of its queues holds a ready task. What a batch does
to the waiting claims is a :class:`Parking` of its own until its transaction has committed.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from stateous_controlplane.engine.commands import Claim
from stateous_controlplane.writer.submission import Submission

_Place = TypeVar("_Place")


@dataclass(slots=True, eq=False)
class ParkedClaim:
    """A claim that waits, and the submission that is to be answered."""

    submission: Submission
    claim: Claim
    arrival: int = -1


@dataclass(slots=True)
class ParkedClaims:
    """The waiting claims of a control plane."""

    # Each inner dictionary is in order of arrival, because that is how they are filled.
    _by_queue: dict[str, dict[int, ParkedClaim]] = field(default_factory=dict)
    _by_request: dict[tuple[str, str], dict[int, ParkedClaim]] = field(default_factory=dict)
    _all: dict[int, ParkedClaim] = field(default_factory=dict)
    _deadlines: list[tuple[float, int]] = field(default_factory=list)
    _arrivals: Iterator[int] = field(default_factory=count)

    def park(self, parked: ParkedClaim) -> None:
        """Let a claim wait."""
        parked.arrival = next(self._arrivals)
        self._all[parked.arrival] = parked
        heapq.heappush(self._deadlines, (parked.submission.deadline, parked.arrival))
        for queue in parked.claim.queues:
            self._by_queue.setdefault(queue, {})[parked.arrival] = parked
        if parked.claim.request is not None:
            place = parked.claim.supervisor, parked.claim.request
            self._by_request.setdefault(place, {})[parked.arrival] = parked

    def remove(self, parked: ParkedClaim) -> None:
        """The claim waits no longer."""
        self._all.pop(parked.arrival, None)
        for queue in parked.claim.queues:
            _drop(self._by_queue, queue, parked.arrival)
        if parked.claim.request is not None:
            _drop(self._by_request, (parked.claim.supervisor, parked.claim.request), parked.arrival)

    def waiting_for(self, queues: Iterable[str]) -> Iterator[ParkedClaim]:
        """The claims that name one of ``queues``, in order of arrival, each once."""
        waiting = [found for queue in queues if (found := self._by_queue.get(queue))]
        last = -1
        for arrival in heapq.merge(*waiting):
            if arrival != last:
                last = arrival
                yield self._all[arrival]

    def same_request(self, claim: Claim) -> Iterable[ParkedClaim]:
        """The waiting claims that are the same request of the same supervisor."""
        if claim.request is None:
            return ()
        return self._by_request.get((claim.supervisor, claim.request), {}).values()

    def over(self, monotonic: float) -> list[ParkedClaim]:
        """The claims whose time is over; each is removed."""
        over = []
        while self._deadlines and self._deadlines[0][0] <= monotonic:
            parked = self._all.get(heapq.heappop(self._deadlines)[1])
            if parked is not None:
                self.remove(parked)
                over.append(parked)
        return over

    def next_deadline(self) -> float | None:
        """When the next of them has waited long enough."""
        while self._deadlines and self._deadlines[0][1] not in self._all:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def drain(self) -> list[ParkedClaim]:
        """All of them, which wait no longer."""
        everything = list(self._all.values())
        self._all.clear()
        self._by_queue.clear()
        self._by_request.clear()
        self._deadlines.clear()
        return everything


def _drop(index: dict[_Place, dict[int, ParkedClaim]], place: _Place, arrival: int) -> None:
    waiting = index.get(place)
    if waiting is not None:
        waiting.pop(arrival, None)
        if not waiting:
            del index[place]


class Parking:
    """What one batch does to the waiting claims: which it adds, and which of the others it serves.

    ``before`` stays as it is; the sequencer changes it once the batch has committed.
    """

    def __init__(self, before: ParkedClaims) -> None:
        self._before = before
        self.added: list[ParkedClaim] = []
        self.served: list[ParkedClaim] = []

    def park(self, parked: ParkedClaim) -> None:
        """Let a claim wait."""
        self.added.append(parked)

    def serve(self, parked: ParkedClaim) -> None:
        """The claim has got something, or the same as its twin."""
        if parked in self.added:
            self.added.remove(parked)
        self.served.append(parked)

    def waiting_for(self, queues: set[str]) -> Iterator[ParkedClaim]:
        """The claims that name one of ``queues`` and wait still, in order of arrival.

        Those that are served while the caller walks are passed over.
        """
        for parked in self._before.waiting_for(queues):
            if self._waits(parked):
                yield parked
        for parked in list(self.added):
            if not queues.isdisjoint(parked.claim.queues) and self._waits(parked):
                yield parked

    def same_request(self, claim: Claim) -> list[ParkedClaim]:
        """The claims that are the same request of the same supervisor and wait still."""
        if claim.request is None:
            return []
        mine = (claim.supervisor, claim.request)
        added = [each for each in self.added if (each.claim.supervisor, each.claim.request) == mine]
        return [each for each in (*self._before.same_request(claim), *added) if self._waits(each)]

    def _waits(self, parked: ParkedClaim) -> bool:
        return not parked.submission.withdrawn and parked not in self.served
