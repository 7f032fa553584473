"""Runs of charts to their end while the control plane and its runners die, again and again.

Whoever submits, sends, answers and steers goes on meanwhile. In the end everything is at rest, and the
ledgers are held against what the callers were told, and against the promises: each send came to one
thing, each timer fired once, each result counted once, each ticket was answered once, keys were never
shared. What is random is drawn from a seed that a failure shows; STATEOUS_CHAOS_SEED sets it. `make soak`
makes everything many times longer.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stateous_client import Client, Refused, Unavailable, Unreachable
from stateous_controlplane.documents import Checked, check
from stateous_controlplane.engine.invariants import broken_ledger, broken_rows
from stateous_controlplane.store.memory.tables import Tables
from tests.sim.databases import InFile, OnServer
from tests.sim.families import family_of
from tests.support.charts import document
from tests.support.databases import ServedDatabase, SqliteFile
from tests.support.processes import ControlPlane, environment, eventually
from tests.support.run_ledgers import broken_promises, marks
from tests.support.served import free_port
from tests.support.soak import SOAK

SEED = int(os.environ.get("STATEOUS_CHAOS_SEED", random.randrange(10**6)))
LEASE = 4
STARTER = "the-starter-of-all-runs-in-this-test"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(170 * SOAK)]

TRIP = """
statechart: trip
input: { n: integer }
initial: living
states:
  living:
    initial: planning
    timers: { limit: 15s }
    defer: [nudge]
    entry: { send: { to: { machine: log.yaml, key: "log-${input.n}" }, event: opened, data: { n: "${input.n}" } } }
    exit: { send: [{ to: { key: "log-${input.n}" }, event: closed }, { to: { key: nobody }, event: gone }] }
    on: { limit: closing, failed: closing }
    states:
      planning:
        job: { script: plan.js, retries: 2, timeout: 20s, input: { run: "${run.id}" } }
        on:
          step: { send: { to: { key: "log-${input.n}" }, event: step, data: "${event.data}" } }
          done: going
      going:
        jobs:
          leg: { machine: leg.yaml, input: { n: "${input.n}" } }
          side: { script: side.js, timeout: 20s }
          price: { routine: price, timeout: 20s }
        entry: { send: [{ to: leg, event: hello }, { to: { key: "trip-${input.n}" }, event: nudge }] }
        on:
          said: { send: { to: leg, event: thanks } }
          step: {}
          failed: {}
          done: asking
      asking:
        ticket: verdict
        timers: { soon: 3s, soonest: 1s }
        on:
          verdict: { go: agreed, when: "${event.data.ok}" }
          soon: planning
          nudge: {}
      agreed: { end: done, output: "${states.going.output}" }
  closing: { timers: { shut: 1s }, defer: [nudge], on: { shut: closed } }
  closed: { end: done }
"""
LEG = """
input: { n: integer }
initial: away
states:
  away:
    timers: { back: 1s }
    entry: { send: { to: parent, event: said, data: "${run.id}" } }
    on:
      hello: { send: { to: parent, event: said } }
      thanks: {}
      back: home
  home: { end: done, output: "${input.n}" }
"""
LOG = """
initial: open
states:
  open:
    timers: { limit: 5s, look: 2s }
    defer: [closed]
    on:
      step: {}
      opened: {}
      limit: shut
      look: { send: { to: { key: "trip-${input.n}" }, event: nudge, data: "${run.id}" } }
  shut: { end: done }
"""
SCRIPT = """
for (let n = 1; n <= 3; n++) {
  emit("step", n);
  for (const until = performance.now() + 10; performance.now() < until; );
}
return "planned";
"""
PRICE = """
import asyncio
import random

from stateous import on_job


@on_job("trip/price")
async def price(ctx):
    for number in range(3):
        ctx.emit("step", {"mark": f"{ctx.task}.{ctx.attempt}.{number}"})
        await asyncio.sleep(random.uniform(0.0, 0.2))
    return ctx.attempt
"""


@dataclass(frozen=True)
class Profile:
    """How much happens."""

    runs: int
    plane_deaths: int


PROFILES = {"sqlite": Profile(26, 3), "postgres": Profile(22, 2)}


def test_every_promise_to_runs_is_kept_whatever_dies(
    database: ServedDatabase, tmp_path: Path
) -> None:
    profile = PROFILES[database.kind]
    profile = Profile(profile.runs * SOAK, profile.plane_deaths * SOAK)
    print(f"STATEOUS_CHAOS_SEED={SEED}")
    chart = trip()
    with ExitStack() as stack:
        plane = Plane(database, tmp_path)
        stack.callback(plane.kill)
        crew = [Runner(plane.url, tmp_path, routines(tmp_path)), Runner(plane.url, tmp_path, None)]
        for runner in crew:
            stack.callback(runner.kill)
        callers = Callers(plane.url, chart)
        with Together() as storm:
            over, rest = threading.Event(), threading.Event()
            begun = [
                lambda: callers.submit_all(profile.runs, random.Random(SEED)),
                lambda: kill_planes(plane, profile.plane_deaths, random.Random(SEED + 1)),
            ]
            storm.begin(lambda: callers.send(over, random.Random(SEED + 2)))
            storm.begin(lambda: callers.answer(rest, random.Random(SEED + 3)))
            storm.begin(lambda: callers.steer(over, random.Random(SEED + 4)))
            storm.begin(lambda: kill_runners(crew, over, random.Random(SEED + 5)))
            try:
                with Together() as acts:
                    for act in begun:
                        acts.begin(act)
                over.set()
                eventually(lambda: at_rest(database), within=60.0 + SOAK)
            finally:
                over.set()
                rest.set()
        with closing(read(database)) as record:
            check_all(record.tables, callers, chart)
        assert plane.process.stop() == 0, plane.process.said
        assert "Traceback" not in plane.said, plane.said


# Who takes part


class Plane:
    """A control plane without a workflow that is started again on the same port and database."""

    def __init__(self, database: ServedDatabase, home: Path) -> None:
        self._database = database
        self._home = home
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._logs: list[Path] = []
        self.start()

    def start(self) -> None:
        options = ("--lease", f"{LEASE}s")
        self.process = ControlPlane(
            None, self._database.url, *options, cwd=self._home, port=self._port
        )
        self._logs.append(self.process.log)

    def kill(self) -> None:
        self.process.kill()

    @property
    def said(self) -> str:
        return "".join(log.read_text() for log in self._logs)


class Runner:
    """`stateous-supervise --scripts`, with routines and an outbox or without, started again and again."""

    def __init__(self, url: str, home: Path, folder: Path | None) -> None:
        self._home = home
        self._words = [
            *(sys.executable, "-m", "stateous_supervisor.command", "--scripts", "--url", url),
            *("--tasks", "4", "--name", "box" if folder else "scripts"),
            *([str(folder)] if folder else []),
        ]
        self.start()

    def start(self) -> None:
        with (self._home / "runners.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._words, cwd=self._home, env=environment(), stdout=log, stderr=log
            )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(30)


class Together:
    """Threads whose first error is raised where they are waited for."""

    def __enter__(self) -> Together:
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []
        return self

    def begin(self, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                self._errors.append(error)

        thread = threading.Thread(target=run)
        self._threads.append(thread)
        thread.start()

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]


@dataclass
class Callers:
    """Programs that work with runs, and what they were told."""

    url: str
    chart: Checked
    submitted: list[str] = field(default_factory=list)
    #: The marks of events and answers that were taken, and of those that were refused.
    taken: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def submit_all(self, runs: int, chance: random.Random) -> None:
        """Submit runs, spread over the time in which things die."""
        raw = JSON_OF[self.chart.record.checksum]
        with Client(self.url, retries=0) as client:
            until_answered(lambda: client.put_graph(raw))
            for number in range(runs):
                run, n = f"R-{number}", number % 3
                key = f"trip-{n}" if chance.random() < 0.5 else None
                told = until_answered(
                    lambda run=run, n=n, key=key: client.submit(
                        self.chart.record.checksum, {"n": n}, key=key, id=run, starter=STARTER
                    )
                )
                if told is not None:
                    self.submitted.append(run)
                time.sleep(chance.uniform(0.0, 0.5))

    def send(self, over: threading.Event, chance: random.Random) -> None:
        """Send events, each with a key, until each is answered."""
        with Client(self.url, retries=0) as client:
            for number in range(10**6):
                if over.wait(chance.uniform(0.0, 0.1)):
                    return
                if self.submitted:
                    run, mark = chance.choice(self.submitted[-8:]), f"sent-{number}"
                    event = chance.choice(("nudge", "step", "nosuch"))
                    self._note(
                        mark,
                        lambda run=run, event=event, mark=mark: client.send(
                            run, event, {"mark": mark}, key=mark
                        ),
                    )

    def answer(self, over: threading.Event, chance: random.Random) -> None:
        """Answer tickets, some twice."""
        with Client(self.url, retries=0) as client:
            for number in range(10**6):
                if over.wait(chance.uniform(0.01, 0.05)):
                    return
                if not self.submitted:
                    continue
                run = chance.choice(self.submitted[-20:])
                tickets = until_answered(lambda run=run: client.tickets(run, starter=STARTER))
                for ticket in tickets or ():
                    for again in range(2):
                        mark = f"answer-{number}-{again}"
                        answer = {"ok": chance.random() < 0.7, "mark": mark}
                        self._note(
                            mark,
                            lambda ticket=ticket, answer=answer, mark=mark: client.reply(
                                ticket["value"], answer, key=mark
                            ),
                        )

    def steer(self, over: threading.Event, chance: random.Random) -> None:
        """Pause runs for a while, and cancel one now and then."""
        with Client(self.url, retries=0) as client:
            while not over.wait(chance.uniform(0.1, 0.5)):
                if not self.submitted:
                    continue
                run = chance.choice(self.submitted[-6:])
                if chance.random() < 0.1:
                    until_answered(lambda run=run: client.cancel_run(run))
                    continue
                until_answered(lambda run=run: client.pause_run(run))
                time.sleep(chance.uniform(0.0, 0.6))
                until_answered(lambda run=run: client.resume_run(run))

    def _note(self, mark: str, call: Callable[[], Any]) -> None:
        told = until_answered(call)
        (self.refused if told is None else self.taken).append(mark)


def until_answered(call: Callable[[], Any]) -> Any:
    """What is answered; None for a refusal."""
    while True:
        try:
            return call()
        except (Unreachable, Unavailable):
            time.sleep(0.02)
        except Refused:
            return None


def kill_planes(plane: Plane, deaths: int, chance: random.Random) -> None:
    for _ in range(deaths):
        time.sleep(chance.uniform(0.5, 2.5))
        plane.kill()
        time.sleep(chance.uniform(0.0, 0.3))
        plane.start()


def kill_runners(crew: list[Runner], over: threading.Event, chance: random.Random) -> None:
    while not over.wait(chance.uniform(0.8, 2.5)):
        runner = chance.choice(crew)
        runner.kill()
        over.wait(chance.uniform(0.0, 0.5))
        runner.start()


# The chart and the routines

#: Documents as clients have them, by checksum.
JSON_OF: dict[str, dict[str, Any]] = {}


def trip() -> Checked:
    raw = document(TRIP, leg=LEG, log=LOG).raw
    raw = {**raw, "scripts": dict.fromkeys(raw["scripts"], SCRIPT)}
    checked = check(raw)
    assert isinstance(checked, Checked), checked
    JSON_OF[checked.record.checksum] = raw
    return checked


def routines(home: Path) -> Path:
    folder = home / "box"
    folder.mkdir()
    (folder / "work.py").write_text(PRICE)
    (folder / "stateous.yaml").write_text("url: http://127.0.0.1:1\n")
    return folder


# What is to be found afterwards


def at_rest(database: ServedDatabase) -> bool:
    ((live,),) = database.query("SELECT count(*) FROM tokens WHERE status IN ('active', 'paused')")
    ((outbox,),) = database.query("SELECT count(*) FROM outbox")
    return not live and not outbox


def read(database: ServedDatabase) -> InFile | OnServer:
    return InFile(database.file) if isinstance(database, SqliteFile) else OnServer(database.url)


def check_all(tables: Tables, callers: Callers, chart: Checked) -> None:
    machines = {chart.machine.checksum: chart.machine}
    entries = list(tables.ledger.values())
    for top in {token.top for token in tables.tokens.values()}:
        family = family_of(tables, top)
        ledger = [each for each in entries if each.token in family.tokens]
        ledger.sort(key=lambda each: (each.token, each.seq))
        assert broken_rows(family, machines) + broken_ledger(family, ledger) == []
    assert broken_promises(entries) == []
    assert set(callers.submitted) <= tables.tokens.keys()
    arrived = marks(entries)
    assert {mark: arrived[mark] for mark in callers.taken if arrived[mark] != 1} == {}
    assert [mark for mark in callers.refused if arrived[mark]] == []
    assert {mark: count for mark, count in arrived.items() if count > 1} == {}
    # Something has happened: everything that is promised was put to the test.
    kinds = Counter(entry.kind for entry in entries)
    for kind in ("undelivered", "branch_ended", "timer_fired", "ticket_answered", "task_done"):
        assert kinds[kind] > 0, kinds
    print(f"{len(tables.tokens)} runs, {len(entries)} entries: {dict(kinds)}")
