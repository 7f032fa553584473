"""What the store tells of runs, which stand in the same tables as workflow tokens."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from stateous_controlplane.engine.rows import Status
from stateous_controlplane.store.port import Reads, Store, TaskFilter, TokenFilter
from tests.support.databases import SqliteFile
from tests.support.stores import (
    HOLDER,
    NOW,
    after,
    claimed,
    entry,
    graph,
    task,
    timer,
    token,
    write,
)


@pytest.fixture
def store(database: SqliteFile) -> Store:
    """A store with a workflow token and a live run, each with a task and a timer."""
    opened = database.open()
    assert opened.take_hold(HOLDER, NOW) is None
    write(
        opened,
        new_tokens=[token(), token("run-x")],
        new_tasks=[task(1), claimed(2, "run-x", lease_until=after(1))],
        new_timers=[timer(1), timer(2, "run-x", due_at=after(1))],
        entries=[entry(), entry("run-x")],
    )
    with closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute("UPDATE tokens SET kind = 'run' WHERE token = 'run-x'")
        connection.execute("UPDATE tasks SET job = 'drafting' WHERE token = 'run-x'")
    return opened


@pytest.fixture
def reads(store: Store) -> Iterator[Reads]:
    opened = store.reads()
    yield opened
    opened.close()


def test_reads_of_tokens_and_tasks_show_no_runs(reads: Reads) -> None:
    assert reads.token("run-x") is None
    assert reads.history("run-x", after=0, limit=None) is None
    page, _ = reads.tokens(TokenFilter(prefix="run"), behind=None, limit=9, max_bytes=999)
    assert page == []
    tokens, _ = reads.tokens(TokenFilter(), behind=None, limit=9, max_bytes=999)
    assert [each.token for each in tokens] == ["T-1"]
    tasks, _ = reads.tasks(TaskFilter(), behind=0, limit=9)
    assert [each.task for each in tasks] == [1]


def test_the_structure_rule_looks_at_workflow_tokens_alone(store: Store) -> None:
    assert store.serve_graph(HOLDER, graph(), NOW) == 1
    write(store, tokens=[token(status=Status.COMPLETED, ended_at=NOW)])
    assert store.serve_graph(HOLDER, graph(), NOW) == 0
