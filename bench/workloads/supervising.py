"""What a supervisor says, in the fewest bytes: claims and reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from bench.load import Connection, post

#: What is reported of a ticket in each state, so that it moves on.
TICKET_EVENTS: Final = {
    "coding": '"event":"done","payload":null',
    "testing": '"event":"passed","payload":{"passed":41,"failed":0}',
}


def claim_request(
    supervisor: str, states: Iterable[str], *, wait: int = 0, most: int | None = None
) -> bytes:
    """A claim with a request id of its own."""
    body: dict[str, Any] = {
        "supervisor": supervisor,
        "states": [*states],
        "request": uuid4().hex,
    }
    if wait:
        body["wait"] = wait
    if most is not None:
        body["max"] = most
    return post("/tasks/claim", json.dumps(body, separators=(",", ":")))


def report_request(supervisor: str, grant: dict[str, Any], event: str) -> bytes:
    """The report of an event: its name and payload as members of the body."""
    body = (
        f'{{"kind":"event",{event},"context":{{}},"schedules":[],'
        f'"attempt":{grant["attempt"]},"supervisor":"{supervisor}"}}'
    )
    return post(f"/tasks/{grant['task']}/report", body)


@dataclass(slots=True)
class Granted:
    """The attempts that were granted, and those that were granted twice."""

    once: set[tuple[int, int]] = field(default_factory=set)
    twice: list[tuple[int, int]] = field(default_factory=list)

    def note(self, grant: dict[str, Any]) -> None:
        """One more grant."""
        attempt = grant["task"], grant["attempt"]
        if attempt in self.once:
            self.twice.append(attempt)
        self.once.add(attempt)

    def problems(self) -> list[str]:
        """A sentence for each attempt that was granted twice."""
        return [
            f"attempt {attempt} of task {task} was granted twice" for task, attempt in self.twice
        ]


async def claimed(connection: Connection, request: bytes) -> dict[str, Any] | None:
    """The grant of a claim without `max`; None: there was nothing.

    Raises:
        Unexpected: another answer.
    """
    body = (await connection.ask("claim", request)).expect(200, 204)
    grant: dict[str, Any] | None = json.loads(body) if body else None
    return grant
