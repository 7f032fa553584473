"""Scripts in processes of their own: what they cannot do, and that nothing but they come to harm."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import stateous
import stateous_supervisor
from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.scripts import processes
from stateous_supervisor.scripts.answers import BadAnswer, Done, Emitted, Failed
from stateous_supervisor.scripts.processes import ProcessDied, ScriptProcesses

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")

LOOP = "for (;;);"
BEGUN = "emit('begun'); "


def job(source, given=None, **changes):
    return {
        "source": source,
        "input": json.dumps(given),
        "timeout": 60,
        "memory": 64 * 1024 * 1024,
        "value": 1024 * 1024,
        "emitted": 10_000,
    } | changes


@pytest.fixture
async def scripts():
    made = ScriptProcesses()
    await made.open()
    yield made
    await made.close()


async def answers(scripts, source, given=None, **changes):
    process = await scripts.take()
    async with contextlib.aclosing(process.run(job(source, given, **changes))) as run:
        return [answer async for answer in run]


async def last(scripts, source, given=None, **changes):
    return (await answers(scripts, source, given, **changes))[-1]


class Running:
    """A script that runs on: it has emitted a value, and goes on with what follows it."""

    def __init__(self, scripts, process, run):
        self.scripts = scripts
        self.process = process
        self.run = run

    @classmethod
    async def begin(cls, scripts, source=LOOP):
        process = await scripts.take()
        run = process.run(job(BEGUN + source))
        assert await anext(run) == Emitted("begun", None)
        return cls(scripts, process, run)

    @property
    def pid(self):
        running = [pid for pid in _children(self.scripts.server_pid) if _is_busy(pid)]
        (pid,) = running
        return pid

    @property
    def limits(self):
        """The soft limits, by name."""
        lines = Path(f"/proc/{self.pid}/limits").read_text().splitlines()[1:]
        return {line[:26].strip(): line[26:].split()[0] for line in lines}

    async def end(self):
        self.scripts.kill(self.process)
        with pytest.raises(ProcessDied) as died:
            await anext(self.run)
        return str(died.value)


def _children(pid):
    return [int(it) for it in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_busy(pid):
    return "\nSeccomp:\t2\n" in Path(f"/proc/{pid}/status").read_text()


async def test_a_script_is_answered(scripts):
    got = await answers(scripts, "emit('row', input); return [input, 1]", {"n": 1})

    assert got == [Emitted("row", {"n": 1}), Done([{"n": 1}, 1])]


async def test_scripts_run_beside_one_another(scripts):
    got = await asyncio.gather(*(last(scripts, "return input * 2", n) for n in range(12)))

    assert got == [Done(n * 2) for n in range(12)]


async def test_what_is_emitted_comes_while_the_script_runs(scripts):
    running = await Running.begin(scripts)

    assert await running.end() == "the script's process was ended by SIGKILL"


async def test_an_endless_loop_ends_when_it_is_killed_and_others_go_on(scripts):
    running = await Running.begin(scripts)
    assert await last(scripts, "return 'beside it'") == Done("beside it")
    before = time.monotonic()

    await running.end()

    assert time.monotonic() - before < 5
    assert await last(scripts, "return 'after it'") == Done("after it")


@pytest.mark.parametrize(
    "source",
    [
        "/(a+)+$/.test('a'.repeat(50) + 'b')",
        "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
        "try { for (;;); } finally { for (;;); }",
        "const again = () => queueMicrotask(again); again()",
        "const again = () => Promise.resolve().then(again); again()",
        "return { toJSON() { for (;;); } }",
        "throw { get message() { for (;;); } }",
        "return new Proxy({}, { ownKeys() { for (;;); } })",
        "'x'.repeat(1 << 25).replace(/x/g, () => { for (;;); })",
    ],
    ids=range(9),
)
async def test_whatever_does_not_end_is_killed(scripts, source):
    running = await Running.begin(scripts, source)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(_next(running.run))), 0.1)

    running.scripts.kill(running.process)
    await asyncio.sleep(0.05)
    assert await last(scripts, "return 1") == Done(1)


async def _next(run):
    with contextlib.suppress(ProcessDied):
        await anext(run)


@pytest.mark.parametrize(
    "source",
    [
        "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))",
        "const a = []; for (;;) a.push([a, a])",
        "const a = new Map(); for (;;) a.set(a.size, {})",
        "const a = []; for (;;) a.push(new SharedArrayBuffer(1 << 20))",
        "let s = 'x'; for (;;) s = s + s + Math.random()",
        "(function deep(n) { const a = new Array(1000).fill(n); deep(n + 1); return a })(0)",
        "(function deep() { deep() })()",
        "return 'x'.repeat(1 << 21)",
        "emit('x', 'x'.repeat(1 << 21))",
        "for (;;) emit('x', 1)",
    ],
    ids=range(11),
)
async def test_whatever_takes_too_much_fails_and_harms_nobody(scripts, source):
    assert isinstance(await last(scripts, f"\n{source}"), Failed)
    assert await last(scripts, "return 1") == Done(1)


async def test_ten_thousand_values_are_taken_and_the_next_one_fails(scripts):
    got = await answers(scripts, "for (let n = 1; n < 10001; n++) emit('x', n); return 'end'")
    assert [it.data for it in got[:-1]] == list(range(1, 10_001))
    assert got[-1] == Done("end")

    over = await answers(scripts, "for (let n = 1; n < 10002; n++)\n emit('x', n)")
    assert len(over) == 10_001
    assert over[-1] == Failed("failed", 2, "more than 10000 values were emitted")


async def test_outputs_of_a_mebibyte_are_taken(scripts):
    assert await last(scripts, "return 'x'.repeat(input)", 1_048_574) == Done("x" * 1_048_574)
    assert isinstance(await last(scripts, "return 'x'.repeat(input)", 1_048_575), Failed)


async def test_what_cannot_be_sent_is_told(scripts):
    with pytest.raises(BadAnswer, match="the output cannot be sent"):
        await answers(scripts, "return '\\0'")
    with pytest.raises(BadAnswer, match="an emitted value cannot be sent"):
        await answers(scripts, "let a = 1; for (let n = 0; n < 62; n++) a = [a]; emit('x', a)")


async def test_no_script_meets_another_one(scripts):
    for _ in range(6):
        got = await last(
            scripts,
            "const seen = [globalThis.left, Object.prototype.left, JSON.left];"
            "globalThis.left = Object.prototype.left = JSON.left = 1; return seen",
        )
        assert got == Done([None, None, None])


async def test_chance_differs_from_script_to_script(scripts):
    drawn = [await last(scripts, "return Math.random()") for _ in range(5)]

    assert len(set(map(repr, drawn))) == 5


async def test_where_the_computer_stands_is_no_affair_of_a_script(scripts, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")

    assert await last(scripts, "return new Date(2026, 5, 1).getTimezoneOffset()") == Done(0)


@on_linux
async def test_a_process_has_nothing(scripts, monkeypatch):
    monkeypatch.setenv("STATEOUS_SECRET", "s3cret")
    running = await Running.begin(scripts)
    proc = Path(f"/proc/{running.pid}")
    status = dict(
        line.split(":\t", 1) for line in (proc / "status").read_text().splitlines() if ":\t" in line
    )

    assert status["Seccomp"].strip() == "2"
    assert status["NoNewPrivs"].strip() == "1"
    for name in ("Max open files", "Max file size", "Max processes", "Max core file size"):
        assert running.limits[name] == "0"
    assert int(running.limits["Max address space"]) < 512 * 1024 * 1024
    if os.geteuid() == 0:  # what may not be dumped is nobody else's to read
        (descriptor,) = (proc / "fd").iterdir()
        assert descriptor.name == "0"
        assert str(descriptor.readlink()).startswith("socket:")
        assert (proc / "environ").read_bytes() == b""
        assert (proc / "cwd").readlink() == Path("/")
    await running.end()


def test_the_engine_is_never_loaded_into_the_runner():
    program = (
        "import asyncio, sys\n"
        "from stateous_supervisor.scripts.processes import ScriptProcesses\n"
        "async def main():\n"
        "    scripts = ScriptProcesses()\n"
        "    await scripts.open()\n"
        "    await scripts.close()\n"
        "asyncio.run(main())\n"
        "print([name for name in sys.modules if 'quickjs' in name])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def _gone(*pids):
    for _ in range(500):
        if not any(map(_alive, pids)):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"still there: {[pid for pid in pids if _alive(pid)]}")


@on_linux
async def test_when_the_fork_server_dies_its_scripts_do_and_the_next_has_a_new_one(scripts):
    running = await Running.begin(scripts)
    pid, server = running.pid, scripts.server_pid

    os.kill(server, signal.SIGKILL)

    with pytest.raises(ProcessDied):
        await anext(running.run)
    await _gone(pid, server)
    assert await last(scripts, "return 1") == Done(1)
    assert scripts.server_pid != server


@on_linux
async def test_what_asks_for_an_end_is_the_runners_affair(scripts):
    running = await Running.begin(scripts)
    pid = running.pid
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(scripts.server_pid, number)
        os.kill(pid, number)

    assert await last(scripts, "return 1") == Done(1)
    assert _alive(pid)
    await running.end()


@on_linux
async def test_all_end_without_a_word(capfd):
    for _ in range(10):
        scripts = ScriptProcesses()
        await scripts.open()
        await scripts.close()
    assert capfd.readouterr() == ("", "")


async def test_a_process_that_died_waiting_is_not_given_out(scripts):
    await last(scripts, "return 1")
    for pid in _children(scripts.server_pid)[:1]:
        os.kill(pid, signal.SIGKILL)
        await _gone(pid)
    await asyncio.sleep(0.1)

    assert await last(scripts, "return 1") == Done(1)


@on_linux
def test_when_the_runner_dies_nothing_is_left():
    program = (
        "import asyncio, sys\n"
        "from stateous_supervisor.scripts.processes import ScriptProcesses\n"
        f"job = {job(BEGUN + LOOP)!r}\n"
        "async def main():\n"
        "    scripts = ScriptProcesses()\n"
        "    await scripts.open()\n"
        "    process = await scripts.take()\n"
        "    async for answer in process.run(job):\n"
        "        print(scripts.server_pid, flush=True)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        server = int(runner.stdout.readline())
        children = _children(server)
        assert len(children) >= 2
        runner.kill()
    asyncio.run(_gone(server, *children))


async def test_a_process_that_crashes_is_told(scripts):
    running = await Running.begin(scripts)
    if sys.platform == "linux":
        os.kill(running.pid, signal.SIGSEGV)
    else:
        scripts.kill(running.process)

    with pytest.raises(ProcessDied, match="was ended by SIG"):
        await anext(running.run)
    assert await last(scripts, "return 1") == Done(1)


@on_linux
async def test_without_a_runner_the_system_ends_a_script(scripts):
    running = await Running.begin(scripts)

    # The 60 s of the job, and 10 s of grace.
    assert running.limits["Max cpu time"] == "70"
    await running.end()


GIVEN_UP = """
import os, sys
sys.path += {path!r}
from stateous_supervisor.scripts import confinement
import ctypes, mmap, resource, signal, socket, subprocess

kept = os.dup(1)
confinement.leave_everything(kept, os.getppid())
confinement.limit(64 * 1024 * 1024, 60)
filtered = confinement.filter_calls()

def attempt(name, what):
    try:
        what()
    except (OSError, ValueError, MemoryError) as error:
        os.write(0, f"{{name}}: {{type(error).__name__}}\\n".encode())
    else:
        os.write(0, f"{{name}}: done\\n".encode())

os.write(0, f"filtered: {{filtered}}\\n".encode())
attempt("open a file", lambda: os.open("/etc/passwd", os.O_RDONLY))
attempt("list a folder", lambda: os.listdir("/"))
attempt("write to a file", lambda: os.open("/tmp/x", os.O_CREAT | os.O_WRONLY))
attempt("connect", lambda: socket.socket())
attempt("a pair of sockets", lambda: socket.socketpair())
attempt("fork", os.fork)
attempt("start a program", lambda: os.execv("/bin/sh", ["sh"]))
attempt("kill", lambda: os.kill(os.getppid(), 0))
attempt("read", lambda: os.read(0, 1))
attempt("duplicate", lambda: os.dup(0))
attempt("a pipe", os.pipe)
attempt("raise a limit", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
attempt("a gigabyte", lambda: bytearray(1 << 30))
attempt("memory to run code in", lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC))
attempt("eight megabytes", lambda: bytearray(8 << 20))
os._exit(0)
"""


@on_linux
def test_who_has_given_everything_up_can_compute_and_nothing_else():
    path = [str(Path(it.__file__).parent.parent) for it in (stateous, stateous_supervisor)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", GIVEN_UP.format(path=path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    told = dict(line.split(": ") for line in done.stdout.splitlines())

    assert done.stderr == ""
    if told.pop("filtered") != "True":
        pytest.skip("this system does not filter system calls")
    assert told.pop("eight megabytes") == "done"
    assert set(told.values()) <= {"PermissionError", "ValueError", "MemoryError"}
    assert len(told) == 14


def test_without_the_engine_nothing_begins(monkeypatch):
    monkeypatch.setattr(processes.importlib.util, "find_spec", lambda _: None)

    with pytest.raises(SupervisorError, match=r"pip install 'stateous-supervisor\[scripts\]'"):
        ScriptProcesses()


def test_without_forks_nothing_begins(monkeypatch):
    monkeypatch.delattr(socket, "send_fds")

    with pytest.raises(SupervisorError, match="a system that can fork"):
        ScriptProcesses()


async def test_a_fork_server_that_does_not_start_is_told(monkeypatch):
    monkeypatch.setattr(processes, "_PROGRAM", "{path!r}, {descriptor}")

    with pytest.raises(SupervisorError, match="does not start"):
        await ScriptProcesses().open()
