"""The rows that the benchmark fills tables with are those that the engine would have written."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bench.database import Database, PostgresDatabase, SqliteDatabase
from bench.filling import ended_tickets, queued_lanes
from bench.graphs import PARALLEL_LANES, TICKET, Graph
from stateous.json import JsonText
from stateous_client import Client
from stateous_controlplane.engine.fold import fold
from stateous_controlplane.engine.rows import Entry
from tests.support.databases import ServedDatabase
from tests.support.processes import control_plane

FILLED, LOOKED_AT = 20, 13
#: Columns whose values are those of the moment, or of another run's numbers.
TIMES = {
    "at",
    "entered_at",
    "started_at",
    "ended_at",
    "queued_at",
    "set_at",
    "due_at",
    "lease_until",
}


def ticket_by_hand(client: Client, token: str) -> None:
    client.start(token, {"repo": "acme/api"})
    grant = client.claim("box", ["coding"])
    assert grant is not None
    outcome = {"kind": "event", "event": "stuck", "attempt": 1, "supervisor": "box"}
    client.send_report(grant["task"], outcome)


def lane_by_hand(client: Client, token: str) -> None:
    client.start(token, {"lane": 1 + LOOKED_AT % 8})


@pytest.mark.parametrize(
    ("fill", "graph", "by_hand"),
    [
        pytest.param(ended_tickets, TICKET, ticket_by_hand, id="ended tickets"),
        pytest.param(queued_lanes, PARALLEL_LANES, lane_by_hand, id="queued lanes"),
    ],
)
def test_a_filled_token_is_as_one_that_was_really_run(
    tmp_path: Path,
    database: ServedDatabase,
    fill: Callable[[Database, int], None],
    graph: Graph,
    by_hand: Callable[[Client, str], None],
) -> None:
    filled = looked_at(database)
    fill(filled, FILLED)
    with control_plane(graph.write(tmp_path), database.url, cwd=tmp_path) as (plane, client):
        by_hand(client, "T-1")
        assert plane.stop() == 0
    prefix = "E" if fill is ended_tickets else "Q"
    filled_token = f"{prefix}-{LOOKED_AT:08}"
    for table in ("tokens", "tasks", "timers", "ledger"):
        ours, theirs = (rows_of(database, table, token) for token in (filled_token, "T-1"))
        assert [*map(shape, ours)] == [*map(shape, theirs)], table
    assert_folds(database, filled_token)


def assert_folds(database: ServedDatabase, token: str) -> None:
    (row,) = rows_of(database, "tokens", token)
    entries = rows_of(database, "ledger", token)
    assert [entry["seq"] for entry in entries] == [*range(1, row["seq"] + 1)]
    folded = fold(
        Entry(token, entry["seq"], entry["at"], entry["kind"], JsonText(entry["data"]), None)
        for entry in entries
    )
    assert (folded.status, folded.state, folded.visit) == (
        row["status"],
        row["state"],
        row["visit"],
    )
    tasks = {
        task["id"]: (task["status"], task["attempt"]) for task in rows_of(database, "tasks", token)
    }
    assert folded.tasks == tasks
    assert folded.counts == JsonText(row["counts"]).value
    assert folded.visits == JsonText(row["visits"]).value
    assert entries[0]["at"] == row["started_at"]
    assert entries[-1]["at"] == row["at"]


def shape(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its moments, ids and numbers of tasks."""
    kept = {name: value for name, value in row.items() if name not in TIMES | {"id", "folded"}}
    own = row["token"]
    kept |= {name: "own" for name in ("token", "top") if kept.get(name) == own}
    if "data" in kept:
        data = JsonText(kept["data"]).value
        kept["data"] = {key: value for key, value in data.items() if key not in ("task", "due_at")}
    kept |= {name: value is None for name, value in row.items() if name in TIMES}
    return kept


def rows_of(database: ServedDatabase, table: str, token: str) -> list[dict[str, Any]]:
    order = "seq" if table in ("tokens", "ledger") else "id"
    query = f"SELECT * FROM {table} WHERE token = '{token}' ORDER BY {order}"
    if database.kind == "sqlite":
        with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"))) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query)]
    with psycopg.connect(database.url, row_factory=psycopg.rows.dict_row) as connection:
        return connection.execute(query.encode()).fetchall()


def looked_at(database: ServedDatabase) -> Database:
    if database.kind == "sqlite":
        return SqliteDatabase(Path(database.url.removeprefix("sqlite:///")))
    return PostgresDatabase(database.url, 0)
