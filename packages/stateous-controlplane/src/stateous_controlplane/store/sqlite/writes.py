"""Writing a batch's net changes: a few set-wise statements for each table.

What never changes of a row is in no UPDATE; an index whose columns stay is not touched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from stateous.json import write_json
from stateous_controlplane.store import rows
from stateous_controlplane.store.port import Changes, NewGraph
from stateous_controlplane.store.run_changes import parted
from stateous_controlplane.store.sqlite import runs
from stateous_controlplane.store.sqlite.writing import Write, insert, update

_new_tokens = insert("tokens", f"{rows.TOKEN_FIXED}, {rows.TOKEN_CHANGING}")
_tokens = update("tokens", "token", rows.TOKEN_CHANGING)
_moves = update("tokens", "token", rows.TOKEN_MOVING)
_positions = update("tokens", "token", "seq, at")
_new_tasks = insert("tasks", rows.TASK)
_tasks = update("tasks", "id", rows.TASK_CHANGING)
_new_timers = insert("timers", rows.TIMER)
_timers = update("timers", "id", rows.TIMER_CHANGING)
_entries = insert("ledger", rows.ENTRY)
_memory = Write(
    "INSERT INTO memory (token, state, key, value) VALUES {rows} "
    "ON CONFLICT (token, state, key) DO UPDATE SET value = excluded.value",
    4,
)
_claims = insert("claims", "supervisor, request, task, attempt")
_kept = insert("kept", "token, seq, top, why, arrival")
_graphs = insert("graphs", rows.GRAPH, more=" ON CONFLICT (graph) DO NOTHING")
_machines = insert("machines", rows.MACHINE, more=" ON CONFLICT (graph, path) DO NOTHING")
_RELEASE: Final = "DELETE FROM kept WHERE token = ? AND seq = ?"
_DELETE_MEMORY: Final = "DELETE FROM memory WHERE token = ? AND state = ? AND key = ?"
_FORGET: Final = "DELETE FROM memory WHERE token IN (SELECT value FROM json_each(?))"
_DELETE_CLAIMS: Final = "DELETE FROM claims WHERE supervisor IN (SELECT value FROM json_each(?))"


def write(connection: sqlite3.Connection, changes: Changes) -> None:
    """Write ``changes`` in the open transaction.

    Raises:
        StoreError: a row to change does not exist.
    """
    plain, of_runs = parted(changes)
    if of_runs is not None:
        runs.write(connection, of_runs)
    _new_tokens(
        connection,
        [rows.token_fixed(token) + rows.token_changing(token) for token in plain.new_tokens],
    )
    _moves(connection, [(token.token, *rows.token_moving(token)) for token in plain.moves])
    _tokens(connection, [(token.token, *rows.token_changing(token)) for token in plain.tokens])
    _positions(connection, [rows.token_position(token) for token in plain.positions])
    _new_tasks(
        connection, [rows.task_fixed(task) + rows.task_changing(task) for task in plain.new_tasks]
    )
    _tasks(connection, [(task.id, *rows.task_changing(task)) for task in plain.tasks])
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
    if of_runs is not None:
        runs.write_belongings(connection, changes)
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
