"""How SQLite finds what the writer, the clock and pages look up: by index, flat."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy.dialects import sqlite

from stateous.json import JsonText
from stateous_controlplane.store import pages, run_pages
from stateous_controlplane.store.port import (
    Changes,
    Granted,
    Needs,
    Place,
    Remembered,
    TaskFilter,
    TokenFilter,
)
from stateous_controlplane.store.run_views import NewestPlace, RunFilter
from stateous_controlplane.store.sqlite.connecting import open_writer
from stateous_controlplane.store.sqlite.reads import SqliteReads
from stateous_controlplane.store.sqlite.transaction import SqliteTransaction
from tests.support.databases import SqliteFile
from tests.support.stores import NOW, claimed, entry, task, timer, token

TOKEN_BY_ID = "tokens USING INDEX sqlite_autoindex_tokens_1 (token=?)"
# Joining a list of rows reads nothing of a token but where it is.
TOKEN_OF_A_LIST = "tokens USING COVERING INDEX sqlite_autoindex_tokens_1 (token=?)"
TASK_BY_ID = "tasks USING INTEGER PRIMARY KEY (rowid=?)"
FAMILY = {
    TOKEN_BY_ID,
    "tokens USING INDEX tokens_top (top=? AND status=?)",
    "tasks USING INDEX tasks_open (token=?)",
    "timers USING INDEX timers_pending (token=?)",
}


@pytest.fixture
def connection(database: SqliteFile) -> Iterator[sqlite3.Connection]:
    made = open_writer(database.file, 1.0)
    yield made
    made.close()


def steps_of(connection: sqlite3.Connection, statement: str) -> list[str]:
    parameters = ["0"] * statement.count("?")
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]


def walks(steps: list[str]) -> list[str]:
    """The steps that go through a whole table of ours."""
    given = ("CONSTANT ROW", "VIRTUAL TABLE", "SCAN new", "SCAN anon")
    return [step for step in steps if step.startswith("SCAN") and not any(x in step for x in given)]


def sorts(steps: list[str]) -> list[str]:
    """The steps that sort what they found."""
    return [step for step in steps if "TEMP B-TREE" in step]


def _loads(**needs: object) -> Callable[[SqliteTransaction], object]:
    return lambda transaction: transaction.load(Needs(**needs))  # type: ignore[arg-type]


def _writes(**changes: object) -> Callable[[SqliteTransaction], object]:
    def act(transaction: SqliteTransaction) -> None:
        before = Changes([token()], new_tasks=[task()], new_timers=[timer()], entries=[entry()])
        transaction.write(before)
        transaction.load(Needs(tokens={"T-1"}))
        transaction.write(Changes(**changes))  # type: ignore[arg-type]

    return act


def _writes_many(**counts: int) -> Callable[[SqliteTransaction], object]:
    """As many changes of a kind as there is a statement for."""
    ((kind, count),) = counts.items()
    names = [f"T-{number}" for number in range(count)]

    def act(transaction: SqliteTransaction) -> None:
        transaction.write(Changes([token(name) for name in names]))
        transaction.write(Changes(**{kind: [token(name, seq=9) for name in names]}))  # type: ignore[arg-type]

    return act


@pytest.mark.parametrize(
    ("act", "searches"),
    [
        pytest.param(_loads(tokens={"T-1"}), {TOKEN_BY_ID}, id="an unknown token"),
        pytest.param(_writes(), FAMILY, id="a family"),
        pytest.param(_loads(tasks={1, 2}), {TASK_BY_ID}, id="tasks"),
        pytest.param(
            _loads(timers={1}), {"timers USING INTEGER PRIMARY KEY (rowid=?)"}, id="timers"
        ),
        pytest.param(
            _loads(queues={"coding": 3, "testing": 3}),
            {TASK_BY_ID, "tasks USING INDEX tasks_queue (queue=?)"},
            id="queues",
        ),
        pytest.param(
            _loads(folded={"t-1"}), {"tokens USING INDEX tokens_folded (folded=?)"}, id="any case"
        ),
        pytest.param(
            _loads(keys={("T-1", "k")}),
            {"entry USING INDEX ledger_key (token=? AND key=?)"},
            id="idempotency keys",
        ),
        pytest.param(
            _loads(supervisors={"box-1"}),
            {"claims USING PRIMARY KEY (supervisor=?)", TASK_BY_ID},
            id="remembered claims",
        ),
        pytest.param(
            lambda transaction: transaction.memory({("T-1", "coding")}),
            {"memory USING PRIMARY KEY (token=? AND state=?)"},
            id="memory",
        ),
        pytest.param(
            lambda transaction: transaction.due(NOW, leases=True, limit=9),
            {
                "tasks USING INDEX tasks_lease (lease_until<?)",
                "timers USING INDEX timers_due (due_at<?)",
                "tasks USING COVERING INDEX tasks_timeout (timeout<?)",
            },
            id="what the clock looks at",
        ),
        pytest.param(
            lambda transaction: transaction.undelivered(9),
            {"outbox USING INTEGER PRIMARY KEY (rowid>?)"},
            id="what the outbox has",
        ),
        pytest.param(_writes(moves=[token(seq=9)]), {TOKEN_BY_ID}, id="a move"),
        pytest.param(_writes_many(moves=8), {TOKEN_OF_A_LIST}, id="moves"),
        pytest.param(_writes_many(tokens=8), {TOKEN_OF_A_LIST}, id="any token changes"),
        pytest.param(_writes(tokens=[token(graph="g")]), {TOKEN_BY_ID}, id="any token change"),
        pytest.param(_writes(positions=[token(seq=9)]), {TOKEN_BY_ID}, id="a position"),
        pytest.param(_writes(tasks=[claimed(1)]), {TASK_BY_ID}, id="a task change"),
        pytest.param(
            _writes(timers=[timer(1, ready=False)]),
            {"timers USING INTEGER PRIMARY KEY (rowid=?)"},
            id="a timer change",
        ),
        pytest.param(
            _writes(
                memory={("T-1", "coding", "x"): None, ("T-1", "coding", "y"): JsonText("1")},
                forgotten={"T-1"},
            ),
            {
                "memory USING PRIMARY KEY (token=? AND state=? AND key=?)",
                "memory USING PRIMARY KEY (token=?)",
            },
            id="memory changes",
        ),
        pytest.param(
            _writes(remembered={"box-1": Remembered("r", (Granted(1, 1),))}),
            {"claims USING PRIMARY KEY (supervisor=?)"},
            id="a claim to remember",
        ),
    ],
)
def test_each_statement_of_a_transaction_is_a_look_up(
    connection: sqlite3.Connection,
    act: Callable[[SqliteTransaction], object],
    searches: set[str],
) -> None:
    executed: list[str] = []
    connection.execute("BEGIN IMMEDIATE")
    connection.set_trace_callback(executed.append)
    act(SqliteTransaction(connection))
    connection.set_trace_callback(None)
    steps = [step for statement in executed for step in steps_of(connection, statement)]
    found = {step.removeprefix("SEARCH ") for step in steps if step.startswith("SEARCH ")}
    # A search through an alias says the alias.
    found |= {step.replace("task USING", "tasks USING") for step in found}
    assert searches <= found
    assert walks(steps) == sorts(steps) == []


def test_one_token_and_its_history_are_look_ups(
    connection: sqlite3.Connection, database: SqliteFile
) -> None:
    SqliteTransaction(connection).write(Changes([token()], entries=[entry()]))
    reads = SqliteReads(database.file)
    executed: list[str] = []
    reads._of_this_thread().set_trace_callback(executed.append)
    assert reads.token("T-1") is not None
    assert reads.history("T-1", after=0, limit=20) == [entry()]
    reads.close()
    steps = [step for statement in executed for step in steps_of(connection, statement)]
    assert [step.partition(" USING ")[0] for step in steps] == [
        "SEARCH tokens",
        "SEARCH tokens",
        "SEARCH ledger",
    ]
    assert walks(steps) == sorts(steps) == []


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
    (step,) = steps_of(connection, str(page.compile(dialect=sqlite.dialect())))
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
    step, sort = steps_of(connection, str(page.compile(dialect=sqlite.dialect())))
    assert step.startswith(f"SEARCH tokens USING INDEX {index}")
    assert sort == "USE TEMP B-TREE FOR ORDER BY"


@pytest.mark.parametrize("behind", [None, NewestPlace(NOW, "a")], ids=["first page", "later page"])
@pytest.mark.parametrize(
    ("where", "index", "sorted_"),
    [
        (RunFilter(), "runs_newest", False),
        (RunFilter(machine="m"), "runs_newest", False),
        (RunFilter(status="active"), "runs_status_newest", False),
        (RunFilter(key="k"), "runs_key (key=?)", True),
        (RunFilter(parent="a"), "tokens_parent (parent=?)", True),
    ],
)
def test_a_page_of_runs_uses_an_index_of_runs(
    connection: sqlite3.Connection,
    where: RunFilter,
    index: str,
    sorted_: bool,
    behind: NewestPlace | None,
) -> None:
    page = run_pages.runs_page(where, behind=behind, limit=100)
    steps = steps_of(connection, str(page.compile(dialect=sqlite.dialect())))
    assert f"tokens USING INDEX {index}" in steps[0], steps
    assert bool(sorts(steps)) is sorted_


@pytest.mark.parametrize(
    "select",
    [
        run_pages.one_run,
        run_pages.jobs_of,
        run_pages.timers_of,
        run_pages.tickets_of,
        run_pages.kept_of,
    ],
)
def test_what_belongs_to_a_run_is_looked_up(
    connection: sqlite3.Connection, select: Callable[[str], Any]
) -> None:
    steps = steps_of(connection, str(select("run-1").compile(dialect=sqlite.dialect())))
    assert walks(steps) == []


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
    steps = steps_of(connection, str(page.compile(dialect=sqlite.dialect())))
    assert any(step.startswith(f"SEARCH {search}") for step in steps), steps
    assert walks(steps) == []


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        ("T-1", "T-2"),
        ("é", "ê"),
        ("a\ud7ff", "a\ue000"),
        ("a\U0010fffe", "a\U0010ffff"),
        ("a\U0010ffff", "b"),
        ("\U0010ffff\U0010ffff", None),
    ],
)
def test_the_first_text_behind_a_prefix(prefix: str, end: str | None) -> None:
    assert pages.behind_prefix(prefix) == end
