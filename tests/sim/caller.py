"""The clients of the simulation: they begin things, act on them, and help them to their end.

They speak with the product's own protocol, retries included. What carries a key, and every start,
they ask for again until it has an answer; everything else they send once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from typing import Any

from stateous.graph.machine import Machine
from stateous_client.errors import Refused, Unavailable, Unreachable
from stateous_client.protocol import calls
from stateous_client.protocol.courses import Sleep
from stateous_client.protocol.dialogue import Dialogue
from stateous_client.protocol.exchange import Request
from stateous_controlplane.engine.rows import Status, TaskStatus, Token
from tests.sim.databases import SharedDatabase
from tests.sim.timeline import Host, Steps
from tests.sim.workflows import emits

TIMEOUT = 4.0


class Program(ABC):
    """A program of some application. ``waiting`` counts what it has not got an answer to.

    It begins each of ``to_begin`` at some time. It knows what is live from the record, as a program
    could that had asked.
    """

    def __init__(
        self,
        host: Host,
        database: SharedDatabase,
        *,
        to_begin: Sequence[str],
        mark: Callable[[str], str],
        wild: Callable[[], bool],
    ) -> None:
        self.host = host
        self._database = database
        self._to_begin = list(to_begin)
        self._mark = mark
        self._wild = wild
        self._chance = host.timeline.random
        self._dialogue = Dialogue.of(
            "http://plane", TIMEOUT, 3, draw=self._chance.random, now=host.monotonic
        )
        self.waiting = 0

    def start(self) -> None:
        """The program begins."""
        self.host.boot()
        self.host.run(self._work())

    @property
    def satisfied(self) -> bool:
        """Whether everything is begun and answered."""
        return not self._to_begin and not self.waiting

    def _work(self) -> Steps:
        while True:
            yield Sleep(self._chance.expovariate(0.9))
            if self._to_begin and self._chance.random() < 0.3:
                self._begin(self._to_begin.pop())
            elif self._wild():
                for _ in range(self._chance.choice((1, 1, 1, 1, 4))):
                    self._act()
            else:
                self._help()

    @abstractmethod
    def _begin(self, name: str) -> None:
        """Begin one thing."""

    @abstractmethod
    def _act(self) -> None:
        """Do something to what is live, by chance."""

    @abstractmethod
    def _help(self) -> None:
        """Let what is live go on: the faults have stopped."""

    def _paused(self) -> list[Token]:
        """The top tokens that are paused."""
        live = self._live()
        return [each for each in live if each.status is Status.PAUSED and each.parent is None]

    def _live(self) -> list[Token]:
        tokens = self._database.tables.tokens
        return [each for _, each in sorted(tokens.items()) if each.status.live]

    # ── sending ─────────────────────────────────────────────────────────

    def _send(self, steps: Steps) -> None:
        self.waiting += 1
        self.host.run(self._counted(steps))

    def _counted(self, steps: Steps) -> Steps:
        yield from steps
        self.waiting -= 1

    def _once(self, request: Request[Any]) -> Steps:
        try:
            yield from self._dialogue.ask(request)
        except (Unreachable, Refused) as error:
            self._tell(request, error)

    def _until_answered(self, request: Request[Any]) -> Generator[Any, Any, Refused | None]:
        """Ask again and again; the refusal, when that is the answer."""
        while True:
            try:
                yield from self._dialogue.ask(request)
            except (Unreachable, Unavailable):
                yield Sleep(1.0)
            except Refused as error:
                self._tell(request, error)
                return error
            else:
                return None

    def _tell(self, request: Request[Any], error: Exception) -> None:
        self.host.timeline.tell(self.host.name, f"{request.path}: {error}")


class Caller(Program):
    """Starts tokens of ``machine``, fires events, reports tasks that wait, steers."""

    def __init__(self, machine: Machine, *program: Any, **more: Any) -> None:
        super().__init__(*program, **more)
        self._machine = machine
        self._emits = emits(machine)

    def _begin(self, name: str) -> None:
        self._send(self._until_answered(calls.start(name, None)))

    # ── while everything goes wrong ─────────────────────────────────────

    def _act(self) -> None:
        live = self._live()
        if not live or self._chance.random() < 0.3:
            return
        token = self._chance.choice(live)
        top = self._database.tables.tokens[token.top]
        match self._chance.randrange(12):
            case 0 | 1:
                self._fire_with_key(token)
            case 2 | 7:
                self._send(self._once(self._fire(token, self._event_of(token), None)))
            case 3 | 4 | 5:
                paused = top.status is Status.PAUSED
                self._send(self._once(calls.steer(top.token, "resume" if paused else "pause")))
            case 6 if self._chance.random() < 0.3:
                self._send(self._once(calls.steer(top.token, "cancel")))
            case _:
                self._report_a_waiting_task()

    def _fire_with_key(self, token: Token) -> None:
        key = self._mark("k")
        request = self._fire(token, self._event_of(token), key)
        self._send(self._until_answered(request))
        if self._chance.random() < 0.3:
            self._send(self._until_answered(request))

    def _fire(self, token: Token, event: str, key: str | None) -> Request[Any]:
        return calls.fire(token.token, event, {"mark": self._mark("f")}, key=key)

    def _event_of(self, token: Token) -> str:
        flow = self._machine.flow(token.workflow)
        here = [name for name in flow.states[token.state].groups if name in flow.events]
        return self._chance.choice(here or sorted(flow.events))

    # ── once the faults have stopped ────────────────────────────────────

    def _help(self) -> None:
        """Resume what is paused, and end what waits."""
        for token in self._paused():
            self._send(self._once(calls.steer(token.token, "resume")))
            return
        self._report_a_waiting_task()

    def _report_a_waiting_task(self) -> None:
        tasks = self._database.tables.tasks
        waiting = [each for _, each in sorted(tasks.items()) if each.status is TaskStatus.WAITING]
        if waiting:
            task = self._chance.choice(waiting)
            event = self._chance.choice(self._emits[task.queue])
            payload = {"mark": self._mark("o")}
            request = calls.report(task.id, event, payload, context=None, attempt=task.attempt)
            self._send(self._once(request))
