"""Claims that wait: kept in memory in order of arrival, found by the queues that they name.

A claim that finds nothing waits here and costs nothing. It is served in the very batch that queues
a task for it. So a claim waits only while none of its queues holds a ready task.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from stateous_controlplane.engine.commands import Claim
from stateous_controlplane.writer.submission import Submission


@dataclass(slots=True, eq=False)
class ParkedClaim:
    """A claim that waits, and the submission that is to be answered."""

    submission: Submission
    claim: Claim
    arrival: int = -1


@dataclass(slots=True)
class ParkedClaims:
    """The waiting claims of a control plane."""

    _by_queue: dict[str, dict[int, ParkedClaim]] = field(default_factory=dict)
    _all: dict[int, ParkedClaim] = field(default_factory=dict)
    _deadlines: list[tuple[float, int]] = field(default_factory=list)
    _arrivals: Iterator[int] = field(default_factory=count)

    def park(self, parked: ParkedClaim) -> None:
        """Let a claim wait."""
        parked.arrival = next(self._arrivals)
        self._all[parked.arrival] = parked
        heapq.heappush(self._deadlines, (parked.submission.deadline, parked.arrival))
        for queue in parked.claim.states:
            self._by_queue.setdefault(queue, {})[parked.arrival] = parked

    def remove(self, parked: ParkedClaim) -> None:
        """The claim waits no longer."""
        self._all.pop(parked.arrival, None)
        for queue in parked.claim.states:
            waiting = self._by_queue.get(queue)
            if waiting is not None:
                waiting.pop(parked.arrival, None)
                if not waiting:
                    del self._by_queue[queue]

    def waiting_for(self, queues: Iterable[str]) -> list[ParkedClaim]:
        """The claims that name one of ``queues``, in order of arrival."""
        found: dict[int, ParkedClaim] = {}
        for queue in queues:
            found.update(self._by_queue.get(queue, {}))
        return [found[arrival] for arrival in sorted(found)]

    def same_request(self, claim: Claim) -> list[ParkedClaim]:
        """The waiting claims that are the same request of the same supervisor."""
        return [
            parked
            for parked in self._all.values()
            if parked.claim.supervisor == claim.supervisor and parked.claim.request == claim.request
        ]

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
        self._deadlines.clear()
        return everything
