"""SIGKILL of a supervisor: its task is claimed again after the lease, its outbox is sent later."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.databases import ServedDatabase
from tests.support.outboxes import kinds_on_disk
from tests.support.processes import Process, control_plane, eventually, running
from tests.support.relay import compiled, kinds, supervisor_folder

pytestmark = pytest.mark.e2e


@contextmanager
def supervisor(folder: Path) -> Iterator[Process]:
    process = Process(["supervise", str(folder)], cwd=folder.parent, name="supervise")
    with running(process):
        yield process


def test_a_lost_attempt_uses_up_a_retry_and_is_claimed_again(
    database: ServedDatabase, tmp_path: Path
) -> None:
    graph = compiled(tmp_path)
    with control_plane(graph, database.url, "--lease", "4s", cwd=tmp_path) as (plane, client):
        folder = supervisor_folder(graph, tmp_path / "box", plane.url)
        (folder / "HOLD").touch()
        client.start("T-1")
        with supervisor(folder) as first:
            eventually(lambda: "memory_set" in kinds(client.history("T-1")))
            first.kill()
        (folder / "HOLD").unlink()
        with supervisor(folder) as second:
            token = eventually(lambda: done(client, "T-1"))
            assert second.stop() == 0
        assert token["context"]["weight"] == 2
        failed = [e["data"] for e in client.history("T-1") if e["kind"] == "task_failed"]
        assert failed == [{"task": 1, "error": "box stopped answering: no heartbeat for 4 seconds"}]
        assert kinds(client.history("T-1"))[5:13] == [
            "note",
            "memory_set",
            "task_failed",
            "task_retrying",
            "task_claimed",
            "note",
            "memory_set",
            "context_changed",
        ]
        assert (folder / "RUNS").read_text().splitlines() == ["T-1 1", "T-1 2"]


def test_the_outbox_is_sent_at_the_next_start(database: ServedDatabase, tmp_path: Path) -> None:
    graph = compiled(tmp_path)
    with control_plane(graph, database.url, cwd=tmp_path) as (plane, client):
        folder = supervisor_folder(graph, tmp_path / "box", plane.url)
        (folder / "HOLD").touch()
        client.start("T-1")
        with supervisor(folder) as first:
            eventually(lambda: "memory_set" in kinds(client.history("T-1")))
            plane.kill()
            (folder / "HOLD").unlink()
            first.says("trying again")
            eventually(lambda: "report" in kinds_on_disk(folder, 1))
            first.kill()
        port = plane.port
    with control_plane(graph, database.url, cwd=tmp_path, port=port) as (_, client):
        with supervisor(folder) as second:
            # The answer to the memory write may have died with the control plane.
            assert re.search(r"sending [12] message", second.says("left in the outbox"))
            second.says("task 1 of T-1: reported carried")
            eventually(lambda: done(client, "T-1"))
            assert second.stop() == 0
        assert (folder / "RUNS").read_text().splitlines() == ["T-1 1"]
        assert kinds(client.history("T-1")).count("task_claimed") == 2


def done(client, token: str):
    row = client.get(token)
    return row if row["status"] == "completed" else None
