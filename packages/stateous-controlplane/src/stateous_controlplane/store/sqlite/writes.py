"""Writing a batch's net changes: a few set-wise statements for each table.

What never changes of a row is in no UPDATE; an index whose columns stay is not touched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final

from stateous_controlplane.store import rows
from stateous_controlplane.store.port import Changes, NewGraph
from stateous_controlplane.store.rows import Row
from stateous_controlplane.store.run_changes import parted
from stateous_controlplane.store.sqlite import runs
from stateous_controlplane.store.sqlite.writing import Write, delete, insert, update

#: The parts of changes that are lists of rows: the statement that writes one, and how its rows are made.
#: Most batches have few of them.
_PLAIN: Final[tuple[tuple[str, Write, Callable[[Any], Row]], ...]] = (
    (
        "new_tokens",
        insert("tokens", f"{rows.TOKEN_FIXED}, {rows.TOKEN_CHANGING}"),
        rows.new_token_row,
    ),
    ("moves", update("tokens", "token", rows.TOKEN_MOVING), rows.moved_token_row),
    ("tokens", update("tokens", "token", rows.TOKEN_CHANGING), rows.changed_token_row),
    ("positions", update("tokens", "token", "seq, at"), rows.token_position),
    ("new_tasks", insert("tasks", rows.TASK), rows.new_task_row),
    ("tasks", update("tasks", "id", rows.TASK_CHANGING), rows.changed_task_row),
    ("new_timers", insert("timers", rows.TIMER), rows.new_timer_row),
    ("timers", update("timers", "id", rows.TIMER_CHANGING), rows.changed_timer_row),
    ("entries", insert("ledger", rows.ENTRY), rows.entry_row),
)
_memory = Write(
    "INSERT INTO memory (token, state, key, value) VALUES {rows} "
    "ON CONFLICT (token, state, key) DO UPDATE SET value = excluded.value",
    4,
)
_forgotten = delete("memory", "token")
_past_claims = delete("claims", "supervisor")
_claims = insert("claims", "supervisor, request, task, attempt")
_kept = insert("kept", "token, seq, top, why, arrival")
_graphs = insert("graphs", rows.GRAPH, more=" ON CONFLICT (graph) DO NOTHING")
_machines = insert("machines", rows.MACHINE, more=" ON CONFLICT (graph, path) DO NOTHING")
_RELEASE: Final = "DELETE FROM kept WHERE token = ? AND seq = ?"
_DELETE_MEMORY: Final = "DELETE FROM memory WHERE token = ? AND state = ? AND key = ?"


def write(connection: sqlite3.Connection, changes: Changes) -> None:
    """Write ``changes`` in the open transaction.

    Raises:
        StoreError: a row to change does not exist.
    """
    plain, of_runs = parted(changes)
    if of_runs is not None:
        runs.write(connection, of_runs)
    for part, write_part, row_of in _PLAIN:
        if values := getattr(plain, part):
            write_part(connection, [row_of(value) for value in values])
    if changes.memory:
        _write_memory(connection, changes)
    if changes.forgotten:
        _forgotten(connection, [(token,) for token in changes.forgotten])
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
        _past_claims(connection, [(supervisor,) for supervisor in changes.remembered])
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
