"""What is on record beside tokens: graph documents, and the ticket key (`docs/spec/wire.md` 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """A graph document as the table ``graphs`` keeps it. A statechart has no two of the hashes."""

    checksum: str
    kind: str
    name: str
    structure: str
    contract: str
    document: str
    #: Of a statechart: the path of each of its machines, `.` being itself, to its name.
    machines: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewGraph:
    """A document that is put on record now; one with its checksum may be there already."""

    record: GraphRecord
    added_at: datetime


@dataclass(frozen=True, slots=True)
class KeyOnRecord:
    """What the database knows of the ticket key (`docs/spec/statechart.md` 8.1).

    ``key`` are its hex digits where the database keeps it; ``open_tickets`` were made with it.
    """

    key: str | None
    fingerprint: str | None
    open_tickets: int
