"""A system-call filter for a process that computes and writes to one descriptor (Linux; pure).

The program is classic BPF, as `prctl(PR_SET_SECCOMP)` takes it. What is not listed fails with EPERM:
nothing can be opened, connected, started, signalled or made executable. A process that calls by the
numbers of another architecture is killed.

Refused, not killed: what a C library or interpreter of another version calls beside the work, it can
do without, and a script must not fail for that.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_ANY_BIT: Final = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K

ALLOW: Final = 0x7FFF0000
REFUSE: Final = 0x00050000 | 1  # SECCOMP_RET_ERRNO | EPERM
KILL: Final = 0x80000000  # SECCOMP_RET_KILL_PROCESS

# Of `struct seccomp_data`, all but the number and the architecture: the low half of an argument.
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4


def _argument(index: int) -> int:
    return 16 + 8 * index


_PROT_EXEC: Final = 4


@dataclass(frozen=True, slots=True)
class Architecture:
    """What an architecture calls itself in a filter, and the numbers of its calls, by name."""

    audit: int
    numbers: Mapping[str, int]


#: By what `uname -m` says. The numbers of Linux never change.
ARCHITECTURES: Final[Mapping[str, Architecture]] = {
    "x86_64": Architecture(
        0xC000003E,
        {
            "write": 1,
            "mmap": 9,
            "mprotect": 10,
            "munmap": 11,
            "brk": 12,
            "rt_sigprocmask": 14,
            "rt_sigreturn": 15,
            "sched_yield": 24,
            "mremap": 25,
            "madvise": 28,
            "exit": 60,
            "gettimeofday": 96,
            "futex": 202,
            "clock_gettime": 228,
            "exit_group": 231,
            "getrandom": 318,
        },
    ),
    "aarch64": Architecture(
        0xC00000B7,
        {
            "write": 64,
            "exit": 93,
            "exit_group": 94,
            "futex": 98,
            "clock_gettime": 113,
            "sched_yield": 124,
            "rt_sigprocmask": 135,
            "rt_sigreturn": 139,
            "gettimeofday": 169,
            "brk": 214,
            "munmap": 215,
            "mremap": 216,
            "mmap": 222,
            "mprotect": 226,
            "madvise": 233,
            "getrandom": 278,
        },
    ),
}

#: Memory may be had, but not to run code in: these are refused when they ask for that.
_NOT_EXECUTABLE: Final = ("mmap", "mprotect")
_WRITE: Final = "write"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. The jumps say how many of those that follow are left out."""

    code: int
    operand: int
    if_true: int = 0
    if_false: int = 0


def filter_program(architecture: Architecture, descriptor: int) -> tuple[Instruction, ...]:
    """The filter of a process that may write to ``descriptor`` only."""
    numbers = architecture.numbers
    program = [
        Instruction(_LOAD, _ARCHITECTURE),
        Instruction(_JUMP_EQUAL, architecture.audit, if_true=1),
        Instruction(_RETURN, KILL),
        Instruction(_LOAD, _NUMBER),
    ]
    for name in sorted(numbers.keys() - {_WRITE, *_NOT_EXECUTABLE}):
        program += _when_called(numbers[name], [Instruction(_RETURN, ALLOW)])
    program += _when_called(
        numbers[_WRITE],
        [
            Instruction(_LOAD, _argument(0)),
            Instruction(_JUMP_EQUAL, descriptor, if_false=1),
            Instruction(_RETURN, ALLOW),
            Instruction(_RETURN, REFUSE),
        ],
    )
    for name in _NOT_EXECUTABLE:
        program += _when_called(
            numbers[name],
            [
                Instruction(_LOAD, _argument(2)),
                Instruction(_JUMP_ANY_BIT, _PROT_EXEC, if_true=1),
                Instruction(_RETURN, ALLOW),
                Instruction(_RETURN, REFUSE),
            ],
        )
    return (*program, Instruction(_RETURN, REFUSE))


def packed(program: Sequence[Instruction]) -> bytes:
    """The program as an array of `struct sock_filter`."""
    return b"".join(
        struct.pack("=HBBI", each.code, each.if_true, each.if_false, each.operand)
        for each in program
    )


def _when_called(number: int, then: list[Instruction]) -> list[Instruction]:
    return [Instruction(_JUMP_EQUAL, number, if_false=len(then)), *then]
