"""SIGKILL of the control plane at any moment loses no answered request and doubles none."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.support.databases import ServedDatabase
from tests.support.load import check_ledger, load
from tests.support.processes import ControlPlane, control_plane
from tests.support.relay import compiled

pytestmark = pytest.mark.e2e

KILLS = 5


def test_no_answered_request_is_lost_and_none_is_doubled(
    tmp_path: Path, database: ServedDatabase
) -> None:
    graph = compiled(tmp_path)
    chance = random.Random(4711)
    with control_plane(graph, database.url, cwd=tmp_path) as (plane, client):
        port = plane.port
        try:
            with load(plane.url) as answered:
                for _ in range(KILLS):
                    time.sleep(chance.uniform(0.05, 0.4))  # a moment of chance: the point of it
                    plane.kill()
                    plane = ControlPlane(graph, database.url, cwd=tmp_path, port=port)
            check_ledger(client, answered)
        finally:
            plane.kill()
