"""Filling tables with SQL: tokens that ended, tokens that wait in a queue.

The rows are those that the engine would have written, ledger and all, for tokens started one
millisecond after the other some days ago; a test folds the ledgers and compares. One text serves
both databases.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from bench.database import Database
from bench.graphs import LANES, PARALLEL_LANES, TICKET, Graph
from stateous.graph.hashes import structure

_DAYS_AGO: Final = 7
#: Seconds from the start of a token to the claim of its task, and from there to its report.
_STEP: Final = 0.25
#: How long a ticket's timeout is, in seconds.
_TIMEOUT: Final = 3600

_TOKEN: Final = (
    *("token", "folded", "kind", "top", "graph", "state", "visit", "status", "configuration"),
    *("context", "entered_by", "counts", "visits", "seq", "at", "entered_at", "started_at"),
    "ended_at",
)
_TASK: Final = (
    *("id", "token", "state", "visit", "queue", "status", "ready", "attempt", "claimed_by"),
    *("queued_at", "last_number"),
)
_TIMER: Final = (
    *("id", "token", "state", "visit", "kind", "event", "set_at", "due_at", "status", "ready"),
)
_LEDGER: Final = ("token", "seq", "at", "kind", "data")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of each token; ``at`` and ``data`` are SQL."""

    kind: str
    at: str
    data: str


def ended_tickets(database: Database, count: int) -> None:
    """``count`` tickets that a supervisor was stuck with: completed, nine entries each."""
    moments = _Moments(database, count)
    started, claimed, ended = moments.after(0), moments.after(_STEP), moments.after(2 * _STEP)
    context = '{"tries":0,"note":null,"repo":"acme/api"}'
    entries = [
        _Entry("started", started, f"""'{{"context":{context}}}'"""),
        _Entry("event_accepted", started, _accepted("__started__", "__start__")),
        _Entry("entered", started, """'{"state":"coding","visit":1}'"""),
        _Entry("task_queued", started, """'{"task":' || n || ',"state":"coding"}'"""),
        _Entry(
            "timer_set",
            started,
            f"""'{{"event":"timeout","due_at":"' || {moments.text_after(_TIMEOUT)} || '"}}'""",
        ),
        _Entry(
            "task_claimed", claimed, """'{"task":' || n || ',"supervisor":"box","attempt":1}'"""
        ),
        _Entry("event_accepted", ended, _accepted("stuck", "coding")),
        _Entry("task_done", ended, """'{"task":' || n || '}'"""),
        _Entry("completed", ended, "'{}'"),
    ]
    database.fill(
        [
            _serving(TICKET),
            _insert(
                count,
                "tokens",
                _TOKEN,
                *(_id("E-"), _id("e-"), "'token'", _id("E-"), f"'{TICKET.checksum}'"),
                *("'coding'", "1", "'completed'", """'[["coding",1]]'""", f"'{context}'"),
                *("""'{"name":"__started__"}'""", """'{"__started__":1,"stuck":1}'"""),
                *("""'{"coding":1}'""", f"{len(entries)}", ended, started, started, ended),
            ),
            _insert(
                count,
                "tasks",
                _TASK,
                *("n", _id("E-"), "'coding'", "1", "'coding'", "'done'", "false", "1", "'box'"),
                *(started, "0"),
            ),
            _insert(
                count,
                "timers",
                _TIMER,
                *("n", _id("E-"), "'coding'", "1", "'timeout'", "'timeout'", started),
                *(moments.after(_TIMEOUT), "'cancelled'", "false"),
            ),
            _insert_entries(count, _id("E-"), entries),
        ]
    )


def queued_lanes(database: Database, count: int) -> None:
    """``count`` tokens in eight states, each with a task that was queued when it started."""
    moments = _Moments(database, count)
    started = moments.after(0)
    number = f"(1 + n % {len(LANES)})"
    lane = f"'lane_' || {number}"
    entries = [
        _Entry("started", started, f"""'{{"context":{{"lane":' || {number} || '}}}}'"""),
        _Entry("event_accepted", started, _accepted("__started__", "__start__")),
        _Entry("entered", started, f"""'{{"state":"' || {lane} || '","visit":1}}'"""),
        _Entry("task_queued", started, f"""'{{"task":' || n || ',"state":"' || {lane} || '"}}'"""),
    ]
    database.fill(
        [
            _serving(PARALLEL_LANES),
            _insert(
                count,
                "tokens",
                _TOKEN,
                *(_id("Q-"), _id("q-"), "'token'", _id("Q-"), f"'{PARALLEL_LANES.checksum}'"),
                *(lane, "1", "'active'", f"""'[["' || {lane} || '",1]]'"""),
                f"""'{{"lane":' || {number} || '}}'""",
                *("""'{"name":"__started__"}'""", """'{"__started__":1}'"""),
                *(f"""'{{"' || {lane} || '":1}}'""", f"{len(entries)}", started, started, started),
                "NULL",
            ),
            _insert(
                count,
                "tasks",
                _TASK,
                *("n", _id("Q-"), lane, "1", lane, "'queued'", "true", "0", "NULL", started, "0"),
            ),
            _insert_entries(count, _id("Q-"), entries),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Moments:
    """The moments of the token number `n`, as SQL."""

    database: Database
    count: int

    def after(self, seconds: float) -> str:
        """So long after it started."""
        return self.database.moment(self._seconds(seconds))

    def text_after(self, seconds: float) -> str:
        """The same, as entries have it."""
        return self.database.moment_text(self._seconds(seconds))

    def _seconds(self, seconds: float) -> str:
        day = 24 * 3600
        began = (int(time.time()) // day - _DAYS_AGO) * day
        return f"({began} + {seconds} + n * 0.001)"


def _id(prefix: str) -> str:
    """Ids that sort as they were given."""
    return f"'{prefix}' || substr(CAST(100000000 + n AS text), 2)"


def _accepted(event: str, state: str) -> str:
    return f"""'{{"event":"{event}","payload":null,"state":"{state}"}}'"""


def _serving(graph: Graph) -> str:
    """What a control plane that served ``graph`` has left on record."""
    return (
        f"UPDATE control_plane SET structure = '{structure(graph.document)}', "
        f"checksum = '{graph.checksum}'"
    )


def _numbers(count: int) -> str:
    return (
        f"WITH RECURSIVE numbers (n) AS (SELECT 1 WHERE {count} > 0 "
        f"UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})"
    )


def _insert(count: int, table: str, columns: tuple[str, ...], *values: str) -> str:
    return (
        f"{_numbers(count)} INSERT INTO {table} ({', '.join(columns)}) "
        f"SELECT {', '.join(values)} FROM numbers"
    )


def _insert_entries(count: int, token: str, entries: list[_Entry]) -> str:
    """A token's entries stand side by side in the table, and are written so."""
    seqs = " UNION ALL ".join(f"SELECT {seq} AS seq" for seq in range(1, len(entries) + 1))
    at, kind, data = (
        f"CASE seq {' '.join(f'WHEN {seq} THEN {value}' for seq, value in enumerate(values, 1))} END"
        for values in (
            [entry.at for entry in entries],
            [f"'{entry.kind}'" for entry in entries],
            [entry.data for entry in entries],
        )
    )
    return (
        f"{_numbers(count)} INSERT INTO ledger ({', '.join(_LEDGER)}) "
        f"SELECT {token}, seq, {at}, {kind}, {data} FROM numbers CROSS JOIN ({seqs}) AS seqs"
    )
