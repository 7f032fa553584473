"""One simulation from its seed to its end: who takes part, what goes wrong when, how it ends.

First a minute and a half in which everything goes wrong; the seed also draws which kinds of faults this run
has at all, because a run with all of them seldom gets anywhere. Then the faults stop: everything is
up, the network is good, clocks agree. From then on every token must end, soon.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from itertools import count
from typing import Final

from stateous_controlplane.startup import Workflow
from stateous_controlplane.store.port import CommitUnknown, DatabaseBusy
from tests.sim import supervisor as supervisors
from tests.sim.caller import TIMEOUT
from tests.sim.casts import CASTS
from tests.sim.databases import Faults, New, SharedDatabase, in_memory
from tests.sim.faults import FaultyStore
from tests.sim.network import Network, Weather
from tests.sim.plane import LOGGED, ControlPlane, LogToTrace
from tests.sim.supervisor import PACE, Supervisor
from tests.sim.timeline import Crashed, Host, Timeline
from tests.sim.violation import Violation
from tests.sim.witness import Witness

#: Simulated seconds in which faults happen, and in which everything must end after them.
STORM: Final = 90.0
CALM: Final = 900.0


@dataclass
class Outcome:
    """What became of a seed. ``seen`` are the faults that happened, ``faults`` the store's."""

    seed: int
    violation: str | None
    trace: list[str]
    seen: set[str] = field(default_factory=set)
    store: str = "memory"
    faults: Faults = field(default_factory=dict)
    cast: str = "workflows"

    @property
    def digest(self) -> str:
        """A hash of the whole trace."""
        return sha256("\n".join(self.trace).encode()).hexdigest()


class World:
    """Everything that takes part."""

    def __init__(self, seed: int, database: SharedDatabase, cast: str = "workflows") -> None:
        self.seed = seed
        self.cast = cast
        self.timeline = Timeline(seed)
        self.seen: set[str] = set()
        self.storm = True
        self._marks = count(1)
        chance = self.chance = self.timeline.random
        self.database = database
        players = CASTS[cast](chance)
        self.witness = Witness(self.timeline, self.database, players.machines)
        self.network = Network(self.timeline, self._listening)
        self._faults = {
            kind: chance.choice((0.0, 0.004, 0.015))
            for kind in ("crash", "busy", "unknown", "freeze")
        }
        # Drawn by no chance of its own: what else is drawn is the same over each store.
        self._faults["lost"] = self._faults["busy"]
        self._box_faults = chance.choice((0.0, 0.004, 0.02))
        self._freezing = False
        self._fastest = 0.0
        self._lease = timedelta(seconds=chance.choice((6, 8, 16)))
        # On one host the row of a dead process means nothing; on two it counts for 30 s.
        names = chance.choice((("cp-1", "cp-2"), ("cp", "cp")))
        self.planes = [
            self._plane(f"plane-{n}", name, players.workflow) for n, name in enumerate(names)
        ]
        routines = players.routines(chance, self._mark, lambda: self.storm)
        self.boxes = [
            Supervisor(
                self._host(name, PACE.http_timeout),
                self.witness,
                players.states,
                players.jobs,
                places=chance.choice((1, 3)),
                keeps=name == "box-1" or not players.jobs,
                routine=routines,
                point=self._box_point,
            )
            for name in ("box-1", "box-2")
        ]
        self.caller = players.program(
            self._host("client", TIMEOUT),
            self.database,
            to_begin=[f"{players.letter}-{n}" for n in range(1, chance.randint(4, 12) + 1)],
            mark=self._mark,
            wild=lambda: self.storm,
        )

    def _plane(self, name: str, host: str, workflow: Workflow | None) -> ControlPlane:
        def open_store() -> FaultyStore:
            return FaultyStore(
                self.database,
                self.database.open(plane.host.monotonic),
                point=lambda point: self._plane_point(plane, point),
                committed=self.witness.committed,
                taken=self.witness.taken,
            )

        plane = ControlPlane(
            self._host(name),
            workflow,
            self.witness,
            lease=self._lease,
            open_store=open_store,
            name=lambda: f"{host}:{next(self._marks)}:{self.chance.getrandbits(32):08x}",
        )
        return plane

    @property
    def _parts(self) -> list[ControlPlane | Supervisor]:
        return [*self.planes, *self.boxes]

    def _host(self, name: str, timeout: float | None = None) -> Host:
        host = Host(self.timeline, name)
        if timeout is not None:
            host.port = self.network.port(host, timeout)
        return host

    def _mark(self, kind: str) -> str:
        return f"{kind}{next(self._marks)}"

    def _listening(self) -> list[ControlPlane]:
        return [plane for plane in self.planes if plane.listening]

    # ── running ─────────────────────────────────────────────────────────

    def run(self) -> None:
        """From the beginning to the end. Raises Violation."""
        self._blow()
        self.caller.start()
        self._keep_up()
        self.timeline.after(3.0, self._disturb)
        self.timeline.run_until(STORM)
        self._calm_down()
        self.timeline.run_until(self.timeline.now + CALM, self._over)
        self.timeline.tell("world", "it is over")
        if not self._over():
            tasks = [f"{box.host.name}: {box.disk.rows}" for box in self.boxes]
            self.witness.at_the_end()
            raise Violation(f"{self.caller.waiting} calls have no answer, or {tasks} stay")
        self.witness.at_the_end()

    def _over(self) -> bool:
        return (
            self.caller.satisfied
            and all(box.host.up and box.quiet for box in self.boxes)
            and not any(each.status.live for each in self.database.tables.tokens.values())
            and not any(self.database.tables.outbox.values())
        )

    def _calm_down(self) -> None:
        self.timeline.tell("world", "the faults stop")
        self.storm = False
        self.network.weather = Weather()
        self.network.cut.clear()
        # Clocks agree from now on, with the fastest that there was: time stands still nowhere.
        for plane in self.planes:
            plane.host.skew = self._fastest
        self.witness.runs.calm_since = self.planes[0].host.now()

    def _keep_up(self) -> None:
        """Whoever is down comes back, as it does under any process manager."""
        for part in self._parts:
            if not part.host.up and self.timeline.chance(0.35 if self.storm else 1.0):
                self.timeline.tell(part.host.name, "comes up")
                part.start()
        self.timeline.after(1.0, self._keep_up)

    # ── what goes wrong ─────────────────────────────────────────────────

    def _blow(self) -> None:
        chance = self.chance
        self.network.weather = Weather(
            lost=chance.choice((0.0, 0.03, 0.15)),
            doubled=chance.choice((0.0, 0.1, 0.3)),
            late=chance.choice((0.0, 0.1, 0.3)),
            latest=chance.choice((0.5, 3.0, 12.0)),
            answer_lost=chance.choice((0.0, 0.03, 0.15)),
            unnoticed=chance.choice((0.0, 0.5)),
        )

    def _disturb(self) -> None:
        if not self.storm:
            return
        chance = self.chance
        act: Callable[[], None] = chance.choice(
            [
                self._jump,
                self._jump,
                self._freeze_a_plane,
                self._take_over_and_stop,
                lambda: self._crash(chance.choice(self.planes).host),
                lambda: chance.choice(self.planes).stop(),
                lambda: self._crash(chance.choice(self.boxes).host),
                lambda: self._freeze(chance.choice(self.boxes).host, chance.uniform(1.0, 20.0)),
                self._cut,
                self._fill,
                self._blow,
            ]
        )
        act()
        self.timeline.after(chance.expovariate(1 / 4.0), self._disturb)

    def _jump(self) -> None:
        host = self.chance.choice(self.planes).host
        host.skew += self.chance.choice((-1, 1)) * self.chance.choice((0.5, 5.0, 60.0, 3600.0))
        self._fastest = max(self._fastest, host.skew)
        self._saw("clock jump", host, f"its clock is {host.skew:+g} s wrong")

    def _crash(self, host: Host) -> None:
        # What is frozen crashes where it stands once it wakes; killed or not makes no difference.
        if host.up and not host.frozen:
            self._saw("crash", host, "crashes")
            host.crash()

    def _freeze(self, host: Host, seconds: float) -> None:
        if host.up and not host.frozen:
            self._saw("freeze", host, f"is frozen for {seconds:.1f} s")
            host.frozen_until = self.timeline.now + seconds

    def _freeze_a_plane(self) -> None:
        plane = self.chance.choice(self.planes)
        seconds = self.chance.choice((2.0, 12.0, 45.0))
        self._freeze(plane.host, seconds)
        self._drop_session(plane, seconds)

    def _take_over_and_stop(self) -> None:
        """Another one takes over from a frozen one, and has stopped when that wakes."""
        for first, second in (self.planes, self.planes[::-1]):
            if first.listening and not first.host.frozen:
                self._freeze(first.host, 40.0)
                self._drop_session(first, 40.0)
                self.timeline.after(39.5, second.stop)
                return

    def _drop_session(self, plane: ControlPlane, seconds: float) -> None:
        """After some seconds the database ends the session of a process that says nothing."""
        store = plane.store
        if store is not None and seconds > 5.0:
            self.timeline.after(4.0, store.cut)

    def _cut_session(self, plane: ControlPlane) -> None:
        if plane.store is not None:
            plane.store.cut()

    def _cut(self) -> None:
        host = self.chance.choice(self._parts).host
        self._saw("cut", host, "is cut off")
        self.network.cut.add(host.name)
        seconds = self.chance.uniform(1.0, 15.0)
        self.timeline.after(seconds, lambda: self.network.cut.discard(host.name))

    def _fill(self) -> None:
        box = self.chance.choice(self.boxes)
        self._saw("full disk", box.host, "has a full disk")
        box.disk.full = True
        self.timeline.after(self.chance.uniform(0.5, 20.0), lambda: self._free(box))

    def _free(self, box: Supervisor) -> None:
        box.disk.full = False

    def _saw(self, fault: str, host: Host, what: str) -> None:
        self.seen.add(fault)
        self.timeline.tell(host.name, what)

    # ── named points ────────────────────────────────────────────────────

    def _plane_point(self, plane: ControlPlane, name: str) -> None:
        if not self.storm:
            return
        for fault in self.database.faults[name]:
            if not self.timeline.chance(self._faults[fault]):
                continue
            if fault == "freeze" and (self._freezing or plane.sequencer is None):
                continue
            self._saw(f"{fault} {name}", plane.host, f"{fault} {name}")
            match fault:
                case "crash":
                    raise Crashed
                case "busy":
                    raise DatabaseBusy("the connection was lost")
                case "unknown":
                    raise CommitUnknown("the connection was lost during the commit")
                case "lost":
                    self._cut_session(plane)
                case _:
                    if name == "before commit":
                        self._cut_session(plane)
                    self._freeze_here(plane)

    def _freeze_here(self, plane: ControlPlane) -> None:
        """The process stands still in the middle of a step, and the world goes on without it."""
        seconds = self.chance.choice((2.0, 8.0, 40.0))
        wakes = self.timeline.now + seconds
        # What waits for it to wake comes a moment later, when the step has gone on.
        plane.host.frozen_until = wakes + 0.001
        self._drop_session(plane, seconds)
        self._freezing = True
        try:
            self.timeline.run_until(wakes)
        finally:
            self._freezing = False
        plane.host.frozen_until = wakes
        self.timeline.tell(plane.host.name, "wakes up")

    def _box_point(self, name: str) -> None:
        if self.storm and self.timeline.chance(self._box_faults):
            self.seen.add(f"crash {name}")
            self.timeline.tell("world", f"a supervisor crashes: {name}")
            raise Crashed


#: Points that only one of the casts comes to.
_ONLY: Final = {"graph recorded": "workflows", "sent": "charts", "delivered": "charts"}


def all_faults(of_store: Faults, cast: str = "workflows") -> set[str]:
    """Every fault that a run can see."""
    points = {point: of for point, of in of_store.items() if _ONLY.get(point, cast) == cast}
    return {
        *(f"{fault} {point}" for point, faults in points.items() for fault in faults),
        *(f"crash {point}" for point in supervisors.POINTS),
        "clock jump", "crash", "freeze", "cut", "full disk", *LOGGED.values(),
        "lost", "doubled", "late request", "late answer", "answer lost", "unnoticed",
    }  # fmt: skip


@contextmanager
def _logs_in(timeline: Timeline) -> Iterator[LogToTrace]:
    """The control planes' logs go into the trace, and nowhere else."""
    log = LogToTrace(timeline.tell)
    loggers = [logging.getLogger(name) for name in ("stateous.serve", "stateous.engine")]
    before = [(each.propagate, each.level) for each in loggers]
    for each in loggers:
        each.addHandler(log)
        each.propagate = False
        each.setLevel(logging.INFO)
    try:
        yield log
    finally:
        for each, (propagate, level) in zip(loggers, before, strict=True):
            each.removeHandler(log)
            each.propagate = propagate
            each.setLevel(level)


def simulate(seed: int, new_database: New = in_memory, cast: str = "workflows") -> Outcome:
    """Run the simulation of ``seed`` over a database that ``new_database`` makes."""
    with new_database() as database:
        return _simulated(World(seed, database, cast))


def _simulated(world: World) -> Outcome:
    violation = None
    with _logs_in(world.timeline) as log:
        try:
            world.run()
        except Violation as broken:
            violation = str(broken)
            world.timeline.tell("witness", violation)
        except Exception:
            violation = traceback.format_exc()
            world.timeline.tell("world", violation)
    if log.defects and violation is None:
        violation = log.defects[0]
    return Outcome(
        world.seed,
        violation,
        world.timeline.trace,
        seen=world.seen | world.network.seen | log.seen,
        store=world.database.name,
        faults=world.database.faults,
        cast=world.cast,
    )
