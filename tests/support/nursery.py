"""Supervisors as real processes that start in milliseconds: forked from one that has imported all.

The tests that kill hundreds of supervisors would spend their time on imports otherwise. The nursery
is a process without threads that forks at each line on its stdin, and tells on stdout which child
has begun or ended. When its stdin closes, for whatever reason, it kills what is left and ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.processes import DEADLINE, environment, eventually


class Supervised:
    """One supervisor's process. What it says is in ``log``."""

    def __init__(self, nursery: Nursery, pid: int, log: Path) -> None:
        self._nursery = nursery
        self.pid = pid
        self.log = log

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def says(self, text: str) -> None:
        """Wait until ``text`` stands in what it says."""
        eventually(lambda: text in self.said)

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        self.ended()

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        self.signal(signal.SIGTERM)
        return self.ended()

    def ended(self, within: float = DEADLINE) -> int:
        """Wait for its end: its exit code, or the negative number of the signal that ended it."""
        return self._nursery.code_of(self, within)


class Nursery:
    """The process that forks them. Its methods may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.nursery"],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._born: dict[str, int] = {}
        self._codes: dict[int, int] = {}
        self._changed = threading.Condition()
        self._count = 0
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def start(self, folder: Path, *, crash_at: str | None = None) -> Supervised:
        """A supervisor of ``folder``, begun."""
        with self._changed:
            self._count += 1
            log = self._folder / f"supervisor-{self._count}.log"
            line = {"folder": str(folder), "log": str(log), "crash_at": crash_at}
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()
            assert self._changed.wait_for(lambda: str(log) in self._born, DEADLINE)
            return Supervised(self, self._born[str(log)], log)

    def code_of(self, child: Supervised, within: float) -> int:
        with self._changed:
            ended = self._changed.wait_for(lambda: child.pid in self._codes, within)
            assert ended, f"it has not ended within {within} s: {child.said}"
            return self._codes[child.pid]

    def close(self) -> None:
        """Kill what is left."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(DEADLINE)
        self._reader.join()
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told: dict[str, Any] = json.loads(line)
            with self._changed:
                if "log" in told:
                    self._born[told["log"]] = told["pid"]
                else:
                    self._codes[told["pid"]] = told["code"]
                self._changed.notify_all()


@contextlib.contextmanager
def nursery(folder: Path) -> Iterator[Nursery]:
    """A nursery whose supervisors log into ``folder``, and are gone when the block ends."""
    made = Nursery(folder)
    try:
        yield made
    finally:
        made.close()


def _serve() -> None:
    import stateous_client.http  # noqa: F401 what a supervisor imports on its way
    from stateous_supervisor.command import main

    children: set[int] = set()
    buffer = b""
    try:
        while True:
            ready, _, _ = select.select([0], [], [], 0.02)
            if ready:
                read = os.read(0, 65536)
                if not read:
                    return
                *lines, buffer = (buffer + read).split(b"\n")
                for line in lines:
                    children.add(_fork(json.loads(line), main))
            for child in tuple(children):
                pid, status = os.waitpid(child, os.WNOHANG)
                if pid:
                    children.discard(pid)
                    _tell(pid=pid, code=os.waitstatus_to_exitcode(status))
    finally:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _fork(asked: dict[str, Any], main: Any) -> int:
    pid = os.fork()
    if pid:
        _tell(pid=pid, log=asked["log"])
        return pid
    code = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for number, target in ((0, null), (1, log), (2, log)):
            os.dup2(target, number)
        if asked["crash_at"]:
            os.environ["STATEOUS_CRASH_AT"] = asked["crash_at"]
        code = main([asked["folder"]])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _tell(**told: Any) -> None:
    os.write(1, (json.dumps(told) + "\n").encode())


if __name__ == "__main__":
    _serve()
