"""Many tokens to their end while supervisors and the control plane die, and one is cut off.

What is random is drawn from a seed that a failure shows; STATEOUS_CHAOS_SEED sets it. `make soak` makes
everything many times longer, on both databases.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from stateous_client import Client, Unavailable, Unreachable
from tests.support.databases import ServedDatabase, SqliteFile, holder_of
from tests.support.graphs import graph
from tests.support.nursery import Nursery, Supervised, nursery
from tests.support.processes import ControlPlane, eventually, run_stateous
from tests.support.proxy import Proxy, proxy
from tests.support.served import free_port
from tests.support.soak import SOAK

SEED = int(os.environ.get("STATEOUS_CHAOS_SEED", random.randrange(10**6)))

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(170 * SOAK)]

SUPERVISORS = 4
LEASE = 4
CUT = LEASE + 2.0

FLOW = """
    START -> load
    load -> haul on loaded
    haul -> unload on hauled
    unload -> END on unloaded
"""
ROUTINES = '''
"""Each state says the same: a note and a memory write, some work, and the event."""
import asyncio
import random
import time

from contract import events, states
from stateous import on_state


def say(ctx, state):
    ctx.note(f"{state} {ctx.attempt}")
    ctx.memory["attempt"] = ctx.attempt
    return random.uniform(0.0, 0.1)


@on_state(states.load)
def load(ctx):
    time.sleep(say(ctx, "load"))
    return events.loaded()


@on_state(states.haul)
async def haul(ctx):
    await asyncio.sleep(say(ctx, "haul"))
    return events.hauled()


@on_state(states.unload)
def unload(ctx):
    time.sleep(say(ctx, "unload"))
    return events.unloaded()
'''


@dataclass(frozen=True)
class Profile:
    """How much happens."""

    tokens: int
    plane_deaths: int
    cuts: int


#: On Postgres CI has a short one: what differs there is what a dead control plane leaves behind.
PROFILES = {"sqlite": Profile(200, 5, 1), "postgres": Profile(80, 2, 0)}
LONG = Profile(200 * SOAK, 5 * SOAK, SOAK)


def test_all_tokens_end_and_no_task_is_done_twice(database: ServedDatabase, tmp_path: Path) -> None:
    profile = PROFILES[database.kind] if SOAK == 1 else LONG
    chance = random.Random(SEED)
    print(f"STATEOUS_CHAOS_SEED={SEED}")
    file = tmp_path / "graph.json"
    states = {state: {"retries": 1000} for state in ("load", "haul", "unload")}
    file.write_text(json.dumps(graph(FLOW, workflow="haulage", states=states)))
    tokens = [f"T-{number}" for number in range(profile.tokens)]
    with ExitStack() as stack:
        plane = Plane(file, database, tmp_path, free_port())
        stack.callback(plane.kill)
        client = stack.enter_context(Client(plane.url))
        cable = stack.enter_context(proxy(plane.port))
        home = stack.enter_context(nursery(tmp_path))
        crew = [
            Worker(home, folder(file, tmp_path / f"box-{number}", url))
            for number, url in enumerate(
                [f"http://127.0.0.1:{cable.port}"] + [plane.url] * (SUPERVISORS - 1)
            )
        ]
        calamities = [
            lambda: start_all(plane.url, tokens),
            lambda: kill_planes(plane, profile.plane_deaths, random.Random(SEED + 1)),
            lambda: cut_off(cable, profile.cuts),
        ]
        over = threading.Event()
        with Together() as together:
            together.begin(lambda: kill_supervisors(crew, chance, over))
            try:
                with Together() as others:
                    for calamity in calamities:
                        others.begin(calamity)
            finally:
                over.set()
        for token in tokens:
            assert client.wait(token, timeout=90)["status"] == "completed"
        for token in tokens:
            check_history(client.history(token))
        for worker in crew:
            worker.process.says("serves haul, load, unload")
            assert worker.process.stop() == 0, worker.process.said
        assert plane.process.stop() == 0, plane.process.said
    nothing_is_left(database, crew, plane)


class Plane:
    """A control plane that is started again on the same port and database."""

    def __init__(self, file: Path, database: ServedDatabase, home: Path, port: int) -> None:
        self._file = file
        self._database = database
        self._home = home
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.pids: list[int] = []
        self.start()

    def start(self) -> None:
        self.process = ControlPlane(
            self._file,
            self._database.url,
            "--lease",
            f"{LEASE}s",
            cwd=self._home,
            port=self.port,
        )
        self.pids.append(self.process.pid)

    def kill(self) -> None:
        self.process.kill()


class Worker:
    """A supervisor that is started again on the same folder."""

    def __init__(self, home: Nursery, folder: Path) -> None:
        self.folder = folder
        self._home = home
        self.pids: list[int] = []
        self.process: Supervised
        self.start()

    def start(self) -> None:
        self.process = self._home.start(self.folder)
        self.pids.append(self.process.pid)


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


def folder(file: Path, made: Path, url: str) -> Path:
    done = run_stateous("init", "supervisor", str(file), str(made))
    assert done.returncode == 0, done.stderr
    for stub in made.glob("*.py"):
        if stub.name != "contract.py":
            stub.unlink()
    (made / "work.py").write_text(ROUTINES)
    (made / "stateous.yaml").write_text(f'url: "{url}"\ntasks: 4\nname: {made.name}\n')
    return made


# What happens


def start_all(url: str, tokens: list[str]) -> None:
    # Spread over the time of the calamities, so that each meets tokens in all states.
    with Client(url, retries=0) as client:
        for token in tokens:
            until_answered(lambda token=token: client.start(token))
            time.sleep(0.06)


def until_answered(call: Callable[[], object]) -> None:
    while True:
        try:
            call()
            return
        except (Unreachable, Unavailable):
            time.sleep(0.02)


def kill_planes(plane: Plane, deaths: int, chance: random.Random) -> None:
    for _ in range(deaths):
        time.sleep(chance.uniform(1.0, 3.0))
        plane.kill()
        time.sleep(chance.uniform(0.0, 0.5))
        plane.start()


def kill_supervisors(crew: list[Worker], chance: random.Random, over: threading.Event) -> None:
    while not over.wait(chance.uniform(0.2, 1.5)):
        worker = chance.choice(crew)
        worker.process.kill()
        over.wait(chance.uniform(0.0, 0.5))
        worker.start()


def cut_off(cable: Proxy, times: int) -> None:
    for _ in range(times):
        time.sleep(2.0)
        cable.cut()
        time.sleep(CUT)
        cable.mend()


# What is to be found afterwards


def check_history(history: list[dict]) -> None:
    events = [it["data"]["event"] for it in history if it["kind"] == "event_accepted"]
    assert events == ["__started__", "loaded", "hauled", "unloaded"], history
    done = Counter(it["data"]["task"] for it in history if it["kind"] == "task_done")
    assert len(done) == 3, history
    assert set(done.values()) == {1}, history
    notes = Counter(it["data"]["text"] for it in history if it["kind"] == "note")
    assert not notes or max(notes.values()) == 1, history
    ended: set[int] = set()
    attempts: Counter[int] = Counter()
    for entry in history:
        data = entry["data"]
        if entry["kind"] == "task_claimed":
            attempts[data["task"]] += 1
            assert data["attempt"] == attempts[data["task"]], history
        elif entry["kind"] == "task_done":
            ended.add(data["task"])
        if entry["kind"] in ("task_claimed", "task_failed", "note"):
            assert data["task"] not in ended, history


def nothing_is_left(database: ServedDatabase, crew: list[Worker], plane: Plane) -> None:
    for worker in crew:
        assert [it.name for it in (worker.folder / ".stateous").iterdir()] == ["outbox.db"]
        with closing(sqlite3.connect(worker.folder / ".stateous" / "outbox.db")) as outbox:
            outbox.execute("BEGIN EXCLUSIVE")
            assert outbox.execute("SELECT count(*) FROM messages").fetchall() == [(0,)]
            outbox.rollback()
    assert holder_of(database) is None
    assert database.has_free_lock()
    if isinstance(database, SqliteFile):
        # The lock is the operating system's; its file stays, as the ticket key does.
        files = sorted(it.name for it in database.file.parent.glob("plane.db*"))
        assert files == ["plane.db", "plane.db.key", "plane.db.lock"]
    for pid in [*plane.pids, *(pid for worker in crew for pid in worker.pids)]:
        eventually(lambda pid=pid: not is_alive(pid))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
