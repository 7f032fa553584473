"""Writing a batch's net changes: a few set-wise statements for each table.

Each step of a statement lets other threads run and may have to wait until they let go, so rows are
written many at a time: a statement has a fixed number of rows, and its text is prepared once.
What never changes of a row is in no UPDATE; an index whose columns stay is not touched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from stateous.json import write_json
from stateous_controlplane.store import rows
from stateous_controlplane.store.port import Changes, NewGraph, StoreError
from stateous_controlplane.store.rows import Row

# So many rows have a statement of their own, greatest first. The last must be 1.
_ROWS_A_STATEMENT: Final = (32, 8, 2, 1)


class _Write:
    """A statement over rows of values; ``changes`` tells whether each row must find one to change.

    ``text`` has `{rows}` where the rows go.
    """

    def __init__(self, text: str, width: int, *, changes: bool = False) -> None:
        row = f"({', '.join('?' * width)})"
        self._texts = {
            count: text.format(rows=", ".join([row] * count)) for count in _ROWS_A_STATEMENT
        }
        self._changes = changes

    def __call__(self, connection: sqlite3.Connection, values: Sequence[Row]) -> None:
        at = 0
        for count, text in self._texts.items():
            while len(values) - at >= count:
                flat = [value for row in values[at : at + count] for value in row]
                cursor = connection.execute(text, flat)
                if self._changes and cursor.rowcount != count:
                    raise StoreError(f"a row to change is not there (`{text}`)")
                at += count


def _insert(table: str, columns: str, *, more: str = "") -> _Write:
    return _Write(f"INSERT INTO {table} ({columns}) VALUES {{rows}}{more}", columns.count(",") + 1)


def _update(table: str, key: str, columns: str) -> _Write:
    names = columns.split(", ")
    # SQLite names the columns of VALUES column1, column2 and so on.
    changed = ", ".join(f"{name} = new.column{at}" for at, name in enumerate(names, 2))
    return _Write(
        f"UPDATE {table} SET {changed} FROM (VALUES {{rows}}) AS new "
        f"WHERE {table}.{key} = new.column1",
        len(names) + 1,
        changes=True,
    )


_new_tokens = _insert("tokens", f"{rows.TOKEN_FIXED}, {rows.TOKEN_CHANGING}")
_tokens = _update("tokens", "token", rows.TOKEN_CHANGING)
_moves = _update("tokens", "token", rows.TOKEN_MOVING)
_positions = _update("tokens", "token", "seq, at")
_new_tasks = _insert("tasks", rows.TASK)
_tasks = _update("tasks", "id", rows.TASK_CHANGING)
_new_timers = _insert("timers", rows.TIMER)
_timers = _update("timers", "id", rows.TIMER_CHANGING)
_entries = _insert("ledger", rows.ENTRY)
_memory = _Write(
    "INSERT INTO memory (token, state, key, value) VALUES {rows} "
    "ON CONFLICT (token, state, key) DO UPDATE SET value = excluded.value",
    4,
)
_claims = _insert("claims", "supervisor, request, task, attempt")
_kept = _insert("kept", "token, seq, top, why, arrival")
_graphs = _insert("graphs", rows.GRAPH, more=" ON CONFLICT (graph) DO NOTHING")
_machines = _insert("machines", rows.MACHINE, more=" ON CONFLICT (graph, path) DO NOTHING")
_RELEASE: Final = "DELETE FROM kept WHERE token = ? AND seq = ?"
_DELETE_MEMORY: Final = "DELETE FROM memory WHERE token = ? AND state = ? AND key = ?"
_FORGET: Final = "DELETE FROM memory WHERE token IN (SELECT value FROM json_each(?))"
_DELETE_CLAIMS: Final = "DELETE FROM claims WHERE supervisor IN (SELECT value FROM json_each(?))"


def write(connection: sqlite3.Connection, changes: Changes) -> None:
    """Write ``changes`` in the open transaction.

    Raises:
        StoreError: a row to change does not exist.
    """
    _new_tokens(
        connection,
        [rows.token_fixed(token) + rows.token_changing(token) for token in changes.new_tokens],
    )
    _moves(connection, [(token.token, *rows.token_moving(token)) for token in changes.moves])
    _tokens(connection, [(token.token, *rows.token_changing(token)) for token in changes.tokens])
    _positions(connection, [rows.token_position(token) for token in changes.positions])
    _new_tasks(
        connection, [rows.task_fixed(task) + rows.task_changing(task) for task in changes.new_tasks]
    )
    _tasks(connection, [(task.id, *rows.task_changing(task)) for task in changes.tasks])
    _new_timers(
        connection,
        [rows.timer_fixed(timer) + rows.timer_changing(timer) for timer in changes.new_timers],
    )
    _timers(connection, [(timer.id, *rows.timer_changing(timer)) for timer in changes.timers])
    _entries(connection, [rows.entry_row(entry) for entry in changes.entries])
    if changes.memory or changes.forgotten:
        _write_memory(connection, changes)
    if changes.held:
        _kept(
            connection,
            [(each.token, each.seq, each.top, "held", each.arrival) for each in changes.held],
        )
    if changes.released:
        connection.executemany(_RELEASE, changes.released)
    if changes.graphs:
        add_graphs(connection, changes.graphs)
    if changes.remembered:
        connection.execute(_DELETE_CLAIMS, (write_json(list(changes.remembered)),))
        _claims(
            connection,
            [
                (supervisor, remembered.request, granted.task, granted.attempt)
                for supervisor, remembered in changes.remembered.items()
                for granted in remembered.granted
            ],
        )


def add_graphs(connection: sqlite3.Connection, graphs: Sequence[NewGraph]) -> None:
    """Put documents on record. One that is there already stays as it is."""
    _graphs(connection, [rows.graph_row(new) for new in graphs])
    _machines(connection, [row for new in graphs for row in rows.machine_rows(new)])


def _write_memory(connection: sqlite3.Connection, changes: Changes) -> None:
    gone = [place for place, value in changes.memory.items() if value is None]
    connection.executemany(_DELETE_MEMORY, gone)
    _memory(
        connection,
        [(*place, value.text) for place, value in changes.memory.items() if value is not None],
    )
    if changes.forgotten:
        connection.execute(_FORGET, (write_json(list(changes.forgotten)),))
