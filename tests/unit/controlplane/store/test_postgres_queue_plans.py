"""How Postgres finds the oldest task of each queue, however many tasks are queued."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.database import PostgresDatabase
from bench.filling import queued_lanes
from bench.graphs import LANES
from stateous_controlplane.store.postgres.arrays import numbers, texts
from stateous_controlplane.store.postgres.connecting import Server
from stateous_controlplane.store.postgres.statements import LOCK_QUEUED
from tests.support.postgres import SharedServer


# Few, where a walk and a sort look cheap; many; and so many that nobody would think of it.
@pytest.fixture(scope="module", params=[40, 400, 1000, 4000, 20_000])
def queue(request: pytest.FixtureRequest, postgres_server: SharedServer) -> Iterator[str]:
    with postgres_server.new_database() as url:
        queued_lanes(PostgresDatabase(url, 0), request.param)
        yield url


@pytest.mark.parametrize("asked", [LANES, LANES[:1]], ids=["of eight queues", "of one queue"])
@pytest.mark.parametrize("most", [1, 100])
def test_the_oldest_are_found_in_order_of_the_index(
    queue: str, asked: tuple[str, ...], most: int
) -> None:
    connection = Server(queue).writer()
    parameters = (texts(asked), numbers([most] * len(asked)))
    plan = [row[0] for row in connection.execute(f"EXPLAIN {LOCK_QUEUED}".encode(), parameters)]
    connection.close()
    assert any("Index Scan using tasks_queue on tasks task" in line for line in plan), plan
    for walk in ("Sort", "Materialize", "Bitmap", "Seq Scan", "Join Filter"):
        assert not any(walk in line for line in plan), plan


def test_what_is_found_are_the_oldest(queue: str) -> None:
    connection = Server(queue).writer()
    found = connection.execute(LOCK_QUEUED.encode(), (texts(LANES), numbers([2] * 8))).fetchall()
    connection.close()
    assert sorted(row[0] for row in found) == [*range(1, 17)]
