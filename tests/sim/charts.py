"""The charts of the simulation, and what their jobs do.

Between them they have nested states, jobs of each kind, child runs that talk with their parents,
sends to keys that start runs and that do not, tickets, timers of both kinds, deferral and declared
events. Whatever happens, a run comes to its end: each is bounded by a timer of a length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from stateous.graph.machine import Child, Machine, Routine
from stateous.json import JsonObject
from stateous_client.protocol.courses import Sleep
from stateous_controlplane.documents import Checked, check
from stateous_supervisor.job_outcome import done, failed, timed_out
from stateous_supervisor.messages import Attempt, Draft
from tests.sim.supervisor import Play, Supervisor
from tests.support.charts import document

#: What the values of tickets are derived with in a simulation.
TICKET_KEY: Final = bytes(range(32))
#: How many orders, logs and batons can live at once: as many as there are keys for them.
KEYS: Final = 3

_KID: Final = """
input: { n: integer }
initial: greeting
states:
  greeting:
    job: { script: greet.js, timeout: 10s, input: "${input.n}" }
    timers: { tired: 20s }
    entry: { send: { to: parent, event: said, data: "${run.id}" } }
    on:
      hello: { send: { to: parent, event: bye, data: "${event.data}" } }
      thanks: { send: { to: parent, event: bye } }
      progress: { send: { to: parent, event: said, data: "${event.data}" } }
      done: parting
      failed: lost
      tired: parting
  parting:
    timers: { soon: 2s }
    exit: { send: [{ to: parent, event: bye }, { to: { key: "log-${input.n}" }, event: progress }] }
    on: { soon: over }
  over: { end: done, output: "${states.greeting.output}" }
  lost: { end: failed, output: "${event.data.status}" }
"""
_LOG: Final = """
initial: open
states:
  open:
    initial: idle
    timers: { limit: 25s }
    defer: [progress]
    on: { limit: shut, nudge: {} }
    states:
      idle:
        timers: { look: 7s }
        on:
          opened: busy
          look: { send: { to: { key: order-1 }, event: nudge, data: { of: "${run.id}" } } }
      busy:
        timers: { next: 3s }
        on:
          progress: {}
          next: idle
          opened: { send: { to: { key: "order-${input.n}" }, event: nudge } }
  shut: { end: done, output: "${input}" }
"""
_ORDER: Final = """
statechart: order
input: { n: integer, peer: string }
initial: living
states:
  living:
    initial: drafting
    timers: { limit: 60s, noon: "12:01", local: "mon 12:02 Europe/London" }
    defer: [nudge]
    entry: { send: { to: { machine: log.yaml, key: "log-${input.n}" }, event: opened, data: { n: "${input.n}" } } }
    exit:
      send:
        - { to: { key: "log-${input.n}" }, event: nudge, data: { of: "${run.id}" } }
        - { to: { key: nobody }, event: gone }
    on:
      limit: closing
      failed: resting
      stop: closing
      noon: { send: { to: { key: "${input.peer}" }, event: nudge, data: noon } }
    states:
      drafting:
        job: { script: draft.js, retries: 1, timeout: 10s, input: { n: "${input.n}" } }
        timers: { slow: 15s }
        on:
          progress:
            send:
              - { to: { key: "log-${input.n}" }, event: progress, data: "${event.data}" }
              - { to: { machine: log.yaml, key: "log-${input.n}" }, event: opened, data: { n: "${input.n}" } }
          done: talking
          slow: waiting
      talking:
        jobs:
          kid: { machine: kid.yaml, input: { n: "${input.n}" } }
          side: { script: side.js, retries: 2, timeout: 12s }
          price: { routine: price, timeout: 20s }
        entry:
          send:
            - { to: kid, event: hello, data: { t: "${run.id}" } }
            - { to: { key: "${input.peer}" }, event: nudge, data: { of: "${run.id}" } }
        on:
          said: { send: [{ to: kid, event: thanks }, { to: kid, event: hello }] }
          bye: {}
          progress: { send: { to: kid, event: thanks, data: "${event.data}" } }
          failed: { send: { to: { key: "log-${input.n}" }, event: progress, data: "${event.data.error}" } }
          done: waiting
          again: talking
      waiting:
        ticket: verdict
        timers: { soon: 9s }
        on:
          verdict:
            - { go: agreed, when: "${event.data.ok}", send: { to: { key: "log-${input.n}" }, event: progress } }
            - { go: drafting, when: "${!event.data.ok}" }
            - { when: "${event.data.ok == 'later'}", send: { to: { key: "log-${input.n}" }, event: nudge } }
          soon: drafting
          nudge: { send: { to: { key: "log-${input.n}" }, event: progress, data: "${event.data}" } }
          again: waiting
      agreed: { end: done, output: "${states.talking.output}" }
      resting:
        timers: { enough: 3s }
        on: { enough: closing, again: drafting }
  closing:
    defer: [nudge]
    timers: { shut: 4s }
    on: { shut: closed }
  closed: { end: done, output: "${states.living.output}" }
"""
_BATON: Final = """
statechart: baton
input: { left: integer, lane: string }
events:
  ack: { type: object, required: [left] }
  pass: {}
  progress: {}
initial: holding
states:
  holding:
    job: { routine: hold, timeout: 10s, retries: 1, input: "${input.left}" }
    timers: { limit: 20s }
    entry: { send: { to: { key: "${input.lane}-${input.left + 1}" }, event: ack, data: { left: "${input.left}" } } }
    defer: [ack]
    on:
      pass: {}
      limit: over
      failed: over
      done:
        - go: passed
          when: "${input.left > 0}"
          send:
            - to: { machine: chart.yaml, key: "${input.lane}-${input.left - 1}" }
              event: pass
              data: { left: "${input.left - 1}", lane: "${input.lane}" }
            - { to: { key: "${input.lane}-${input.left - 1}" }, event: ack, data: odd }
            - { to: { key: "${input.lane}-${input.left - 1}" }, event: pass, data: "${event.data}" }
        - { go: over }
  passed:
    timers: { enough: 12s }
    on: { ack: over, enough: over }
  over: { end: done, output: "${states.holding.output}" }
"""


class Chart:
    """A document as a client has it, and the machine that is run."""

    def __init__(self, text: str, **machines: str) -> None:
        self.raw: dict[str, Any] = document(text, **machines).raw
        checked = check(self.raw)
        assert isinstance(checked, Checked), checked
        self.record, self.machine = checked.record, checked.machine


ORDER: Final = Chart(_ORDER, kid=_KID, log=_LOG)
LOG: Final = Chart("statechart: log\n" + _LOG)
BATON: Final = Chart(_BATON)
CHARTS: Final[Mapping[str, Chart]] = {each.record.checksum: each for each in (ORDER, LOG, BATON)}
MACHINES: Final[Mapping[str, Machine]] = {
    checksum: each.machine for checksum, each in CHARTS.items()
}
#: Events that clients and jobs send: some that are taken, kept, dropped or not allowed.
EVENTS: Final = ("nudge", "progress", "again", "opened", "pass", "stop", "nosuch")
EMITTED: Final = ("progress", "progress", "nudge", "nosuch", "again")


def jobs() -> list[str]:
    """What claims name: the routines of all charts, and scripts."""
    routines = {
        job.queue.removeprefix("job:")
        for machine in MACHINES.values()
        for flow in machine.children.values()
        for state in flow.states.values()
        for job in state.jobs.values()
        if isinstance(job.does, Routine)
    }
    return [*sorted(routines), "scripts"]


def is_task(machine: Machine, path: str | None, state: str, job: str) -> bool:
    """Whether the job is a script or routine, and no child run."""
    return not isinstance(machine.flow(path).states[state].jobs[job].does, Child)


class Jobs:
    """What jobs do: by chance while ``wild()``, else they finish, soon."""

    def __init__(
        self, chance: Random, mark: Callable[[str], str], wild: Callable[[], bool]
    ) -> None:
        self._chance = chance
        self._mark = mark
        self._wild = wild

    def __call__(self, supervisor: Supervisor, attempt: Attempt, grant: JsonObject) -> Play:
        """One run of a job; its value is the outcome."""
        chance, token = self._chance, str(grant["token"])
        for number in range(1, chance.choice((0, 0, 1, 2, 4)) + 1):
            yield Sleep(chance.uniform(0.0, 0.6))
            supervisor.point("in routine")
            event, data = chance.choice(EMITTED), {"mark": self._mark("e")}
            body: JsonObject = {"number": number, "event": event, "data": data}
            supervisor.put(Draft(attempt, token, "emit", body))
        yield Sleep(chance.expovariate(0.7))
        supervisor.point("in routine")
        draw = chance.random() if self._wild() else 1.0
        if draw < 0.04:
            # A runner that does not stop the work itself: the control plane ends the attempt.
            yield Sleep(chance.uniform(5.0, 60.0))
        if draw < 0.10:
            return timed_out(1.0, attempt.number)
        if draw < 0.22:
            status = chance.choice(("failed", "denied"))
            return failed("it broke", attempt.number, status)  # type: ignore[arg-type]
        return done({"mark": self._mark("r")}, attempt.number)
