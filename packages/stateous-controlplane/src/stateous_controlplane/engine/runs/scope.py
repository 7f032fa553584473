"""What an expression of a run reads (`docs/spec/statechart.md` 12). Roots are made on use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stateous.graph.machine import Flow
from stateous.json import Json
from stateous.statechart.expressions import ROOTS
from stateous.statechart.tickets import ticket_value
from stateous_controlplane.engine.rows import Token
from stateous_controlplane.engine.runs.occurrence import Occurrence


class Scope(Mapping[str, Json]):
    """The roots as the state at the end of ``path`` sees them, for one event.

    ``visits`` are those of the states in ``path``, which may be about to be entered.
    """

    def __init__(
        self,
        key: bytes,
        token: Token,
        flow: Flow,
        path: tuple[str, ...],
        visits: Mapping[str, int],
        event: Occurrence,
    ) -> None:
        self._key = key
        self._token = token
        self._flow = flow
        self._path = path
        self._visits = visits
        self._event = event
        self._made: dict[str, Json] = {}

    def __getitem__(self, root: str) -> Json:
        if root not in self._made:
            self._made[root] = self._make(root)
        return self._made[root]

    def __iter__(self) -> Iterator[str]:
        return iter(ROOTS)

    def __len__(self) -> int:
        return len(ROOTS)

    def _make(self, root: str) -> Json:
        run = self._token.run_part
        match root:
            case "input":
                given: Json = run.input.value
                return given
            case "run":
                return {"id": self._token.token, "key": run.key}
            case "states":
                outputs = run.outputs
                return {
                    name: {"output": outputs[name].value if name in outputs else None}
                    for name in self._flow.states
                }
            case "tickets":
                return self._tickets()
            case "event":
                return self._event.read
            case _:
                raise KeyError(root)

    def _tickets(self) -> Json:
        """The values of the tickets of the state and of those around it, answered ones too."""
        tickets: dict[str, Json] = {}
        for name in self._path:
            ticket = self._flow.states[name].ticket
            if ticket is not None:
                visit = self._visits[name]
                tickets[ticket] = ticket_value(self._key, self._token.token, name, visit, ticket)
        return tickets
