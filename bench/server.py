"""Processes under load, each pinned to a core: control planes, supervisors, the bare route."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.machine import pin

#: How many routines a supervisor may run at once.
TASKS: Final = 16

_SECONDS_TO_START: Final = 60.0
#: Characters of a log that an error shows.
_SHOWN: Final = 3000
_SECONDS_TO_STOP: Final = 20.0
_SERVING: Final = re.compile(r"^serving on http://127\.0\.0\.1:(\d+)", re.MULTILINE)


class ServerFailed(Exception):
    """A process did not start, or ended with an error; the text shows what it said."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers."""

    process: int
    port: int


@contextmanager
def control_plane(graph: Path, url: str, folder: Path, core: int | None) -> Iterator[RunningServer]:
    """`stateous serve` on a free port; ``folder`` takes what it says."""
    command = [
        *(sys.executable, "-m", "stateous_cli", "serve", str(graph)),
        *("--db", url, "--listen", "127.0.0.1:0"),
    ]
    with _running(command, folder / "control-plane.log", core) as server:
        yield server


@contextmanager
def bare_route(folder: Path, core: int | None) -> Iterator[RunningServer]:
    """A FastAPI app with one constant route (:mod:`bench.bare`), to compare with."""
    command = [sys.executable, "-m", "bench.bare"]
    with _running(command, folder / "bare-route.log", core) as server:
        yield server


@contextmanager
def supervisor(folder: Path, url: str, core: int | None) -> Iterator[int]:
    """`stateous-supervise` on a folder, with 16 tasks: its process id."""
    command = [
        *(sys.executable, "-m", "stateous_supervisor.command", str(folder)),
        *("--url", url, "--tasks", str(TASKS)),
    ]
    with _process(command, folder / "supervisor.log", core) as process:
        yield process.pid


@contextmanager
def _running(command: Sequence[str], log: Path, core: int | None) -> Iterator[RunningServer]:
    with _process(command, log, core) as process:
        yield RunningServer(process.pid, _port_of(process, log))


@contextmanager
def _process(
    command: Sequence[str], log: Path, core: int | None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has to live as long as the block, and to stop with exit code 0."""
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        pin(process.pid, core)
        try:
            yield process
        except BaseException as error:
            error.add_note(f"{log.stem} said:\n{_said(log)}")
            raise
        if process.poll() is not None:
            raise _failed(process, log)
    finally:
        _stop(process)
    if process.returncode != 0:
        raise _failed(process, log)


def _port_of(process: subprocess.Popen[bytes], log: Path) -> int:
    """The port, once the server has said that it serves."""
    deadline = time.monotonic() + _SECONDS_TO_START
    while process.poll() is None and time.monotonic() < deadline:
        found = _SERVING.search(log.read_text(errors="replace"))
        if found is not None:
            return int(found[1])
        time.sleep(0.02)
    raise _failed(process, log)


def _failed(process: subprocess.Popen[bytes], log: Path) -> ServerFailed:
    ended = "did not start" if process.returncode is None else f"ended with {process.returncode}"
    return ServerFailed(f"{log.stem} {ended}:\n{_said(log)}")


def _said(log: Path) -> str:
    """The end of what a process said."""
    return log.read_text(errors="replace").strip()[-_SHOWN:]


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
