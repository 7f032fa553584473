"""How SQLite finds what the writer, the clock and pages look up: by index, flat."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine
from sqlalchemy.dialects import sqlite
from sqlalchemy.pool import StaticPool

from stateous_controlplane.store import pages
from stateous_controlplane.store.port import Place, TaskFilter, TokenFilter
from stateous_controlplane.store.sqlite import reads, transaction, writes
from stateous_controlplane.store.tables import Stored
from tests.support.stores import NOW


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    engine = create_engine("sqlite://", poolclass=StaticPool)
    Stored.metadata.create_all(engine)
    with engine.connect() as made:
        raw = made.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        yield raw
    engine.dispose()


def plan(connection: sqlite3.Connection, query: str) -> list[str]:
    cursor = connection.execute(f"EXPLAIN QUERY PLAN {query}", ["0"] * _parameters(query))
    return [row[3] for row in cursor]


def _parameters(query: str) -> int:
    numbered = [at for at in range(1, 10) if f"?{at}" in query]
    return max(numbered, default=query.count("?"))


def walks(steps: list[str]) -> list[str]:
    """The steps that go through a whole table of ours."""
    made = ("CONSTANT", "VIRTUAL TABLE", "SCAN new", "SCAN anon")
    return [step for step in steps if step.startswith("SCAN") and not any(x in step for x in made)]


@pytest.mark.parametrize(
    ("query", "search"),
    [
        (transaction._TASKS, "tasks USING INTEGER PRIMARY KEY (rowid=?)"),
        (transaction._TIMERS, "timers USING INTEGER PRIMARY KEY (rowid=?)"),
        (transaction._QUEUE, "tasks USING INDEX tasks_queue (queue=?)"),
        (transaction._REMEMBERED, "claims USING PRIMARY KEY (supervisor=?)"),
        (transaction._FOLDED, "tokens USING INDEX tokens_folded (folded=?)"),
        (transaction._TOKENS, "tokens USING INDEX sqlite_autoindex_tokens_1 (token=?)"),
        (transaction._RELATIVES, "tokens USING INDEX tokens_top (top=? AND status=?)"),
        (transaction._OPEN_TASKS, "tasks USING INDEX tasks_open (token=?)"),
        (transaction._PENDING_TIMERS, "timers USING INDEX timers_pending (token=?)"),
        (transaction._KEYS, "entry USING INDEX ledger_key (token=? AND key=?)"),
        (transaction._MEMORY, "memory USING PRIMARY KEY (token=? AND state=?)"),
        (transaction._ENDED_LEASES, "tasks USING INDEX tasks_lease (lease_until<?)"),
        (transaction._DUE_TIMERS, "timers USING INDEX timers_due (due_at<?)"),
        (reads._TOKEN, "tokens USING INDEX sqlite_autoindex_tokens_1 (token=?)"),
        (reads._HISTORY, "ledger USING PRIMARY KEY (token=? AND seq>?)"),
        (writes._moves._texts[8], "tokens USING COVERING INDEX sqlite_autoindex_tokens_1"),
        (writes._tokens._texts[1], "tokens USING COVERING INDEX sqlite_autoindex_tokens_1"),
        (writes._positions._texts[8], "tokens USING COVERING INDEX sqlite_autoindex_tokens_1"),
        (writes._tasks._texts[32], "tasks USING INTEGER PRIMARY KEY (rowid=?)"),
        (writes._timers._texts[2], "timers USING INTEGER PRIMARY KEY (rowid=?)"),
        (writes._FORGET, "memory USING PRIMARY KEY (token=?)"),
        (writes._DELETE_CLAIMS, "claims USING PRIMARY KEY (supervisor=?)"),
    ],
)
def test_a_hot_look_up_uses_its_index(
    connection: sqlite3.Connection, query: str, search: str
) -> None:
    steps = plan(connection, query)
    assert any(step.startswith(f"SEARCH {search}") for step in steps), steps
    assert walks(steps) == []
    assert not any("TEMP B-TREE" in step for step in steps), steps


BEHIND = Place(NOW, "T-1")
PAGES = [
    (TokenFilter(), "tokens_moved (kind=?"),
    (TokenFilter(status="active"), "tokens_status_moved (kind=? AND status=?"),
    (TokenFilter(state="coding"), "tokens_moved (kind=?"),
    (TokenFilter(workflow="left"), "tokens_moved (kind=?"),
    (TokenFilter(workflow="ticket", top_only=True), "tokens_moved (kind=?"),
    (TokenFilter(moved_after=NOW), "tokens_moved (kind=? AND entered_at>?"),
    (TokenFilter(moved_before=NOW), "tokens_moved (kind=? AND entered_at<?"),
    (TokenFilter(prefix="T"), "tokens_moved (kind=?"),
    (TokenFilter(prefix="T", status="active"), "tokens_status_moved (kind=? AND status=?"),
]


@pytest.mark.parametrize("behind", [None, BEHIND], ids=["first page", "later page"])
@pytest.mark.parametrize(("where", "index"), PAGES)
def test_a_page_of_tokens_walks_an_index_in_order(
    connection: sqlite3.Connection, where: TokenFilter, index: str, behind: Place | None
) -> None:
    page = pages.tokens_page(where, behind=behind, limit=100, narrow=False)
    (step,) = plan(connection, str(page.compile(dialect=sqlite.dialect())))
    assert step.startswith(f"SEARCH tokens USING INDEX {index}")


@pytest.mark.parametrize("behind", [None, BEHIND], ids=["first page", "later page"])
@pytest.mark.parametrize(
    ("where", "index"),
    [
        (TokenFilter(prefix="T"), "sqlite_autoindex_tokens_1 (token>? AND token<?)"),
        (TokenFilter(prefix="T", status="active"), "sqlite_autoindex_tokens_1 (token>?"),
        (TokenFilter(parent="P", status="active"), "tokens_parent (parent=?)"),
        (TokenFilter(parent="P", prefix="T"), "tokens_parent (parent=?)"),
    ],
)
def test_a_page_of_few_tokens_looks_them_up_and_sorts(
    connection: sqlite3.Connection, where: TokenFilter, index: str, behind: Place | None
) -> None:
    page = pages.tokens_page(where, behind=behind, limit=100, narrow=True)
    step, sort = plan(connection, str(page.compile(dialect=sqlite.dialect())))
    assert step.startswith(f"SEARCH tokens USING INDEX {index}")
    assert sort == "USE TEMP B-TREE FOR ORDER BY"


@pytest.mark.parametrize(
    ("where", "search"),
    [
        (TaskFilter(), "tasks USING INTEGER PRIMARY KEY (rowid>?)"),
        (TaskFilter(status="done"), "tasks USING INTEGER PRIMARY KEY (rowid>?)"),
        (TaskFilter(status="waiting"), "tasks USING INDEX tasks_unclaimed (status=? AND id>?)"),
        (TaskFilter(status="queued", state="x"), "tasks USING INDEX tasks_unclaimed (status=?"),
        (TaskFilter(status="claimed"), "tasks USING INDEX tasks_lease"),
        (TaskFilter(status="queued", token="T"), "tasks USING INDEX tasks_open (token=?)"),
        (TaskFilter(token="T"), "ledger USING PRIMARY KEY (token=?)"),
        (TaskFilter(token="T", status="done"), "ledger USING PRIMARY KEY (token=?)"),
    ],
)
def test_a_page_of_tasks_uses_an_index(
    connection: sqlite3.Connection, where: TaskFilter, search: str
) -> None:
    page = pages.tasks_page(where, behind=7, limit=100)
    steps = plan(connection, str(page.compile(dialect=sqlite.dialect())))
    assert any(step.startswith(f"SEARCH {search}") for step in steps), steps
    assert walks(steps) == []


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        ("T-1", "T-2"),
        ("é", "ê"),
        ("a\ud7ff", "a\ue000"),
        ("a\U0010ffff", "b"),
        ("\U0010ffff\U0010ffff", None),
    ],
)
def test_the_first_text_behind_a_prefix(prefix: str, end: str | None) -> None:
    assert pages.behind_prefix(prefix) == end
