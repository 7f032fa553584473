"""Writing a batch's net changes: one statement for each table, all sent at once.

A statement that changes rows divides by zero when it has not found them all, so that the commit
that was sent along with it fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from stateous_controlplane.store import rows
from stateous_controlplane.store.port import Changes, NewGraph
from stateous_controlplane.store.postgres.arrays import Columns, texts
from stateous_controlplane.store.postgres.rounds import Statement
from stateous_controlplane.store.rows import Row

#: What a write says whose rows are not all there: SQLSTATE of a division by zero.
ROWS_MISSING: Final = "22012"


class _Insert:
    def __init__(self, table: str, names: str, *, more: str = "") -> None:
        self._columns = Columns(names)
        self._text = f"INSERT INTO {table} ({names}) SELECT * FROM {self._columns.unnested}{more}"

    def __call__(self, values: Sequence[Row]) -> Iterator[Statement]:
        if values:
            yield self._text, self._columns.arrays(values)


class _Update:
    def __init__(self, table: str, key: str, names: str) -> None:
        self._columns = Columns(f"{key}, {names}")
        changed = ", ".join(f"{name} = new.{name}" for name in names.split(", "))
        self._text = (
            f"WITH done AS (UPDATE {table} SET {changed} "
            f"FROM {self._columns.unnested} AS new ({key}, {names}) "
            f"WHERE {table}.{key} = new.{key} RETURNING 1) "
            "SELECT 1 / (count(*) = %s::bigint)::int FROM done"
        )

    def __call__(self, values: Sequence[Row]) -> Iterator[Statement]:
        if values:
            yield self._text, [*self._columns.arrays(values), len(values)]


class _Delete:
    def __init__(self, table: str, names: str) -> None:
        self._columns = Columns(names)
        same = " AND ".join(f"{table}.{name} = old.{name}" for name in names.split(", "))
        self._text = (
            f"DELETE FROM {table} USING {self._columns.unnested} AS old ({names}) WHERE {same}"
        )

    def __call__(self, values: Sequence[Row]) -> Iterator[Statement]:
        if values:
            yield self._text, self._columns.arrays(values)


_new_tokens = _Insert("tokens", f"{rows.TOKEN_FIXED}, {rows.TOKEN_CHANGING}")
_tokens = _Update("tokens", "token", rows.TOKEN_CHANGING)
_moves = _Update("tokens", "token", rows.TOKEN_MOVING)
_positions = _Update("tokens", "token", "seq, at")
_new_tasks = _Insert("tasks", rows.TASK)
_tasks = _Update("tasks", "id", rows.TASK_CHANGING)
_new_timers = _Insert("timers", rows.TIMER)
_timers = _Update("timers", "id", rows.TIMER_CHANGING)
_entries = _Insert("ledger", rows.ENTRY)
_memory = _Insert(
    "memory",
    "token, state, key, value",
    more=" ON CONFLICT (token, state, key) DO UPDATE SET value = excluded.value",
)
_gone_memory = _Delete("memory", "token, state, key")
_kept = _Insert("kept", "token, seq, top, why, arrival")
_released = _Delete("kept", "token, seq")
_claims = _Insert("claims", "supervisor, request, task, attempt")
_graphs = _Insert("graphs", rows.GRAPH, more=" ON CONFLICT (graph) DO NOTHING")
_machines = _Insert("machines", rows.MACHINE, more=" ON CONFLICT (graph, path) DO NOTHING")
_FORGET: Final = "DELETE FROM memory WHERE token = ANY(%s::text[])"
_DELETE_CLAIMS: Final = "DELETE FROM claims WHERE supervisor = ANY(%s::text[])"


def writes_of(changes: Changes) -> Iterator[Statement]:
    """The statements that write ``changes``, in order."""
    yield from _new_tokens(
        [rows.token_fixed(token) + rows.token_changing(token) for token in changes.new_tokens]
    )
    yield from _tokens([(token.token, *rows.token_changing(token)) for token in changes.tokens])
    yield from _moves([(token.token, *rows.token_moving(token)) for token in changes.moves])
    yield from _positions([rows.token_position(token) for token in changes.positions])
    yield from _new_tasks(
        [rows.task_fixed(task) + rows.task_changing(task) for task in changes.new_tasks]
    )
    yield from _tasks([(task.id, *rows.task_changing(task)) for task in changes.tasks])
    yield from _new_timers(
        [rows.timer_fixed(timer) + rows.timer_changing(timer) for timer in changes.new_timers]
    )
    yield from _timers([(timer.id, *rows.timer_changing(timer)) for timer in changes.timers])
    yield from _entries([rows.entry_row(entry) for entry in changes.entries])
    yield from _memory(
        [(*place, value.text) for place, value in changes.memory.items() if value is not None]
    )
    yield from _gone_memory([place for place, value in changes.memory.items() if value is None])
    if changes.forgotten:
        yield _FORGET, (texts(changes.forgotten),)
    yield from _kept(
        [(held.token, held.seq, held.top, "held", held.arrival) for held in changes.held]
    )
    yield from _released(list(changes.released))
    yield from graphs_of(changes.graphs)
    if changes.remembered:
        yield _DELETE_CLAIMS, (texts(changes.remembered),)
        yield from _claims(
            [
                (supervisor, remembered.request, granted.task, granted.attempt)
                for supervisor, remembered in changes.remembered.items()
                for granted in remembered.granted
            ]
        )


def graphs_of(graphs: Sequence[NewGraph]) -> Iterator[Statement]:
    """The statements that put documents on record. One that is there already stays as it is."""
    yield from _graphs([rows.graph_row(new) for new in graphs])
    yield from _machines([row for new in graphs for row in rows.machine_rows(new)])
