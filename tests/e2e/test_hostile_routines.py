"""Whatever a routine does to its process, it harms its own task only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.databases import ServedDatabase
from tests.support.graphs import graph
from tests.support.processes import control_plane, environment, eventually, run_stateous

pytestmark = pytest.mark.e2e

LEASE = 4
HEAD = """
import asyncio, ctypes, multiprocessing, os, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from contract import events, states
from stateous import on_state


def beside(work):
    '''Run it in a child that multiprocessing forks.'''
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    return child.exitcode
"""

#: By state: how the routine begins, what it does after its note, and the first attempt's error.
#: None: it ends well.
HOSTILE: dict[str, tuple[str, str, str | None]] = {
    "raises": ("def", "raise ValueError('boom')", "ValueError: boom"),
    "raises_async": ("async def", "raise ValueError('boom')", "ValueError: boom"),
    "raises_base": ("def", "raise BaseException('deep')", "BaseException: deep"),
    "exits": ("def", "sys.exit(3)", "SystemExit: 3"),
    "exits_async": ("async def", "sys.exit(3)", "SystemExit: 3"),
    "interrupts": ("async def", "raise KeyboardInterrupt", "KeyboardInterrupt"),
    "raises_much": ("def", "raise ValueError('x' * 50_000_000)", "ValueError: xxx"),
    "recurses": ("def", "f = lambda: f()\nf()", "RecursionError: maximum recursion"),
    "returns_wrong": ("def", "return 5", "the routine of 'returns_wrong' returned 5;"),
    "returns_class": ("async def", "return events.done", "the routine of 'returns_class' returned"),
    "returns_coroutine": ("def", "return asyncio.sleep(0)", "is a def that returned a coroutine"),
    "prints": ("def", "for _ in range(1024): print('x' * 2**20)", None),
    "prints_async": ("async def", "for _ in range(64): print('x' * 2**20)", None),
    "forks": ("def", "os.fork()", None),
    "forks_async": ("async def", "os.fork()", None),
    "forks_and_waits": ("async def", "os.fork()\nawait asyncio.sleep(0.2)", None),
    "forks_and_exits": ("def", "if os.fork() == 0: sys.exit()", None),
    "forks_and_raises": ("async def", "if os.fork() == 0: raise ValueError('child')", None),
    "forks_and_notes": ("def", "if os.fork() == 0: ctx.note('from the child')", None),
    "forks_in_order": ("def", "assert beside(lambda: None) == 0", None),
    "forks_in_order_async": ("async def", "assert beside(lambda: None) == 0", None),
    "holds_the_gil": ("def", "ctypes.PyDLL(None).usleep(2_500_000)", None),
    "blocks_the_loop": ("async def", "time.sleep(2.5)", None),
    "stops_the_loop": ("async def", "asyncio.get_running_loop().stop()", None),
    "leaves_a_task": ("async def", "asyncio.create_task(asyncio.sleep(60))", None),
    "leaves_a_thread": (
        "def",
        "threading.Thread(target=time.sleep, args=(600,), daemon=False).start()",
        None,
    ),
    "leaves_a_pool": ("def", "ThreadPoolExecutor().submit(time.sleep, 600)", None),
    "never_returns": ("def", "time.sleep(600)", "-"),
}


@pytest.fixture(scope="module")
def site(
    module_database: ServedDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("hostile")
    file = home / "graph.json"
    file.write_text(json.dumps(hostile_graph()))
    with control_plane(file, module_database.url, "--lease", f"{LEASE}s", cwd=home) as served:
        plane, client = served
        yield Site(home, file, plane.url, client)


class Site:
    def __init__(self, home, file, url, client) -> None:
        self.client = client
        self.folder = home / "box"
        done = run_stateous("init", "supervisor", str(file), str(self.folder))
        assert done.returncode == 0, done.stderr
        for stub in self.folder.glob("*.py"):
            if stub.name != "contract.py":
                stub.unlink()
        (self.folder / "work.py").write_text(HEAD + "".join(map(routine, HOSTILE)))
        (self.folder / "stateous.yaml").write_text(f'url: "{url}"\ntasks: 30\nname: box\n')

    @contextmanager
    def supervisor(self) -> Iterator[subprocess.Popen]:
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "stateous_supervisor.command", str(self.folder)],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @property
    def log(self) -> Path:
        return self.folder.parent / "box.log"


def hostile_graph() -> dict:
    lines = []
    for state in HOSTILE:
        lines.append(f"START -> {state} if ctx['case'] == '{state}'")
        lines.append(f"{state} -> END on done")
    schema = {"type": "object", "properties": {"case": {"type": "string"}}}
    return graph("\n".join(lines), workflow="hostile", context="Case", schemas={"Case": schema})


def routine(state: str) -> str:
    head, body, _ = HOSTILE[state]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return (
        f"\n\n@on_state(states.{state})\n{head} {state}(ctx):\n    ctx.note('ran')\n{lines}"
        "    return events.done()\n"
    )


def test_a_hostile_routine_harms_its_own_task_only(site) -> None:
    for state in HOSTILE:
        site.client.start(state, {"case": state})
    finite = [state for state, (_, _, error) in HOSTILE.items() if error != "-"]
    with site.supervisor() as process:
        failures = []
        for state in finite:
            token = site.client.wait(state, timeout=60)
            history = site.client.history(state)
            expected = HOSTILE[state][2]
            notes = [it["data"]["text"] for it in history if it["kind"] == "note"]
            error = [it["data"]["error"] for it in history if it["kind"] == "task_failed"]
            right = (
                (token["status"] == "completed" and not error)
                if expected is None
                else (token["status"] == "failed" and len(error) == 1 and expected in error[0])
            )
            if not right or notes != ["ran"]:
                failures.append(f"{state}: {token['status']}, {notes}, {str(error)[:300]}")
        said = site.log.read_text()
        assert not failures, "\n".join(failures) + said[:10_000]
        assert process.poll() is None
        assert len(said) < 200_000, "a gigabyte is for nobody's log"
        # Lost leases would have been told by the ledger as a second claim.
        never = site.client.history("never_returns")
        assert [it["kind"] for it in never].count("task_claimed") == 1
        assert said.count("a process that a routine forked came back from the routine") == 6
        assert children_of(process.pid) == []
        process.terminate()
        eventually(
            lambda: "stopping: no new tasks; waiting for 1 routine(s)" in site.log.read_text()
        )
        began = time.monotonic()
        process.terminate()
        assert process.wait(30) == 1
        assert time.monotonic() - began < 15, "a thread that a routine left holds the process"
    said = site.log.read_text()
    assert "stopping now: cancelling 1 routine(s)" in said
    assert "this process does not end by itself, so it is ended" in said
    assert "was destroyed" not in said


def children_of(pid: int) -> list[str]:
    """The live processes that it began."""
    listed = subprocess.run(
        ["ps", "-o", "pid=,stat=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    return [line for line in listed if "Z" not in line]  # it need not wait for what it forked
