"""The process that scripts' processes are forked from: small, clean, and never running a script.

It has no environment and no open files but the control socket and stderr, and has loaded the script
engine, so that a fork is ready at once. It stands in a session of its own and ignores the signals that
ask for an end: its scripts are the runner's to stop. It ends with the runner, however that ends: the
control socket closes then, and it kills all that it has forked.

The protocol over the control socket:

* The runner sends **commands** of five bytes, a letter and a number. ``F``, with an end of a socket
  beside it: fork a process that is known by this number, and that gets its job over this socket.
  ``K``: kill the process.
* The server sends **records** of nine bytes, a letter and two numbers. ``S``, once it is ready; the
  second number is 1 when the system calls of scripts are filtered. ``X``: the process of the first
  number has ended; the second is the signal that ended it, or 0.

A process is known by its number until it is reaped, so a kill never meets another one.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from stateous_supervisor.scripts import confinement
from stateous_supervisor.scripts.child import live
from stateous_supervisor.scripts.records import COMMAND, EXITED, FORK, KILL, RECORD, STARTED


def main(descriptor: int) -> None:
    """Serve over the control socket ``descriptor`` until the runner closes its end."""
    _set_apart()
    with socket.socket(fileno=descriptor) as control:
        control.sendall(RECORD.pack(STARTED, 0, _filters()))
        server = _ForkServer(control)
        try:
            server.serve()
        except OSError:
            pass  # the runner is gone
        finally:
            server.kill_all()


class _ForkServer:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._prelude = Path(__file__).with_name("prelude.js").read_text("utf-8")
        self._here = os.getpid()
        self._numbers: dict[int, int] = {}
        self._ended, wake = _wakes_at_ends()
        self._wake = wake
        gc.freeze()

    def serve(self) -> None:
        while True:
            ready, _, _ = select.select([self._control, self._ended], [], [])
            if self._ended in ready:
                with contextlib.suppress(BlockingIOError):
                    self._ended.recv(4096)
                for number, by in self._reaped():
                    self._control.sendall(RECORD.pack(EXITED, number, by))
            if self._control in ready and not self._obey():
                return

    def kill_all(self) -> None:
        # Nobody waits for these ends: the sockets that they would wake are closed by then.
        signal.set_wakeup_fd(-1)
        for child in self._numbers:
            os.kill(child, signal.SIGKILL)

    def _obey(self) -> bool:
        command, descriptors, _, _ = socket.recv_fds(self._control, COMMAND.size, 1)
        if len(command) < COMMAND.size:
            return False
        kind, number = COMMAND.unpack(command)
        if kind == FORK:
            self._fork(number, descriptors)
        elif kind == KILL:
            for child, its in self._numbers.items():
                if its == number:
                    os.kill(child, signal.SIGKILL)
        return True

    def _fork(self, number: int, descriptors: list[int]) -> None:
        if not descriptors:  # no room for one more, just now
            return self._control.sendall(RECORD.pack(EXITED, number, 0))
        (descriptor,) = descriptors
        try:
            child = os.fork()
        except OSError:  # no room for one more process, just now
            self._control.sendall(RECORD.pack(EXITED, number, 0))
        else:
            if child == 0:
                signal.set_wakeup_fd(-1)
                live(descriptor, self._here, self._prelude)
            self._numbers[child] = number
        return os.close(descriptor)

    def _reaped(self) -> Iterator[tuple[int, int]]:
        """The processes that have ended: their numbers, and by which signal."""
        while self._numbers:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            yield self._numbers.pop(child), os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _set_apart() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Where this computer stands is none of a script's affair: its clock is UTC's.
    os.environ["TZ"] = "UTC0"
    time.tzset()
    os.environ.clear()


def _wakes_at_ends() -> tuple[socket.socket, socket.socket]:
    woken, wake = socket.socketpair()
    woken.setblocking(False)
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken, wake


def _filters() -> bool:
    """Whether this system filters calls, found out by a process that has itself filtered."""
    child = os.fork()
    if child == 0:
        os._exit(0 if confinement.filter_calls() else 1)
    return os.waitpid(child, 0)[1] == 0
