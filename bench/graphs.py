"""The workflows that workloads serve, as graph documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stateous.graph.hashes import checksum


@dataclass(frozen=True, slots=True)
class Graph:
    """A document, and the name of its file."""

    name: str
    document: dict[str, Any]

    @property
    def checksum(self) -> str:
        """What tokens are pinned to."""
        return checksum(self.document)

    def write(self, folder: Path) -> Path:
        """Its file, in ``folder``."""
        file = folder / f"{self.name}.json"
        file.write_text(json.dumps(self.document, indent=2) + "\n", "utf-8")
        return file


#: Coding, which has a timeout, then testing, then the end.
TICKET: Final = Graph("ticket", json.loads((Path(__file__).parent / "ticket.json").read_text()))

LANES: Final = tuple(f"lane_{number}" for number in range(1, 9))

#: Eight states side by side. A token stays in the one that its context names, each `again` a visit
#: more, until `done`.
PARALLEL_LANES: Final = Graph(
    "lanes",
    {
        "stateous": 1,
        "workflow": "lanes",
        "states": {lane: {"emits": ["again", "done"]} for lane in LANES},
        "events": {"again": {}, "done": {}},
        "transitions": [
            *(
                {"from": "__start__", "to": lane, "when": f"ctx['lane'] == {number}"}
                for number, lane in enumerate(LANES, 1)
            ),
            {"from": "__start__", "to": LANES[0]},
            *({"from": lane, "to": lane, "on": "again"} for lane in LANES),
            *({"from": lane, "to": "__end__", "on": "done"} for lane in LANES),
        ],
        "schemas": {},
    },
)

#: A state that a timeout leaves for another.
TIMED: Final = Graph(
    "timed",
    {
        "stateous": 1,
        "workflow": "timed",
        "states": {"before": {"timeout": "1h", "emits": []}, "after": {"emits": ["done"]}},
        "events": {"done": {}},
        "transitions": [
            {"from": "__start__", "to": "before"},
            {"from": "before", "to": "after", "on": "timeout"},
            {"from": "after", "to": "__end__", "on": "done"},
        ],
        "schemas": {},
    },
)
