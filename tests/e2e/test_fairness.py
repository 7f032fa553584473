"""Beside a supervisor that asks for a hundred tasks at once, ten that ask for one do not starve."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.database import Database, PostgresDatabase, SqliteDatabase
from bench.graphs import TICKET
from bench.load import connected
from bench.workloads.fairness import Fairness
from tests.support.databases import ServedDatabase
from tests.support.processes import control_plane

pytestmark = pytest.mark.e2e

TOKENS = 200


async def test_none_starves_and_each_states_tasks_go_out_in_their_order(
    tmp_path: Path, database: ServedDatabase
) -> None:
    """What is checked is said in `bench/workloads/fairness.py`, whose load this is."""
    load = Fairness(TOKENS)
    with control_plane(TICKET.write(tmp_path), database.url, cwd=tmp_path) as (plane, _):
        async with connected(plane.port, load.connections) as pool:
            await load.prepare(pool)
            await load.drive(pool)
        assert plane.stop() == 0
    assert [*load.problems(looked_at(database))] == []


def looked_at(database: ServedDatabase) -> Database:
    if database.kind == "sqlite":
        return SqliteDatabase(Path(database.url.removeprefix("sqlite:///")))
    return PostgresDatabase(database.url, 0)
