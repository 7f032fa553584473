"""The profile `ha`: a second control plane stands by, takes over, and nobody else is restarted."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stateous_client import Client
from tests.support.compose import Stack, finished_at, inspected, said_at, stopped
from tests.support.ledgers import audit_family
from tests.support.processes import eventually

pytestmark = [pytest.mark.compose, pytest.mark.timeout(300)]

FIRST, SECOND = "controlplane", "controlplane-2"
SUPERVISORS = ("supervisor-1", "supervisor-2")
STEADY = Path(__file__).with_name("steady_client.py")
_CONNECT = "import socket; socket.create_connection(('127.0.0.1', 8080), 1)"


@pytest.fixture(scope="module")
def pair(stack: Stack) -> Iterator[Stack]:
    """The stack with a second control plane, which stands by."""
    stack.compose("start", FIRST)
    stack.until_healthy(FIRST)
    stack.up(SECOND)
    yield stack
    stack.compose("--profile", "ha", "rm", "--stop", "--force", SECOND)


def serves(stack: Stack, service: str) -> bool:
    """Whether somebody listens in the service's container."""
    ran = subprocess.run(
        ["docker", "exec", stack.container(service), "python", "-c", _CONNECT],
        capture_output=True,
        timeout=30,
        check=False,
    )
    return ran.returncode == 0


def health(stack: Stack, service: str, *program: str) -> str:
    """What the health check says, asked now; ``program`` may do something before."""
    words = program or ("/opt/stateous/bin/health_controlplane.py",)
    ran = subprocess.run(
        ["docker", "exec", stack.container(service), "python", *words],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return "healthy" if ran.returncode == 0 else ran.stderr.strip()


def takeover(stack: Stack, service: str, since: datetime) -> datetime:
    """When ``service`` began to serve, after ``since``."""
    return eventually(
        lambda: next(
            (at for at in said_at(stack.container(service), "serving on ") if at > since), None
        )
    )


@pytest.fixture
def steady(pair: Stack) -> Iterator[subprocess.Popen[str]]:
    """A client in the stack's network that has begun to start tickets through the shared name."""
    name = f"{pair.project}-steady"
    words = [
        "docker", "run", "--rm", "--name", name, "--network", pair.network("edge"),
        "--env", "STATEOUS_URL=http://control:8080", "--volume", f"{STEADY}:/steady_client.py:ro",
        "--entrypoint", "python", inspected_image(pair), "/steady_client.py", "14",
    ]  # fmt: skip
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def inspected_image(stack: Stack) -> str:
    """The command's image, by the tag of the stack."""
    image = inspected(stack.container(FIRST))["Config"]["Image"]
    assert isinstance(image, str)
    return image.replace("controlplane", "cli")


def test_who_stands_by_is_healthy_and_does_not_listen(pair: Stack) -> None:
    assert serves(pair, FIRST)
    assert not serves(pair, SECOND)
    assert health(pair, FIRST) == health(pair, SECOND) == "healthy"
    assert said_at(pair.container(SECOND), "standing by: another control plane")


#: Suspends the control plane as if it hung, for a minute by the time of its file, and checks.
_HANG = """
import os, runpy, signal, time
from pathlib import Path
(hanging,) = (
    int(it.parent.name)
    for it in Path("/proc").glob("[0-9]*/cmdline")
    if it.read_bytes().startswith(b"/opt/stateous/bin/python")
)
os.kill(hanging, signal.SIGSTOP)
try:
    os.utime("/tmp/standing-by", (time.time() - 60,) * 2)
    runpy.run_path("/opt/stateous/bin/health_controlplane.py", run_name="__main__")
finally:
    os.kill(hanging, signal.SIGCONT)
"""


def test_a_standby_that_hangs_is_not_healthy(pair: Stack) -> None:
    assert health(pair, SECOND, "-c", _HANG).endswith("/tmp/standing-by is 60 s old")
    assert eventually(lambda: health(pair, SECOND) == "healthy")


def test_it_takes_over_under_load(pair: Stack, steady: subprocess.Popen[str]) -> None:
    started = {name: inspected(pair.container(name))["State"]["StartedAt"] for name in SUPERVISORS}
    with pair.client() as client:
        eventually(lambda: client.tokens(prefix="HA-", limit=5))

    # The first dies; the second takes over.
    before = datetime.now(UTC)
    pair.compose("kill", "--signal", "SIGKILL", FIRST)
    served = takeover(pair, SECOND, before)
    assert (served - finished_at(pair.container(FIRST))).total_seconds() <= 10

    # The first comes back, and waits. The second stops; the first takes over at once.
    pair.compose("start", FIRST)
    eventually(lambda: health(pair, FIRST) == "healthy")
    assert not serves(pair, FIRST)
    before = datetime.now(UTC)
    code, took = stopped(pair.container(SECOND))
    assert (code, took < 5) == (0, True)
    served = takeover(pair, FIRST, before)
    # One second, and what a start takes on a busy computer.
    assert (served - finished_at(pair.container(SECOND))).total_seconds() <= 2

    out, _ = steady.communicate(timeout=60)
    assert steady.returncode == 0
    acknowledged = json.loads(out)["acknowledged"]
    gaps = [b[1] - a[1] for a, b in itertools.pairwise(acknowledged)]
    assert max(gaps) <= 12
    assert acknowledged[-1][1] > served.timestamp(), "the client went on after the last takeover"
    with Client(pair.url, timeout=10) as client:
        for token, _ in acknowledged:
            client.wait(token, timeout=60)
            audit_family(client, token)
    for name in SUPERVISORS:
        assert inspected(pair.container(name))["State"]["StartedAt"] == started[name]
