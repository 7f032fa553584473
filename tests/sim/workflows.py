"""The workflows of the simulation, and what their routines do.

Between them they have parallel states (both joins, nested), retries, timeouts, error transitions,
loops that counts end, `into`, and timers. Whatever happens, a token comes to its end once its
routines end with an event of their state: every loop is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from stateous.graph.machine import Flow, Machine, RoutineWork, freeze
from stateous.graph.reading import check_graph
from stateous.json import Json, JsonObject, write_json
from stateous_client.protocol.courses import Sleep
from stateous_controlplane.startup import Workflow
from stateous_supervisor.messages import Attempt, Draft
from stateous_supervisor.outcome import failed
from tests.sim.supervisor import Play, Supervisor
from tests.sim.witness import SHARED_KEY
from tests.support.graphs import flow, graph

_ANY: Final[JsonObject] = {"type": "object"}
_EVENTS: Final = (
    "done", "again", "stuck", "withdrawn", "signed", "rejected", "nudged", "ok",
)  # fmt: skip


def _marked(*names: str, **more: JsonObject) -> dict[str, JsonObject]:
    """Events whose payloads may carry a mark."""
    return {name: {"payload": "Mark", **more.get(name, {})} for name in names}


_SCHEMAS: Final[dict[str, Json]] = {
    "Mark": _ANY,
    "Ticket": {
        "type": "object",
        "properties": {
            "repo": {"type": "string", "default": "acme/api"},
            "found": {"anyOf": [{"type": "object"}, {"type": "null"}], "default": None},
            "verdicts": {"anyOf": [{"type": "object"}, {"type": "null"}], "default": None},
        },
    },
    "Part": {"type": "object", "properties": {"repo": {"type": "string", "default": "none"}}},
}

_CODE: Final = flow(
    """
    START -> check
    check -> END on ok
    check -> check on again if count('again') < 2
    check -> END on again otherwise
    """,
    context="Part",
    states={"check": {"retries": 1, "timeout": "20s"}},
    events=_marked("ok", "again"),
)
_HALF: Final = flow("START -> half\nhalf -> END on ok", events=_marked("ok"))
_DOCS: Final = flow(
    """
    START -> halves
    halves -> wrap on joined
    wrap -> END on ok
    wrap -> END on error
    """,
    states={"halves": {"parallel": ["left", "right"], "join": "any"}},
    events=_marked("ok"),
)

TICKET: Final = graph(
    """
    START -> coding
    coding -> reviews on done
    coding -> coding on again if count('again') < 3
    coding -> reviews on again otherwise
    coding -> END on stuck
    coding -> fixing on error
    coding -> coding on timeout if count('timeout') < 2
    coding -> END on timeout otherwise
    fixing -> coding on done if count('error') < 3
    fixing -> END on done otherwise
    fixing -> END on error
    reviews -> signing on joined
    reviews -> coding on withdrawn if count('withdrawn') < 2
    reviews -> END on withdrawn otherwise
    reviews -> END on timeout
    signing -> END on signed
    signing -> coding on rejected if count('rejected') < 2
    signing -> END on rejected otherwise
    signing -> signing on nudged if count('nudged') < 3
    signing -> END on timeout
    """,
    context="Ticket",
    states={
        "coding": {"retries": 1, "timeout": "15s"},
        "reviews": {
            "parallel": ["code", "docs"], "inputs": ["repo"], "into": "verdicts", "timeout": "60s",
        },
        "signing": {"retries": 2, "timeout": "20s"},
    },
    events=_marked(*_EVENTS[:-1], done={"into": "found"}),
    schemas=_SCHEMAS,
    workflows={"code": _CODE, "docs": _DOCS, "left": _HALF, "right": _HALF},
)  # fmt: skip

RACE: Final = graph(
    """
    START -> race
    race -> settle on joined
    race -> END on timeout
    settle -> race on again if count('again') < 3
    settle -> END on again otherwise
    settle -> END on done
    settle -> END on error
    """,
    workflow="race",
    context="Ticket",
    states={
        "race": {"parallel": ["code", "docs"], "join": "any", "timeout": "40s"},
        "settle": {"retries": 1},
    },
    events=_marked("again", "done"),
    schemas=_SCHEMAS,
    workflows={"code": _CODE, "docs": _DOCS, "left": _HALF, "right": _HALF},
)


def _served(raw: dict[str, Any]) -> Workflow:
    document = check_graph(raw)
    return Workflow(document, freeze(document), write_json(raw).encode())


SERVED: Final = (_served(TICKET), _served(RACE))


def flows(machine: Machine) -> tuple[Flow, ...]:
    """The top flow and its children."""
    return machine.top, *machine.children.values()


def emits(machine: Machine) -> dict[str, tuple[str, ...]]:
    """What the routine of each queue may report."""
    return {
        state.work.queue: state.emits
        for each in flows(machine)
        for state in each.states.values()
        if isinstance(state.work, RoutineWork)
    }


class Routines:
    """What routines do: by chance while ``wild()``, else straight to an event of their state."""

    def __init__(
        self, machine: Machine, chance: Random, mark: Callable[[str], str], wild: Callable[[], bool]
    ) -> None:
        self._emits = emits(machine)
        self._chance = chance
        self._mark = mark
        self._wild = wild

    def __call__(self, supervisor: Supervisor, attempt: Attempt, grant: JsonObject) -> Play:
        """One run of a routine; its value is the outcome."""
        chance, token = self._chance, str(grant["token"])
        for _ in range(chance.choice((0, 0, 1, 2, 3))):
            yield Sleep(chance.uniform(0.0, 0.6))
            supervisor.point("in routine")
            supervisor.put(self._message(attempt, token))
        yield Sleep(chance.expovariate(0.5))
        supervisor.point("in routine")
        emitted = self._emits[str(grant["state"])]
        draw = chance.random() if self._wild() else 1.0
        if draw < 0.05:
            yield Sleep(chance.uniform(5.0, 40.0))
        if draw < 0.18:
            return failed("it broke", attempt.number)
        if draw < 0.34:
            timers: list[Json] = [
                {"event": chance.choice(emitted), "after": f"{chance.randint(1, 20)}s"}
                for _ in range(chance.randint(0, 2))
            ]
            return _outcome(attempt, {"kind": "waiting"}, timers)
        event = "nosuch" if draw < 0.38 else chance.choice(emitted)
        report: JsonObject = {"kind": "event", "event": event, "payload": {"mark": self._mark("r")}}
        return _outcome(attempt, report, [])

    def _message(self, attempt: Attempt, token: str) -> Draft:
        match self._chance.randrange(3):
            case 0:
                return Draft(attempt, token, "note", {"text": self._mark("n")})
            case 1:
                mark = self._mark("m")
                return Draft(attempt, token, "memory", {"key": mark, "value": 1})
            case _:
                value = int(self._mark("v")[1:])
                return Draft(attempt, token, "memory", {"key": SHARED_KEY, "value": value})


def _outcome(attempt: Attempt, report: JsonObject, timers: list[Json]) -> JsonObject:
    return {**report, "context": {}, "schedules": timers, "attempt": attempt.number}
