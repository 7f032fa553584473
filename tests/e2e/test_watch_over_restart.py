"""`stateous token watch` while the control plane is killed and started again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import STATEOUS, control_plane, environment
from tests.support.relay import compiled

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_watch_goes_on_after_a_restart(tmp_path: Path, options: tuple[str, ...]) -> None:
    graph = compiled(tmp_path)
    db = f"sqlite:///{tmp_path}/stateous.db"
    with control_plane(graph, db, cwd=tmp_path) as (first, client):
        client.start("T-1")
        url, port = first.url, first.port
        watch = subprocess.Popen(
            [*STATEOUS, "token", "watch", "T-1", "--url", url, *options],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert watch.stdout is not None
        assert watch.stderr is not None
        shown = [watch.stdout.readline() for _ in client.history("T-1")]
    # It is gone; the watch says so, and goes on by itself.
    with watch:
        try:
            said = watch.stderr.readline()
            assert said.startswith(f"cannot reach the control plane at {url}: ")
            assert said.endswith("; the watch goes on when it answers again\n")
            with control_plane(graph, db, cwd=tmp_path, port=port) as (_, client):
                client.cancel("T-1")
                shown += watch.stdout.readlines()
                assert watch.wait(30) == 1
                assert watch.stderr.read() == ""
                history = client.history("T-1")
        finally:
            watch.kill()
    assert len(shown) == len(history)
    if options:
        assert [json.loads(line) for line in shown] == history
