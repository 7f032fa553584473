"""What a script's process gives up before it sees the script. Loaded in the children only.

All of it needs no rights, and each part stands alone: where a system lacks one, the others hold. What
holds everywhere is that the script's language has no way to ask for anything.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import signal
import sys
from typing import Final

from stateous_supervisor.scripts.syscalls import ARCHITECTURES, filter_program, packed

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_SECCOMP_MODE_FILTER: Final = 2

# What the interpreter and the engine need beside the script's memory: texts on their way out.
_ROOM: Final = 64 * 1024 * 1024
# Seconds of the processor, and of the clock, after which the system ends what nobody has ended.
_GRACE: Final = 10


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def leave_everything(descriptor: int, parent: int) -> None:
    """Keep ``descriptor`` as number 0, and nothing else; end with ``parent``, the process above."""
    os.dup2(descriptor, 0)
    os.closerange(1, _most_descriptors())
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
        _prctl(_PR_SET_DUMPABLE, 0)


def limit(memory: int, seconds: float) -> None:
    """Let the system hold the process to ``memory`` bytes for its script, and ``seconds``.

    The runner ends it when its time is over; this is for the time when there is no runner.
    """
    late = math.ceil(seconds) + _GRACE
    _at_most(resource.RLIMIT_CPU, late)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(late)
    used = _address_space()
    if used is not None:
        _at_most(resource.RLIMIT_AS, used + memory + _ROOM)
        _at_most(resource.RLIMIT_DATA, used + memory + _ROOM)
    for name in ("FSIZE", "CORE", "NPROC", "NOFILE", "MEMLOCK", "MSGQUEUE"):
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is not None:
            _at_most(number, 0)


def filter_calls() -> bool:
    """Have the kernel refuse every call but those to compute and to write to descriptor 0.

    False where that cannot be had: another system or processor, a kernel without filters.
    """
    architecture = ARCHITECTURES.get(os.uname().machine)
    if sys.platform != "linux" or architecture is None or sys.maxsize < 2**32:
        return False
    instructions = packed(filter_program(architecture, 0))
    program = _Program(len(instructions) // 8, instructions)
    # Without rights of its own a process may only filter when it can never get any.
    return _prctl(_PR_SET_NO_NEW_PRIVS, 1) and _prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program)
    )


def _prctl(option: int, first: int, second: int = 0) -> bool:
    number = ctypes.c_ulong
    done: int = ctypes.CDLL(None).prctl(
        ctypes.c_int(option), number(first), number(second), number(0), number(0)
    )
    return done == 0


def _at_most(number: int, most: int) -> None:
    # What is limited further already stays so, and what a system cannot limit it does not.
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(number)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (least, least))


def _address_space() -> int | None:
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 nothing more is loaded here
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None


def _most_descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 65_536 if soft == resource.RLIM_INFINITY else soft
