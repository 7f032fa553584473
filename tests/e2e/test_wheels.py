"""The wheels, installed into clean environments: each part works with what it needs, and no more.

The local packages come from their wheels alone; what they need of others is pinned by the lock.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.transcripts import Reader

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Environment:
    """A clean environment that holds some of the six distributions."""

    python: Path
    folder: Path

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(part) for part in command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={"PATH": str(self.python.parent)},
        )

    def can_import(self, module: str) -> bool:
        return self.run(self.python, "-I", "-c", f"import {module}").returncode == 0


def _installed(folder: Path, *distributions: str, extra: str = "") -> Environment:
    """Install these; ``extra`` is one of `stateous-cli`."""
    wheels = folder / "wheels"
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
        + ["--no-deps", "--no-build-isolation", "-w", str(wheels)]
        + [f"{ROOT}/packages/{name}/" for name in distributions],
        check=True,
    )
    pins = folder / "constraints.txt"
    lock = (ROOT / "requirements-dev.lock").read_text("utf-8")
    pins.write_text("\n".join(re.findall(r"^[a-z0-9].*?==[^\\\n]*", lock, re.M)), "utf-8")
    home = folder / "venv"
    venv.create(home, with_pip=not UV.exists())
    python = home / "bin" / "python"
    installer = (
        [str(UV), "pip", "install", "-q", "--python", str(python)]
        if UV.exists()
        else [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    )
    files = [
        f"{file}{extra if file.name.startswith('stateous_cli-') else ''}"
        for file in sorted(wheels.glob("*.whl"))
    ]
    subprocess.run([*installer, "-c", str(pins), *files], check=True)
    shutil.rmtree(wheels)
    return Environment(python, folder)


def test_the_client_needs_the_core_alone(tmp_path: Path) -> None:
    environment = _installed(tmp_path, "stateous-core", "stateous-client")
    ran = environment.run(
        environment.python,
        "-I",
        "-c",
        "from stateous_client import Client; from stateous import Client as Same\n"
        "print(Client is Same, Client('http://127.0.0.1:1').url)",
    )
    assert ran.stdout == "True http://127.0.0.1:1\n", ran.stderr
    for absent in (
        *("fastapi", "sqlalchemy", "sqlmodel", "z3", "psycopg", "uvicorn", "typer", "alembic"),
        *("stateous_controlplane", "stateous_compiler", "stateous_supervisor", "stateous_cli"),
    ):
        assert not environment.can_import(absent), absent


def test_the_core_says_what_its_client_needs(tmp_path: Path) -> None:
    environment = _installed(tmp_path, "stateous-core")
    assert environment.can_import("stateous")
    ran = environment.run(environment.python, "-I", "-c", "from stateous import Client")
    assert ran.returncode == 1
    assert "stateous-client" in ran.stderr


def test_a_supervisor_needs_neither_control_plane_nor_compiler(tmp_path: Path) -> None:
    environment = _installed(tmp_path, "stateous-core", "stateous-client", "stateous-supervisor")
    for absent in (
        "fastapi",
        "sqlalchemy",
        "psycopg",
        "stateous_controlplane",
        "stateous_compiler",
    ):
        assert not environment.can_import(absent), absent
    command = environment.python.with_name("stateous-supervise")
    assert environment.run(command, "--help").returncode == 0
    refused = environment.run(command, "nowhere")
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: "), refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_command_alone_steers_tokens_and_says_what_else_needs(tmp_path: Path) -> None:
    environment = _installed(tmp_path, "stateous-core", "stateous-client", "stateous-cli")
    stateous = environment.python.with_name("stateous")
    assert [
        line.split()[0] for line in environment.run(stateous, "--version").stdout.splitlines()
    ] == [
        "stateous-cli",
        "stateous-client",
        "stateous-core",
    ]
    unreachable = environment.run(stateous, "token", "show", "--url", "http://127.0.0.1:1")
    assert unreachable.returncode == 1
    assert unreachable.stderr.startswith(
        "error: cannot reach the control plane at http://127.0.0.1:1: "
    )
    for arguments, distribution in (
        (("compile", "flow.py"), "stateous-compiler"),
        (("init", "workflow", "invoices"), "stateous-compiler"),
        (("init", "supervisor", "flow.py", "desk"), "stateous-compiler"),
        (("serve", "graph.json"), "stateous-controlplane"),
        (("supervise", "desk"), "stateous-supervisor"),
    ):
        refused = environment.run(stateous, *arguments)
        assert refused.returncode == 1, arguments
        package = distribution.replace("-", "_")
        assert refused.stderr == (
            f"error: `stateous {' '.join(arguments[: 2 if arguments[0] == 'init' else 1])}` needs "
            f"{distribution}, which is not installed: build the wheels with `make wheels`, then "
            f"run: pip install dist/{package}-*.whl\n"
        )


def test_all_six_work_together(tmp_path: Path) -> None:
    names = sorted(path.name for path in (ROOT / "packages").iterdir() if path.is_dir())
    environment = _installed(tmp_path, *names, extra="[dev]")
    stateous = environment.python.with_name("stateous")
    versions = environment.run(stateous, "--version").stdout.splitlines()
    assert [line.split()[0] for line in versions] == names
    made = environment.run(stateous, "init", "workflow", "invoices")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "invoices" / "build" / "invoices.json").is_file()
    # The script engine came with the extra: the transcript of charts can be typed.
    folder = tmp_path / "empty"
    folder.mkdir()
    reader = Reader(folder, "", commands=environment.python.parent)
    try:
        reader.read()
    finally:
        if reader.service is not None:
            reader.service.kill()
    # Both drivers came with them: each says what it found where no database is.
    file = f"{tmp_path}/nowhere/plane.db"
    server = "postgresql://127.0.0.1:1/nowhere"
    for url, sentence in (
        (f"sqlite:///{file}", f"{file}: there is no folder {tmp_path}/nowhere"),
        (server, f"{server}: connection failed: "),
    ):
        refused = environment.run(stateous, "serve", "--db", url, "--listen", "127.0.0.1:0")
        assert refused.returncode == 1
        assert refused.stderr.startswith(f"error: cannot open the database {sentence}")
