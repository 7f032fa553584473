"""What a running process asks of the kernel: the few calls that tell when an answer leaves.

A tracer by ptrace, in a thread of the test. It needs neither root nor a program, only Linux, a
processor whose call numbers are known here, and leave to trace a child; :func:`why_not` says what
is missing. Every thread of the process is stopped at each of its calls, so it runs slowly.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

_NUMBERS: Final[dict[str, dict[int, str]]] = {
    "x86_64": {
        0: "read",
        45: "read",
        47: "read",
        1: "write",
        20: "write",
        44: "write",
        46: "write",
        18: "write",
        74: "sync",
        75: "sync",
    },
    "aarch64": {
        63: "read",
        207: "read",
        212: "read",
        64: "write",
        66: "write",
        206: "write",
        211: "write",
        68: "write",
        82: "sync",
        83: "sync",
    },
}

_SYSCALL, _INTERRUPT, _SEIZE, _SYSCALL_INFO = 24, 0x4207, 0x4206, 0x420E
_TRACE_FORK, _TRACE_CLONE, _GOOD = 2, 8, 1
_EVENT_STOP = 128
# Of our tracees only, not of other children of the test; threads too.
_WALL, _NO_THREAD = 0x40000000, 0x20000000
_ENTRY, _EXIT = 1, 2


@dataclass(frozen=True)
class Call:
    """``begun``: the process asks; ``done``: the kernel has done it. ``on``: file or socket."""

    what: Literal["read", "write", "sync"]
    when: Literal["begun", "done"]
    on: str


class _Info(ctypes.Structure):
    _fields_ = (
        ("op", ctypes.c_uint8),
        ("_pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("ip", ctypes.c_uint64),
        ("sp", ctypes.c_uint64),
        # On entry the number and six arguments, on exit the result.
        ("values", ctypes.c_int64 * 8),
    )


_libc = ctypes.CDLL(None, use_errno=True)


def _ptrace(request: int, thread: int, address: int = 0, data: object = 0) -> None:
    _libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    _libc.ptrace.restype = ctypes.c_long
    if _libc.ptrace(request, thread, address, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def why_not() -> str | None:
    """Why nothing can be traced here; None: it can."""
    if sys.platform != "linux":
        return f"the kernel of {sys.platform} is not traced"
    if platform.machine() not in _NUMBERS:
        return f"the call numbers of {platform.machine()} are not known"
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", "input()"], os.environ)
    try:
        _ptrace(_SEIZE, child)
    except OSError as error:
        return f"no process may be traced here: {error.strerror}"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, _WALL)
    return None


@dataclass
class Trace:
    """The calls of a process, in their order. Complete once the block of :func:`traced` is over."""

    process: int
    calls: list[Call] = field(default_factory=list)
    _asked: dict[int, Call] = field(default_factory=dict)
    _ready: threading.Event = field(default_factory=threading.Event)
    _failed: list[BaseException] = field(default_factory=list)

    def follow(self) -> None:
        """Trace until the process has ended."""
        try:
            alive = self._seize()
            self._ready.set()
            while alive:
                thread, status = os.waitpid(-1, _WALL | _NO_THREAD)
                if os.WIFSTOPPED(status):
                    alive.add(thread)
                    self._go_on(thread, status)
                else:
                    alive.discard(thread)
        except BaseException as error:
            self._failed.append(error)
        finally:
            self._ready.set()

    def _seize(self) -> set[int]:
        threads, seized = Path(f"/proc/{self.process}/task"), set[int]()
        while new := {int(each.name) for each in threads.iterdir()} - seized:
            for thread in new:
                _ptrace(_SEIZE, thread, 0, _GOOD | _TRACE_CLONE | _TRACE_FORK)
                _ptrace(_INTERRUPT, thread)
            seized |= new
        return seized

    def _go_on(self, thread: int, status: int) -> None:
        stopped_by, event = os.WSTOPSIG(status), status >> 16
        deliver = 0
        if stopped_by == signal.SIGTRAP | 0x80:
            self._note(thread)
        elif event == 0 and stopped_by != signal.SIGTRAP:
            deliver = stopped_by
        # It may have been killed in between.
        with contextlib.suppress(ProcessLookupError):
            _ptrace(_SYSCALL, thread, 0, deliver)

    def _note(self, thread: int) -> None:
        info = _Info()
        with contextlib.suppress(ProcessLookupError):
            _ptrace(_SYSCALL_INFO, thread, ctypes.sizeof(info), ctypes.addressof(info))
        if info.op == _ENTRY:
            what = _NUMBERS[platform.machine()].get(info.values[0])
            if what is not None:
                call = Call(what, "begun", self._named(info.values[1]))  # type: ignore[arg-type]
                self._asked[thread] = call
                self.calls.append(call)
        elif info.op == _EXIT and (asked := self._asked.pop(thread, None)) is not None:
            result = info.values[0]
            if result > 0 or (result == 0 and asked.what == "sync"):
                self.calls.append(Call(asked.what, "done", asked.on))

    def _named(self, descriptor: int) -> str:
        with contextlib.suppress(OSError):
            return str(Path(f"/proc/{self.process}/fd/{descriptor}").readlink())
        return "closed"


@contextlib.contextmanager
def traced(process: int) -> Iterator[Trace]:
    """Trace a child while the block runs, which has to end it: nobody goes on with it untraced."""
    trace = Trace(process)
    tracer = threading.Thread(target=trace.follow, daemon=True)
    tracer.start()
    assert trace._ready.wait(30)
    try:
        yield trace
    except BaseException:
        os.kill(process, signal.SIGKILL)
        raise
    finally:
        tracer.join(30)
    assert not trace._failed, trace._failed
    assert not tracer.is_alive()
