"""The client of the simulation that works with runs: submits, events, answers to tickets, steering."""

from __future__ import annotations

from typing import Any, Final

from stateous.statechart.tickets import ticket_value
from stateous_client.errors import Refused
from stateous_client.protocol import run_calls
from stateous_controlplane.engine.rows import Ticket, TicketStatus, Token
from tests.sim.caller import Program
from tests.sim.charts import BATON, EVENTS, KEYS, LOG, ORDER, TICKET_KEY, Chart
from tests.sim.timeline import Steps

_NOT_ON_RECORD: Final = "graph_not_found"
#: What is answered, at once: some that no rule takes, some to a ticket that was answered.
_ANSWERS: Final[tuple[tuple[bool | str, ...], ...]] = (
    (True,), (False,), ("odd",), (True, True), ("later", True), ("later", "later", False),
)  # fmt: skip


class RunCaller(Program):
    """Submits runs of all charts, and puts the documents on record when it is told to."""

    def _begin(self, name: str) -> None:
        chance = self._chance
        number = chance.randint(1, KEYS)
        chart: Chart
        given: dict[str, Any]
        match chance.randrange(6):
            case 0:
                chart, key, given = (
                    LOG,
                    f"log-{number}",
                    {"n": number} if chance.random() < 0.7 else {},
                )
            case 1 | 2:
                left = chance.randint(1, KEYS + 2)
                lane = chance.choice(("a", "b"))
                chart, key, given = BATON, f"{lane}-{left}", {"left": left, "lane": lane}
            case _:
                peer = chance.choice(("order-1", "order-2", "log-1", "a-2"))
                chart, key, given = ORDER, f"order-{number}", {"n": number, "peer": peer}
        self._send(self._submit(name, chart, given, key if chance.random() < 0.8 else None))

    def _submit(self, run: str, chart: Chart, given: dict[str, Any], key: str | None) -> Steps:
        request = run_calls.submit(
            chart.record.checksum, given, key=key, id=run, idempotency_key=None, starter=None
        )
        while True:
            refused: Refused | None = yield from self._until_answered(request)
            if refused is None or refused.code != _NOT_ON_RECORD:
                return
            yield from self._until_answered(run_calls.put_graph(chart.raw))

    # ── while everything goes wrong ─────────────────────────────────────

    def _act(self) -> None:
        live = self._live()
        if not live or self._chance.random() < 0.3:
            return
        run = self._chance.choice(live)
        match self._chance.randrange(12):
            case 0 | 1 | 2:
                self._send_event(run)
            case 3 | 4 | 5:
                paused = run.token in [each.token for each in self._paused()]
                self._send(self._once(run_calls.steer(run.top, "resume" if paused else "pause")))
            case 6 if self._chance.random() < 0.3:
                self._send(self._once(run_calls.steer(run.top, "cancel")))
            case _:
                self._answer_a_ticket()

    def _send_event(self, run: Token) -> None:
        event = self._chance.choice(EVENTS)
        key = self._mark("k") if self._chance.random() < 0.5 else None
        request = run_calls.send(run.token, event, {"mark": self._mark("f")}, key=key)
        if key is None:
            self._send(self._once(request))
            return
        for _ in range(self._chance.choice((1, 1, 2))):
            self._send(self._until_answered(request))

    def _answer_a_ticket(self) -> None:
        chance = self._chance
        tickets = sorted(self._database.tables.tickets.values(), key=lambda each: each.digest)
        opened = [each for each in tickets if each.status is TicketStatus.OPEN]
        # Now and then one that was answered, or is void.
        among = tickets if chance.random() < 0.15 else opened
        if not among:
            return
        value = _value(chance.choice(among))
        for ok in chance.choice(_ANSWERS):
            answer = {"ok": ok, "mark": self._mark("t")}
            key = self._mark("k") if chance.random() < 0.5 else None
            request = run_calls.reply(value, answer, run=None, key=key)
            self._send(self._once(request) if key is None else self._until_answered(request))

    # ── once the faults have stopped ────────────────────────────────────

    def _help(self) -> None:
        """Resume what is paused, and answer what is asked, now and then."""
        for run in self._paused():
            self._send(self._once(run_calls.steer(run.token, "resume")))
            return
        if self._chance.random() < 0.1:
            self._answer_a_ticket()


def _value(ticket: Ticket) -> str:
    return ticket_value(TICKET_KEY, ticket.token, ticket.state, ticket.visit, ticket.ticket)
