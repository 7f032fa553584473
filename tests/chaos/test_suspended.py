"""A supervisor that stood still, or could not look up a name, and the leases of its tasks."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.databases import ServedDatabase
from tests.support.processes import Process, control_plane, eventually, running
from tests.support.relay import compiled, kinds, supervisor_folder
from tests.support.soak import on_each_database

pytestmark = pytest.mark.e2e

#: Imported by the supervisor with its routines: while STUCK is there, each look-up of a name hangs.
LOOK_UPS = """
import socket
import time
from pathlib import Path

HERE = Path(__file__).parent
asked = socket.getaddrinfo


def hanging(*arguments, **more):
    if (HERE / "STUCK").exists():
        with (HERE / "HUNG").open("a") as hung:
            hung.write("x")
        time.sleep(20)
    return asked(*arguments, **more)


socket.getaddrinfo = hanging
"""


@contextmanager
def supervisor(folder: Path) -> Iterator[Process]:
    process = Process(["supervise", str(folder)], cwd=folder.parent, name="supervise")
    with running(process):
        yield process


@pytest.mark.parametrize(
    ("database", "taken_over"),
    on_each_database([True, False], postgres_in_brief=[True]),
    indirect=["database"],
)
def test_what_a_suspended_supervisor_says_late_is_not_accepted(
    database: ServedDatabase, tmp_path: Path, taken_over: bool
) -> None:
    graph = compiled(tmp_path)
    with control_plane(graph, database.url, "--lease", "4s", cwd=tmp_path) as (plane, client):
        slept = supervisor_folder(graph, tmp_path / "slept", plane.url)
        awake = supervisor_folder(graph, tmp_path / "awake", plane.url)
        for folder in (slept, awake):
            # With one place no claim is in flight beside the routine, to be granted the retry.
            text = f'url: "{plane.url}"\ntasks: 1\nname: {folder.name}\n'
            (folder / "stateous.yaml").write_text(text)
        (slept / "HOLD").touch()
        client.start("T-1")
        with supervisor(slept) as first:
            eventually(lambda: "note" in kinds(client.history("T-1")))
            first.signal(signal.SIGSTOP)
            eventually(lambda: "task_retrying" in kinds(client.history("T-1")))
            if taken_over:
                with supervisor(awake) as second:
                    assert client.wait("T-1", timeout=30)["status"] == "completed"
                    assert second.stop() == 0
            # Its routine returns in the same moment as it wakes.
            (slept / "HOLD").unlink()
            first.signal(signal.SIGCONT)
            first.says("this process stood still for")
            # Which of these depends on whether its report, its heartbeat or its claim was first.
            told = ("took it back", "its report could go", "attempt 1 of task 1 is over")
            eventually(lambda: any(it in first.said for it in told))
            token = client.wait("T-1", timeout=30)
            assert token["context"]["weight"] == 2, "what the first attempt has written"
            assert first.stop() == 0
        history = client.history("T-1")
        carried = [
            entry["data"]["payload"]
            for entry in history
            if entry["kind"] == "event_accepted" and entry["data"]["event"] == "carried"
        ]
        assert carried == [{"weight": 2}]
        assert kinds(history).count("task_done") == 2
        assert "event_rejected" not in kinds(history)


@pytest.mark.parametrize(
    ("database", "lease"), on_each_database([12], postgres_in_brief=[]), indirect=["database"]
)
def test_a_name_that_cannot_be_looked_up_for_seconds_loses_no_lease(
    database: ServedDatabase, lease: int, tmp_path: Path
) -> None:
    graph = compiled(tmp_path)
    options = ("--lease", f"{lease}s")
    with control_plane(graph, database.url, *options, cwd=tmp_path) as (plane, client):
        url = f"http://localhost:{plane.port}"
        folder = supervisor_folder(graph, tmp_path / "box", url)
        (folder / "look_ups.py").write_text(LOOK_UPS)
        (folder / "HOLD").touch()
        client.start("T-1")
        with supervisor(folder) as process:
            eventually(lambda: "note" in kinds(client.history("T-1")))
            (folder / "STUCK").touch()
            plane.kill()  # so that every connection has to be made anew
            with control_plane(graph, database.url, *options, cwd=tmp_path, port=plane.port) as (
                _,
                again,
            ):
                process.says("no answer within 3 seconds")
                (folder / "STUCK").unlink()
                time.sleep(9)  # the lease of before is over, were it not renewed
                (folder / "HOLD").unlink()
                assert again.wait("T-1", timeout=30)["context"]["weight"] == 1
                assert kinds(again.history("T-1")).count("task_claimed") == 2
                began = time.monotonic()
                assert process.stop() == 0
                assert time.monotonic() - began < 15, "what hangs holds up no stop"
                assert (folder / "HUNG").exists()
