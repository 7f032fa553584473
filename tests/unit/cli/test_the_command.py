"""The command without a control plane: help, versions, completion, exit codes, speed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest


def stateous(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stateous_cli", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("group", [(), ("init",), ("token",), ("run",)])
def test_a_bare_group_prints_its_help_on_stdout(group: tuple[str, ...]) -> None:
    ran = stateous(*group)
    assert ran.returncode == 2
    assert ran.stdout.startswith("Usage: ")
    assert ran.stderr == ""


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("compile",),
        ("serve",),
        ("supervise",),
        ("init",),
        ("init", "workflow"),
        ("init", "supervisor"),
        ("token",),
        ("token", "start"),
        ("token", "fire"),
        ("token", "show"),
        ("token", "list"),
        ("token", "watch"),
        ("token", "pause"),
        ("token", "resume"),
        ("token", "cancel"),
        ("token", "tasks"),
        ("run",),
        ("run", "submit"),
        ("run", "show"),
        ("run", "reply"),
        ("run", "send"),
        ("run", "list"),
        ("run", "cancel"),
        ("run", "pause"),
        ("run", "resume"),
    ],
)
def test_help_is_everywhere(command: tuple[str, ...]) -> None:
    ran = stateous(*command, "--help")
    assert ran.returncode == 0
    assert ran.stdout.startswith("Usage: ")


def test_versions_are_one_a_line() -> None:
    ran = stateous("--version")
    assert ran.returncode == 0
    names = [line.split(" ")[0] for line in ran.stdout.splitlines()]
    assert names == sorted(names)
    assert {"stateous-cli", "stateous-client", "stateous-core"} <= set(names)


def test_completion_can_be_shown() -> None:
    ran = stateous("--show-completion", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "--install-completion" in stateous("--help").stdout
    assert ran.returncode in {0, 2}  # 2: no shell is known here


def test_text_that_the_terminal_cannot_show_ends_nothing() -> None:
    ran = stateous("token", "start", "Ü", "[]", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: CONTEXT_JSON must be ")


@pytest.mark.parametrize(
    "arguments",
    [("compile", "nowhere/flow.py"), ("serve", "nowhere.json"), ("supervise", "nowhere")],
)
def test_an_expected_failure_is_one_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "stateous_cli", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("words", [["--help"], ["token", "show", "--help"]])
def test_help_loads_no_other_part(words: list[str]) -> None:
    heavy = ("pydantic", "httpx", "rich", "asyncio", "stateous_client", "stateous_compiler")
    code = (
        f"import sys; sys.argv = {['stateous', *words]!r}\n"
        "from stateous_cli.app import main\n"
        "main()\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr == "[]\n"


@pytest.mark.timing
@pytest.mark.parametrize("command", [(), ("token", "show")])
def test_help_takes_less_than_a_third_of_a_second(command: tuple[str, ...]) -> None:
    def seconds() -> float:
        begin = time.perf_counter()
        stateous(*command, "--help")
        return time.perf_counter() - begin

    assert min(seconds() for _ in range(5)) < 0.35


@pytest.mark.parametrize("words", [("token", "list"), ("run", "list"), ("token", "start", "T-1")])
def test_where_nobody_listens_the_sentence_tells_what_to_type(words: tuple[str, ...]) -> None:
    sentence = (
        "cannot reach the control plane at http://127.0.0.1:1: [Errno 111] Connection refused; "
        "start one with `stateous serve`, or name another with --url"
    )
    ran = stateous(*words, "--json", STATEOUS_URL="http://127.0.0.1:1")
    assert (ran.returncode, ran.stderr) == (1, f"error: {sentence}\n")
    assert json.loads(ran.stdout) == {"error": {"code": "failed", "message": sentence}}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", [["--version"], ["token", "show", "--help"]])
def test_an_output_that_takes_no_more_is_one_sentence(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "stateous_cli", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "error: cannot write the output: No space left on device\n"


def test_ctrl_c_while_the_command_loads_is_quiet() -> None:
    # The command's own modules interrupt their import, as a Ctrl-C at that moment does.
    program = (
        "import sys, types\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'stateous_cli.app': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from stateous_cli.entry import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
