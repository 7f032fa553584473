"""Documents, executed: what a reader types is typed, what the page says appears is looked for.

A page is walked from top to bottom in a temporary folder:

- A ``console`` block has commands behind ``$ ``, each followed by its output. ``...`` in the output
  stands for anything, inside a line or as a line of its own. A command may go on in the next lines
  when it ends with a backslash. One that ends with ``&`` stays in the background until the page
  ends; then it gets a Ctrl-C, and must end with 0. Output that begins with ``error:`` asks for a
  failure; every other command must succeed.
- A ``python`` block is run as a script; with ``file=NAME`` behind the language it becomes that file,
  which must be Python. A ``yaml`` or ``javascript`` block with ``file=NAME`` becomes that file, too;
  without it, it is there to be looked at.

Pages speak of port 8080. Here a free port takes its place, in what is sent and in what comes back.
Looking at a token right after starting it races with the supervisor, which no reader notices: a
``stateous token show`` is repeated until it shows what the page says, and so is ``stateous run show``.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0
_BLOCK = re.compile(r"^( *)```(console|python|yaml|javascript)([^\n]*)\n(.*?)^ *```$", re.M | re.S)
_PORT = 8080
_SHOWN = ("stateous token show", "stateous run show")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page: its language, the file that it is, its text, its line."""

    language: str
    file: str | None
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """What is typed, and what appears."""

    typed: str
    output: str


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page that are typed, run or written, in order."""
    found = []
    for match in _BLOCK.finditer(page):
        named = re.search(r"file=(\S+)", match[3])
        if named is None and match[2] not in ("console", "python"):
            continue
        line = page.count("\n", 0, match.start()) + 1
        text = textwrap.dedent(match[4])
        found.append(Block(match[2], named[1] if named else None, text, line))
    return found


def commands_of(text: str) -> list[Command]:
    """The commands of a console block."""
    commands: list[Command] = []
    typed: list[str] = []
    for line in text.splitlines():
        if line.startswith("$ ") or (typed and typed[-1].endswith("\\")):
            if line.startswith("$ "):
                typed = []
            typed.append(line.removeprefix("$ "))
            if not line.endswith("\\"):
                commands.append(Command("\n".join(typed), ""))
        elif commands:
            commands[-1] = Command(commands[-1].typed, commands[-1].output + line + "\n")
    return commands


def matches(expected: str, actual: str) -> bool:
    """Whether ``actual`` is what ``expected`` says, ``...`` standing for anything."""
    pattern = re.escape(expected.rstrip("\n"))
    pattern = re.sub(r"(?:^|(?<=\n))\\\.\\\.\\\.(?:\\\n|$)", "(?:.*\n)*?", pattern)
    pattern = pattern.replace(r"\.\.\.", "[^\n]*")
    return re.fullmatch(pattern + r"\s*", actual) is not None


@dataclass
class Walk:
    """A reader at a shell, in a folder of their own."""

    folder: Path
    port: int
    environment: dict[str, str] = field(default_factory=dict)
    _background: list[subprocess.Popen[str]] = field(default_factory=list)

    def read(self, page: str, name: str) -> None:
        """Do what ``page`` says, from top to bottom."""
        for block in blocks_of(page):
            if block.file is not None:
                if block.language == "python":
                    ast.parse(block.text, block.file)
                file = self.folder / block.file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text, "utf-8")
            elif block.language == "python":
                script = self.folder / "block.py"
                script.write_text(self._there(block.text), "utf-8")
                code, output = self._run(f"{sys.executable} block.py")
                assert code == 0, f"{name}:{block.line}: {output}"
            else:
                for command in commands_of(block.text):
                    self._follow(command, f"{name}:{block.line}: $ {command.typed}")

    def _follow(self, command: Command, where: str) -> None:
        if command.typed.endswith("&"):
            self._start(command, where)
            return
        deadline = time.monotonic() + PATIENCE
        while True:
            code, output = self._run(self._there(command.typed))
            if matches(command.output, output):
                break
            again = command.typed.startswith(_SHOWN) and time.monotonic() < deadline
            assert again, f"{where}\n--- the page\n{command.output}--- what came\n{output}"
            time.sleep(0.2)
        fails = command.output.startswith("error:")
        assert (code != 0) == fails, f"{where}: exit code {code}\n{output}"

    def _run(self, typed: str) -> tuple[int, str]:
        # The shell tells its folder and variables at the end, so that `cd` and `.` last.
        state = self.folder.parent / "shell-state"
        ran = subprocess.run(
            ["bash", "-c", f"{typed}\ncode=$?; pwd > {state}; env -0 >> {state}; exit $code"],
            cwd=self._here(),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=PATIENCE * 4,
            check=False,
        )
        if state.exists():
            where, _, variables = state.read_text("utf-8").partition("\n")
            pairs = (pair.partition("=") for pair in variables.split("\0") if pair)
            self.environment = {name: value for name, _, value in pairs} | {"PWD": where}
            state.unlink()
        return ran.returncode, self._back(ran.stdout)

    def _start(self, command: Command, where: str) -> None:
        log = self.folder.parent / f"background-{len(self._background)}"
        with log.open("w", encoding="utf-8") as sink:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {self._there(command.typed).rstrip('& ')}"],
                cwd=self._here(),
                env=self.environment,
                stdout=sink,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        self._background.append(process)
        deadline = time.monotonic() + PATIENCE
        expected = command.output.rstrip("\n") + "\n...\n"
        while not matches(expected, output := self._back(log.read_text("utf-8"))):
            assert process.poll() is None, f"{where} ended\n{output}"
            assert time.monotonic() < deadline, f"{where}\n--- what came\n{output}"
            time.sleep(0.05)

    def stop(self) -> None:
        """Ctrl-C for all that runs in the background; each must end with 0."""
        for process in self._background:
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(PATIENCE) == 0
            finally:
                process.kill()
                process.wait()

    def _here(self) -> str:
        return self.environment.get("PWD", str(self.folder))

    def _there(self, text: str) -> str:
        return text.replace(f"127.0.0.1:{_PORT}", f"127.0.0.1:{self.port}")

    def _back(self, text: str) -> str:
        return text.replace(f"127.0.0.1:{self.port}", f"127.0.0.1:{_PORT}")


@contextlib.contextmanager
def walking(folder: Path, *, checkout: bool) -> Iterator[Walk]:
    """A reader in an empty folder, or in a copy of the checkout, as the page expects.

    The copy's environment has the commands of the one that the tests run in.
    """
    place = folder / "reader"
    if checkout:
        place.mkdir()
        for name in ("Makefile", "requirements-dev.lock", "pyproject.toml"):
            shutil.copy2(ROOT / name, place / name)
        shutil.copytree(ROOT / "packages", place / "packages", ignore=_generated)
        shutil.copytree(ROOT / "examples", place / "examples", ignore=_generated)
        # Its commands, under a stamp that says that nothing is left to be set up: `make setup` must
        # never install this copy into the environment that the tests run in.
        (place / ".venv").mkdir()
        (place / ".venv" / "bin").symlink_to(Path(sys.prefix) / "bin")
        (place / ".venv" / ".stamp").touch()
    else:
        place.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STATEOUS_", "PYTEST_", "COV_"))
    }
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}",
        "PWD": str(place),
        "XDG_STATE_HOME": str(folder / "state"),
        "STATEOUS_URL": f"http://127.0.0.1:{port}",
        "STATEOUS_LISTEN": f"127.0.0.1:{port}",
    }
    walk = Walk(place, port, environment)
    try:
        yield walk
    finally:
        walk.stop()


def _generated(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in {"__pycache__", ".stateous", "build"}}
