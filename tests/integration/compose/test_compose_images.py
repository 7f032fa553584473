"""The images alone: any uid of group 0, a read-only root file system, and a quick end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from stateous_client import Client
from tests.support.compose import IMAGES, ROOT, TAG, Stack, docker, inspected, said_at, stopped
from tests.support.processes import eventually

pytestmark = [pytest.mark.compose, pytest.mark.timeout(300)]

UIDS = ["54321:0", "1000650000:0"]
GRAPH = ROOT / "examples" / "sdlc" / "build" / "sdlc.json"


@contextlib.contextmanager
def running(stack: Stack, name: str, *words: str) -> Iterator[str]:
    """A container with a read-only root file system, by its name."""
    container = f"{stack.project}-{name}"
    docker("run", "--detach", "--name", container, "--read-only", "--tmpfs", "/tmp", *words)
    try:
        yield container
    finally:
        docker("rm", "--force", container)


@pytest.fixture
def volume(stack: Stack, request: pytest.FixtureRequest) -> Iterator[str]:
    name = docker("volume", "create", f"{stack.project}-{request.node.originalname}")
    yield name
    docker("volume", "rm", name)


def is_healthy(container: str) -> bool:
    return bool(inspected(container)["State"]["Health"]["Status"] == "healthy")


def test_a_control_plane_on_sqlite_under_any_uid(stack: Stack, volume: str, tmp_path: Path) -> None:
    # A key file that a control plane makes is for its own uid alone, so another uid gets one.
    key = tmp_path / "ticket.key"
    key.write_text("0f" * 32)
    key.chmod(0o444)
    for uid in UIDS:
        words = [
            "--user", uid, "--volume", f"{volume}:/data", "--volume", f"{GRAPH}:/workflow/graph.json:ro",
            "--env", "STATEOUS_DB=sqlite:////data/stateous.db", "--publish", "127.0.0.1::8080",
            "--volume", f"{key}:/run/ticket.key:ro", "--env", "STATEOUS_KEY_FILE=/run/ticket.key",
            "--health-interval", "1s", f"stateous-controlplane:{TAG}",
        ]  # fmt: skip
        with running(stack, "alone", *words) as container:
            eventually(lambda: is_healthy(container), within=60)
            address = docker("port", container, "8080").splitlines()[0]
            with Client(f"http://{address}") as client:
                # The second one finds what the first has left, and writes to it.
                assert client.start("T-1", {"title": "A ticket"})["state"] == "coding"
                client.pause("T-1")
                client.resume("T-1")
            assert said_at(container, "serving on ")
            code, took = stopped(container)
            assert (code, took < 5) == (0, True)


def test_a_supervisor_under_any_uid(stack: Stack, volume: str) -> None:
    stack.until_healthy("controlplane")
    for uid in UIDS:
        words = [
            "--user", uid, "--volume", f"{volume}:/supervisor/.stateous",
            "--network", stack.network("edge"), "--env", "STATEOUS_URL=http://control:8080",
            "--env", "STATEOUS_NAME=any-uid", "--health-interval", "1s", f"sdlc-supervisor:{TAG}",
        ]  # fmt: skip
        with running(stack, "any-uid", *words) as container:
            eventually(lambda: said_at(container, "any-uid serves "), within=60)
            eventually(lambda: is_healthy(container), within=60)
            code, took = stopped(container)
            assert (code, took < 5) == (0, True)


def test_a_supervisor_that_waits_for_its_control_plane_stops_at_once(
    stack: Stack, volume: str
) -> None:
    words = [
        "--volume", f"{volume}:/supervisor/.stateous", "--network", "none",
        "--env", "STATEOUS_URL=http://127.0.0.1:1", f"sdlc-supervisor:{TAG}",
    ]  # fmt: skip
    with running(stack, "waiting", *words) as container:
        eventually(lambda: said_at(container, "cannot reach the control plane"))
        code, took = stopped(container)
        assert (code, took < 5) == (0, True)


def test_the_command_under_any_uid(engine: None) -> None:
    shown = docker(
        "run", "--rm", "--read-only", "--user", UIDS[0], f"stateous-cli:{TAG}", "--version"
    )
    assert {line.split()[0] for line in shown.splitlines()} == {
        "stateous-core",
        "stateous-client",
        "stateous-cli",
    }


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_tells_what_it_is(engine: None, image: str) -> None:
    config = inspected(image)["Config"]
    assert config["User"] == "10001:0"
    labels = config["Labels"]
    assert labels["org.opencontainers.image.title"].startswith("stateous-")
    assert labels["org.opencontainers.image.version"]
    if not image.startswith("stateous-cli"):
        assert config["StopSignal"] == "SIGTERM"
        assert config["Healthcheck"]["Test"][0] == "CMD"


def test_what_is_built_in_is_pinned_and_names_no_address() -> None:
    for lock in sorted(Path(ROOT, "images").glob("*.lock")):
        text = lock.read_text("utf-8")
        assert "--hash=sha256:" in text
        assert "://" not in text
