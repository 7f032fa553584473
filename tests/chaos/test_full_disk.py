"""A supervisor whose outbox cannot be written: the disk is full, or the system sets a limit."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from stateous_client import Client
from tests.support.processes import Process, control_plane, eventually, running
from tests.support.relay import CARRY, compiled, kinds, supervisor_folder

pytestmark = pytest.mark.e2e

#: More than the outbox has room for in its file.
LARGE = 'ctx["name"] = "x" * 200_000\n    return events.carried'

#: Makes a folder's disk full for the process, and lets it take something again.
Fill = Callable[[Process], Callable[[], None]]


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Fill]:
    """A disk of 4 MiB under ``folder``."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")

    def fill(process: Process) -> Callable[[], None]:
        filler = folder / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        return filler.unlink

    try:
        yield fill
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextlib.contextmanager
def limited_files(folder: Path) -> Iterator[Fill]:
    """No file may grow above 100 KiB (RLIMIT_FSIZE)."""
    if sys.platform != "linux":
        pytest.skip("only Linux lets one set the limit of a running process")
    import resource

    def fill(process: Process) -> Callable[[], None]:
        before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100 * 1024, before[1]))

        def free() -> None:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)

        return free

    yield fill


@pytest.mark.parametrize("disk", [small_disk, limited_files])
def test_a_supervisor_that_cannot_write_claims_nothing_and_loses_nothing(
    tmp_path: Path, disk: Callable[[Path], contextlib.AbstractContextManager[Fill]]
) -> None:
    if disk is small_disk and not (hasattr(os, "geteuid") and os.geteuid() == 0):
        pytest.skip("only root can mount a small disk")
    graph = compiled(tmp_path)
    db = f"sqlite:///{tmp_path}/stateous.db"
    with control_plane(graph, db, "--lease", "4s", cwd=tmp_path) as (plane, client):
        folder = supervisor_folder(graph, tmp_path / "full", plane.url)
        other = supervisor_folder(graph, tmp_path / "other", plane.url)
        for each in (folder, other):
            (each / "carry.py").write_text(CARRY.replace("return events.carried", LARGE))
        (folder / ".stateous").mkdir()
        (folder / "HOLD").touch()
        with (
            disk(folder / ".stateous") as fill,
            running(Process(["supervise", str(folder)], cwd=tmp_path, name="full")) as box,
        ):
            client.start("T-1")
            eventually(lambda: "memory_set" in kinds(client.history("T-1")))
            free = fill(box)
            (folder / "HOLD").unlink()
            box.says("no new tasks until it can be written")
            time.sleep(0.5)  # the claim that was in flight is cut, and asked after
            client.start("T-2")
            # For longer than a lease it renews what it has, and takes nothing more.
            end = _lease_of(client, "T-1") + timedelta(seconds=5)
            eventually(lambda: _lease_of(client, "T-1") > end)
            assert [task["status"] for task in client.iter_tasks(token="T-2")] == ["queued"]
            with running(Process(["supervise", str(other)], cwd=tmp_path, name="other")) as second:
                assert client.wait("T-2", timeout=30)["status"] == "completed"
                assert second.stop() == 0
            free()
            box.says("can be written again")
            assert client.wait("T-1", timeout=60)["status"] == "completed"
            assert box.stop() == 0
        history = client.history("T-1")
        assert not [entry for entry in history if entry["kind"] == "task_retrying"]
        assert client.get("T-1")["context"]["weight"] == 1


def _lease_of(client: Client, token: str) -> datetime:
    (task,) = client.iter_tasks(token=token, status="claimed")
    return datetime.fromisoformat(task["lease_until"])
