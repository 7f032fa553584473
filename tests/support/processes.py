"""Real processes for the end-to-end tests: a control plane, a supervisor, commands.

Every process is started in a group of its own and is gone when its block ends, whatever happened.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from stateous_client import Client

T = TypeVar("T")

STATEOUS = [sys.executable, "-m", "stateous_cli"]
DEADLINE = 30.0


def environment(**extra: str) -> dict[str, str]:
    """The environment of a test's processes: none of the product's own variables."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("STATEOUS_")}
    return {**plain, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", **extra}


def run_stateous(
    *words: str, cwd: Path | None = None, extra: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; ``extra`` are variables of its environment."""
    return subprocess.run(
        [*STATEOUS, *words],
        cwd=cwd,
        env=environment(**(extra or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def eventually(look: Callable[[], T | None], *, within: float = DEADLINE) -> T:
    """What ``look`` finds, as soon as it finds something; it is asked again and again."""
    end = time.monotonic() + within
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, f"it did not come within {within} s"
        time.sleep(0.02)


class Process:
    """A process that writes its stderr to a file, in ``log`` or where it runs."""

    def __init__(
        self,
        words: list[str],
        *,
        cwd: Path,
        name: str,
        extra: Mapping[str, str] | None = None,
        log: Path | None = None,
        command: Sequence[str | Path] = STATEOUS,
    ) -> None:
        self.log = (log or cwd) / f"{name}-{time.monotonic_ns()}.log"
        with self.log.open("wb") as stderr:
            self._process = subprocess.Popen(
                [*command, *words],
                cwd=cwd,
                env=environment(**(extra or {})),
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def said(self) -> str:
        """All that it has written so far."""
        return self.log.read_text(errors="replace")

    def says(self, text: str) -> str:
        """Wait until ``text`` stands in what it says; the line that holds it."""

        def line() -> str | None:
            found = next((each for each in self.said.splitlines() if text in each), None)
            if found is None:
                assert self._process.poll() is None, f"it ended: {self.said}"
            return found

        return eventually(line)

    def kill(self) -> None:
        """SIGKILL, to the whole group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(DEADLINE)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """A stop signal, and its exit code."""
        self._process.send_signal(number)
        return self.ended()

    def ended(self, within: float = DEADLINE) -> int:
        """Wait for its end; its exit code."""
        return self._process.wait(within)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)


class ControlPlane(Process):
    """`stateous serve` on a port of its own."""

    def __init__(
        self, graph: Path | None, db: str, *options: str, cwd: Path, port: int = 0
    ) -> None:
        words = ["serve", *([str(graph)] if graph else []), "--db", db]
        super().__init__([*words, "--listen", f"127.0.0.1:{port}", *options], cwd=cwd, name="serve")
        self.url = self.says("serving on ").split()[2]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])


@contextlib.contextmanager
def running(process: Process) -> Iterator[Process]:
    """Let ``process`` run, and make sure that it is gone afterwards."""
    try:
        yield process
    finally:
        process.kill()


@contextlib.contextmanager
def control_plane(
    graph: Path | None, db: str, *options: str, cwd: Path, port: int = 0
) -> Iterator[tuple[ControlPlane, Client]]:
    """A control plane, and a client of it."""
    process = ControlPlane(graph, db, *options, cwd=cwd, port=port)
    try:
        with Client(process.url) as client:
            yield process, client
    finally:
        process.kill()
