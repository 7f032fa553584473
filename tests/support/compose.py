"""The compose stack for tests that break it: up, faults, down; and why it cannot be had here."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from stateous_client import Client
from tests.support.served import free_port

ROOT = Path(__file__).parents[2]
_OVERRIDES = ROOT / "tests" / "integration" / "compose" / "overrides.yml"
TAG = os.environ.get("STATEOUS_TAG", "dev")
IMAGES = [
    f"{name}:{TAG}"
    for name in ("stateous-controlplane", "stateous-supervisor", "stateous-cli", "sdlc-supervisor")
]


def why_not() -> str | None:
    """Why the stack cannot be brought up here, or None."""
    given = os.environ.get("ENGINE_SKIP")
    if given:
        return given
    try:
        engine = _ran(["docker", "version", "--format", "{{.Server.Version}}"], timeout=20)
    except FileNotFoundError:
        return "no docker client on this machine"
    except subprocess.TimeoutExpired:
        return "the Docker engine does not answer"
    if engine.returncode:
        last = (engine.stderr.strip().splitlines() or ["?"])[-1]
        return f"no Docker engine answers: {last}"
    if _ran(["docker", "compose", "version"]).returncode:
        return "docker has no compose plugin (v2)"
    missing = [name for name in IMAGES if _ran(["docker", "image", "inspect", name]).returncode]
    if missing:
        return f"no image {', '.join(missing)}: run make images"
    return None


def docker(*words: str, timeout: float = 120) -> str:
    """Run `docker`, which must succeed; its stdout without the last line's end."""
    ran = _ran(["docker", *words], timeout=timeout)
    assert ran.returncode == 0, f"docker {' '.join(words)}: {ran.stderr[-3000:]}"
    return ran.stdout.strip()


def inspected(container: str) -> dict[str, Any]:
    """What the engine knows of a container."""
    (found,) = json.loads(docker("inspect", container))
    assert isinstance(found, dict)
    return found


def finished_at(container: str) -> datetime:
    """When it ended last."""
    return _moment(inspected(container)["State"]["FinishedAt"])


def stopped(container: str) -> tuple[int, float]:
    """Stop it with SIGTERM: its exit code, and the seconds that it took."""
    began = time.monotonic()
    docker("stop", "--time", "20", container)
    took = time.monotonic() - began
    return inspected(container)["State"]["ExitCode"], took


def said_at(container: str, text: str) -> list[datetime]:
    """When it wrote the lines that hold ``text``."""
    ran = _ran(["docker", "logs", "--timestamps", container])
    lines = (ran.stdout + ran.stderr).splitlines()
    return [_moment(line.split(" ", 1)[0]) for line in lines if text in line]


class Stack:
    """The services of `docker-compose.yml` as a project of their own, with short leases."""

    def __init__(self, folder: Path) -> None:
        self.project = f"stateous-test-{os.getpid()}"
        #: Free ports that stay the same when a container is started again.
        self.port = free_port()
        self._environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("STATEOUS_")},
            "STATEOUS_TAG": TAG,
            "STATEOUS_PORT": str(self.port),
            "STATEOUS_PORT_2": "0",
            "STATEOUS_LEASE": "4s",
            "STATEOUS_SECRETS": str(_written_secrets(folder)),
        }

    @property
    def url(self) -> str:
        """The first control plane's published address."""
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Client:
        """A client of the first control plane that gives up soon."""
        return Client(self.url, timeout=5, retries=0)

    def compose(self, *words: str, timeout: float = 180) -> str:
        """Run `docker compose` on the stack, which must succeed."""
        files = ["--file", str(ROOT / "docker-compose.yml"), "--file", str(_OVERRIDES)]
        ran = _ran(
            ["docker", "compose", "--project-name", self.project, *files, *words],
            timeout=timeout,
            environment=self._environment,
        )
        assert ran.returncode == 0, f"docker compose {' '.join(words)}: {ran.stderr[-3000:]}"
        return ran.stdout.strip()

    def up(self, *services: str) -> None:
        """Start ``services``, without any those outside of profiles, and wait for their health."""
        self.compose("up", "--detach", "--wait", "--wait-timeout", "120", *services)

    def down(self) -> None:
        """Remove everything, volumes too."""
        profiles = ["--profile", "ha", "--profile", "cli"]
        self.compose(*profiles, "down", "--volumes", "--remove-orphans", "--timeout", "1")

    def container(self, service: str) -> str:
        """The name of a service's container."""
        return f"{self.project}-{service}-1"

    def network(self, name: str) -> str:
        """The engine's name of a network of the stack."""
        return f"{self.project}_{name}"

    def cut(self, service: str, network: str) -> None:
        """Take a service off a network."""
        docker("network", "disconnect", self.network(network), self.container(service))

    def heal(self, service: str, network: str) -> None:
        """Put it back, under its name."""
        name = self.container(service)
        docker("network", "connect", "--alias", service, self.network(network), name)

    def until_healthy(self, *services: str, within: float = 60) -> None:
        """Wait for the verdict of the services' health checks."""
        end = time.monotonic() + within
        for service in services:
            while (state := inspected(self.container(service))["State"])["Health"][
                "Status"
            ] != "healthy":
                assert time.monotonic() < end, f"{service} is not healthy: {state['Health']}"
                time.sleep(0.2)

    def logs(self) -> str:
        """The last lines of everything, for a person who looks at a failure."""
        return self.compose("--profile", "ha", "logs", "--no-color", "--tail", "40")


def _written_secrets(folder: Path) -> Path:
    password = secrets.token_hex(8)
    (folder / "database-password").write_text(password)
    (folder / "database-url").write_text(f"postgresql://stateous:{password}@database/stateous\n")
    for file in folder.iterdir():
        file.chmod(0o444)
    return folder


def _ran(
    words: list[str], *, timeout: float = 60, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        env=None if environment is None else dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def _moment(text: str) -> datetime:
    # Nanoseconds, which Python does not read: 2027-03-01T14:51:53.873706123Z.
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{seconds}.{(fraction + '000000')[:6]}+00:00")
