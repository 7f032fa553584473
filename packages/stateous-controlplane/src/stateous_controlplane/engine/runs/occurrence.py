"""An event on its way to a run."""

from __future__ import annotations

from dataclasses import dataclass

from stateous.graph.machine import EventKind
from stateous.json import Json, JsonText
from stateous.statechart.fields import DONE, FAILED
from stateous_controlplane.engine.rows import Failure


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event, as an expression reads it, and what the ledger tells of it besides.

    ``sender`` and ``send`` name the `sent` entry that it came from, ``key`` is its idempotency key,
    ``again`` the entry that kept (``kept``) or held it. ``output_of`` is the state whose output its data
    becomes when it is offered; ``failure`` what the run fails with when nothing takes it.
    """

    name: str
    data: JsonText
    source: str
    kind: EventKind = EventKind.PLAIN
    sender: str | None = None
    send: int | None = None
    key: str | None = None
    again: int | None = None
    kept: bool = False
    output_of: str | None = None
    failure: Failure | None = None

    @property
    def keepable(self) -> bool:
        """Whether it can be deferred: not what belongs to a visit that may be over."""
        return self.kind is EventKind.PLAIN and self.name not in (DONE, FAILED)

    @property
    def read(self) -> Json:
        """How expressions read it."""
        return {"name": self.name, "data": self.data.value, "from": self.source}

    def told(self) -> dict[str, Json | JsonText]:
        """How entries tell it."""
        return {"event": self.name, "data": self.data, "from": self.source}

    def origin(self) -> dict[str, Json | JsonText]:
        """How entries tell where it came from, behind the rest."""
        if self.sender is None:
            return {}
        return {"sender": self.sender, "send": self.send}
