"""How Postgres finds what the writer, the clock and reads look up: by index, flat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import psycopg
import pytest

from stateous.json import JsonText
from stateous_controlplane.store.port import Changes, Granted, Needs, Remembered
from stateous_controlplane.store.postgres import reads
from stateous_controlplane.store.postgres.connecting import Connection, Server
from stateous_controlplane.store.postgres.rounds import Rounds, Statement
from stateous_controlplane.store.postgres.statements import LOCK_QUEUED
from stateous_controlplane.store.postgres.store import PostgresStore
from stateous_controlplane.store.postgres.transaction import PostgresTransaction
from stateous_controlplane.store.rows import Row
from tests.support.postgres import SharedServer
from tests.support.stores import HOLDER, NOW, claimed, entry, task, timer, token

# Two thousand ended tokens and two thousand live ones, each with all that a token can have.
GROWTH = """
INSERT INTO tokens (token, folded, kind, top, graph, state, visit, status, configuration, context,
                    entered_by, counts, visits, seq, at, entered_at, started_at)
SELECT 'G-' || n, 'g-' || n, 'token', 'G-' || n, 'graph-1', 'coding', 1,
       CASE WHEN n % 2 = 0 THEN 'active' ELSE 'completed' END,
       '[["coding",1]]', '{}', '{}', '{}', '{}', 2, now(), now(), now()
FROM generate_series(1, 4000) n;
INSERT INTO tasks (id, token, state, visit, queue, status, ready, attempt, queued_at, lease_until,
                   last_number)
SELECT 100 + n, 'G-' || n, 'coding', 1, 'coding',
       (ARRAY['queued', 'done', 'claimed', 'done'])[1 + n % 4], n % 4 = 0, 0, now(), now(), 0
FROM generate_series(1, 4000) n;
INSERT INTO timers (id, token, state, visit, kind, event, set_at, due_at, status, ready)
SELECT 100 + n, 'G-' || n, 'coding', 1, 'timeout', 'timeout', now(), now(),
       CASE WHEN n % 2 = 0 THEN 'pending' ELSE 'fired' END, n % 2 = 0
FROM generate_series(1, 4000) n;
INSERT INTO ledger (token, seq, at, kind, key, data)
SELECT 'G-' || n, seq, now(), 'note', 'k' || seq, '{"event":"done","payload":null}'
FROM generate_series(1, 4000) n, generate_series(1, 2) seq;
INSERT INTO kept SELECT 'G-' || n, 1, 'G-' || n, 'held', 1 FROM generate_series(1, 1000) n;
INSERT INTO memory SELECT 'G-' || n, 'coding', 'x', '1' FROM generate_series(1, 1000) n;
INSERT INTO claims SELECT 'box-' || n, 'r', 100 + n, 0 FROM generate_series(1, 1000) n;
"""

FAMILY = {"tokens_pkey", "tokens_top", "tokens_parent", "tasks_open", "timers_pending"}


class Explained(Rounds):
    """Rounds that note the plan of each statement that looks something up."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.plans: list[str] = []
        self.sizes: list[int] = []

    def ask(self, *statements: Statement) -> list[list[Row]]:
        self.sizes.append(len(statements))
        for text, parameters in statements:
            self.plans += explained(self.connection, text, parameters)
        return super().ask(*statements)


def explained(connection: Connection, text: str, parameters: object) -> list[str]:
    if text in ("BEGIN", "COMMIT"):
        return []
    rows = connection.execute(f"EXPLAIN {text}".encode(), parameters)  # type: ignore[arg-type]
    return [row[0] for row in rows]


@pytest.fixture(scope="module")
def new(postgres_server: SharedServer) -> Iterator[str]:
    """A database whose tables nobody has ever written to."""
    with postgres_server.new_database() as url:
        yield url


@pytest.fixture(scope="module")
def grown(postgres_server: SharedServer) -> Iterator[str]:
    """A database with some thousand tokens, of whose tables statistics have been made."""
    with postgres_server.new_database() as url:
        with psycopg.connect(url) as connection:
            connection.execute(GROWTH)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        yield url


@pytest.fixture(params=["new", "grown"])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def rounds(grown: str) -> Iterator[Explained]:
    made = Explained(Server(grown).writer())
    made.ask(("BEGIN", ()))
    yield made
    made.connection.close()


def indexes(plans: list[str]) -> set[str]:
    return {
        found for line in plans for found in re.findall(r" (?:using|Index Scan on) (\w+)", line)
    }


def walks(plans: list[str]) -> list[str]:
    """Scans of a whole table, and of a whole index: the line behind them has no condition."""
    return [
        line
        for line, behind in zip(plans, [*plans[1:], ""], strict=True)
        if "Seq Scan" in line
        or (re.search(r"Index (Only )?Scan", line) and "Index Cond" not in behind)
    ]


def _loads(**needs: object) -> Callable[[PostgresTransaction], object]:
    return lambda transaction: transaction.load(Needs(**needs))  # type: ignore[arg-type]


def _writes(**changes: object) -> Callable[[PostgresTransaction], object]:
    def act(transaction: PostgresTransaction) -> None:
        transaction.write(
            Changes([token()], new_tasks=[task()], new_timers=[timer()], entries=[entry()])
        )
        transaction.write(Changes(**changes))  # type: ignore[arg-type]
        transaction.load(Needs(tokens={"T-1"}))

    return act


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        pytest.param(_loads(tokens={"T-1"}), {"tokens_pkey"}, id="an unknown token"),
        pytest.param(_writes(), FAMILY, id="a family"),
        pytest.param(_loads(tasks={1, 2}), {"tasks_pkey"}, id="tasks"),
        pytest.param(_loads(timers={1}), {"timers_pkey"}, id="timers"),
        pytest.param(
            _loads(queues={"coding": 3, "testing": 3}), {"tasks_queue", "tokens_pkey"}, id="queues"
        ),
        pytest.param(_loads(folded={"t-1"}), {"tokens_folded"}, id="any case"),
        pytest.param(_loads(keys={("T-1", "k")}), {"ledger_key"}, id="idempotency keys"),
        pytest.param(
            _loads(supervisors={"box-1"}), {"claims_pkey", "tasks_pkey"}, id="remembered claims"
        ),
        pytest.param(_loads(held={"T-1"}), {"kept_top", "ledger_pkey"}, id="held events"),
        pytest.param(
            lambda transaction: transaction.memory({("T-1", "coding")}),
            {"memory_pkey"},
            id="memory",
        ),
        pytest.param(
            lambda transaction: transaction.due(NOW, leases=True, limit=9),
            {"tasks_lease", "timers_due"},
            id="what the clock looks at",
        ),
        pytest.param(_writes(tokens=[token(seq=9)]), {"tokens_pkey"}, id="a move"),
        pytest.param(_writes(positions=[token(seq=9)]), {"tokens_pkey"}, id="a position"),
        pytest.param(_writes(tasks=[claimed(1)]), {"tasks_pkey"}, id="a task change"),
        pytest.param(_writes(timers=[timer(1, ready=False)]), {"timers_pkey"}, id="a timer change"),
        pytest.param(
            _writes(
                memory={("T-1", "coding", "x"): None, ("T-1", "coding", "y"): JsonText("1")},
                forgotten={"T-1"},
                released={("T-1", 1)},
            ),
            {"memory_pkey", "kept_pkey"},
            id="memory changes, and an event that is no longer held",
        ),
        pytest.param(
            _writes(remembered={"box-1": Remembered("r", (Granted(1, 1),))}),
            {"claims_pkey"},
            id="a claim to remember",
        ),
    ],
)
def test_each_statement_of_a_transaction_is_a_look_up(
    rounds: Explained, act: Callable[[PostgresTransaction], object], expected: set[str]
) -> None:
    act(PostgresTransaction(rounds))
    assert expected <= indexes(rounds.plans)
    assert walks(rounds.plans) == []


@pytest.mark.parametrize(
    ("statement", "parameters", "index"),
    [
        (reads._TOKEN, ("T-1",), "tokens_pkey"),
        (reads._EXISTS, ("T-1", "token"), "tokens_pkey"),
        (reads._HISTORY, ("T-1", 4, 20), "ledger_pkey"),
    ],
)
def test_one_token_and_its_history_are_look_ups(
    url: str, statement: str, parameters: tuple[object, ...], index: str
) -> None:
    connection = Server(url).reader()
    plan = explained(connection, statement, parameters)
    assert indexes(plan) == {index}
    assert walks(plan) == []
    assert not any("Sort" in line for line in plan)
    connection.close()


def test_the_oldest_of_many_queued_tasks_is_found_without_a_sort(grown: str) -> None:
    connection = Server(grown).writer()
    plan = explained(connection, LOCK_QUEUED, ("{coding}", "{1}"))
    assert any("tasks_queue" in line for line in plan)
    assert not any("Sort" in line for line in plan)
    connection.close()


def test_plans_are_made_anew_every_five_seconds(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = Rounds.ask

    def noted(self: Rounds, *statements: Statement) -> list[list[Row]]:
        asked.extend(text for text, _ in statements)
        return ask(self, *statements)

    monkeypatch.setattr(Rounds, "ask", noted)
    moments = [0.0]
    store = PostgresStore(postgres_url, monotonic=lambda: moments[-1])
    assert store.take_hold(HOLDER, NOW) is None
    for moment in (0.0, 4.9, 5.0, 9.9, 10.0):
        moments.append(moment)
        with store.transaction(HOLDER):
            pass
    assert asked.count("DISCARD PLANS") == 2
    store.close()


def test_a_batch_costs_two_rounds_whatever_it_needs(rounds: Explained) -> None:
    everything = Needs(
        tokens={"G-2"},
        folded={"t-2"},
        tasks={101},
        timers={101},
        keys={("G-2", "k1")},
        supervisors={"box-1"},
        queues={"coding": 3},
        memory_of={101},
        held={"G-2"},
    )
    transaction = PostgresTransaction(rounds)
    rounds.sizes.clear()
    transaction.load(everything)
    assert rounds.sizes == [5, 5]
    rounds.sizes.clear()
    transaction.load(Needs(tokens={"absent"}))
    assert rounds.sizes == [1]
