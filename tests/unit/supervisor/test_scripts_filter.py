"""What the filter of system calls lets through: its program, run by a small machine of the test."""

import errno

import pytest

from stateous_supervisor.scripts.syscalls import (
    ALLOW,
    ARCHITECTURES,
    KILL,
    REFUSE,
    filter_program,
    packed,
)

LOAD, JUMP_EQUAL, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06

# Of calls that nobody needs who computes: by name, their numbers on both architectures.
REFUSED = {
    "read": (0, 63),
    "openat": (257, 56),
    "socket": (41, 198),
    "connect": (42, 203),
    "sendto": (44, 206),
    "clone": (56, 220),
    "execve": (59, 221),
    "kill": (62, 129),
    "ptrace": (101, 117),
    "prctl": (157, 167),
    "unlinkat": (263, 35),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "dup": (32, 23),
    "process_vm_readv": (310, 270),
    "io_uring_setup": (425, 425),
    "memfd_create": (319, 279),
    "pidfd_open": (434, 434),
    "shmget": (29, 194),
    "setrlimit": (160, 164),
}
ALLOWED = {"futex", "exit_group", "brk", "munmap", "mremap", "clock_gettime", "rt_sigreturn"}


def decide(program, number, audit, *arguments):
    data = {0: number, 4: audit} | {16 + 8 * n: each for n, each in enumerate(arguments)}
    loaded, at = 0, 0
    while True:
        step = program[at]
        at += 1
        match step.code:
            case 0x20:
                loaded = data[step.operand] & 0xFFFFFFFF
            case 0x15:
                at += step.if_true if loaded == step.operand else step.if_false
            case 0x45:
                at += step.if_true if loaded & step.operand else step.if_false
            case 0x06:
                return step.operand
            case code:
                raise AssertionError(f"no such instruction: {code:#x}")


@pytest.fixture(params=enumerate(ARCHITECTURES), ids=list(ARCHITECTURES))
def machine(request):
    index, name = request.param
    architecture = ARCHITECTURES[name]
    program = filter_program(architecture, 0)

    def call(number, *arguments, audit=architecture.audit):
        if isinstance(number, str):
            number = architecture.numbers[number]
        return decide(program, number, audit, *arguments, *[0] * (6 - len(arguments)))

    call.index = index
    return call


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_what_computing_needs(machine, name):
    assert machine(name, 1, 2, 3) == ALLOW


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_computing_does_not_need(machine, name):
    assert machine(REFUSED[name][machine.index]) == REFUSE
    assert REFUSE & 0xFFFF == errno.EPERM


def test_only_the_answers_are_written(machine):
    assert machine("write", 0, 0x7000, 5) == ALLOW
    assert machine("write", 1) == REFUSE
    assert machine("write", 2) == REFUSE
    # The kernel takes the low half of a descriptor.
    assert machine("write", 1 << 32) == ALLOW


@pytest.mark.parametrize("name", ["mmap", "mprotect"])
def test_memory_is_never_executable(machine, name):
    assert machine(name, 0, 4096, 0b011) == ALLOW
    for protection in (0b100, 0b101, 0b111):
        assert machine(name, 0, 4096, protection) == REFUSE


def test_the_numbers_of_another_architecture_kill(machine):
    assert machine("futex", audit=0x40000003) == KILL
    # Numbers of the x32 ABI, which has the architecture of x86-64.
    assert machine(0x40000000 + 1, 0) == REFUSE


def test_the_program_is_packed_as_the_kernel_has_it():
    program = filter_program(ARCHITECTURES["x86_64"], 0)
    text = packed(program)

    assert len(text) == 8 * len(program)
    assert text[:8] == bytes([LOAD, 0, 0, 0, 4, 0, 0, 0])
    assert text[8:16] == bytes([JUMP_EQUAL, 0, 1, 0]) + (0xC000003E).to_bytes(4, "little")
    assert len(program) < 4096


def test_both_architectures_let_the_same_calls_through():
    names = [set(architecture.numbers) for architecture in ARCHITECTURES.values()]

    assert names[0] == names[1]
