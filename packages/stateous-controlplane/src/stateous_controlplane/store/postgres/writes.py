"""Writing a batch's net changes: one statement for each table, all sent at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from stateous_controlplane.store import rows
from stateous_controlplane.store.port import Changes, NewGraph
from stateous_controlplane.store.postgres import runs
from stateous_controlplane.store.postgres.arrays import texts
from stateous_controlplane.store.postgres.rounds import Statement
from stateous_controlplane.store.postgres.writing import Delete, Insert, Update
from stateous_controlplane.store.run_changes import parted

_new_tokens = Insert("tokens", f"{rows.TOKEN_FIXED}, {rows.TOKEN_CHANGING}")
_tokens = Update("tokens", "token", rows.TOKEN_CHANGING)
_moves = Update("tokens", "token", rows.TOKEN_MOVING)
_positions = Update("tokens", "token", "seq, at")
_new_tasks = Insert("tasks", rows.TASK)
_tasks = Update("tasks", "id", rows.TASK_CHANGING)
_new_timers = Insert("timers", rows.TIMER)
_timers = Update("timers", "id", rows.TIMER_CHANGING)
_entries = Insert("ledger", rows.ENTRY)
_memory = Insert(
    "memory",
    "token, state, key, value",
    more=" ON CONFLICT (token, state, key) DO UPDATE SET value = excluded.value",
)
_gone_memory = Delete("memory", "token, state, key")
_kept = Insert("kept", "token, seq, top, why, arrival")
_released = Delete("kept", "token, seq")
_claims = Insert("claims", "supervisor, request, task, attempt")
_graphs = Insert("graphs", rows.GRAPH, more=" ON CONFLICT (graph) DO NOTHING")
_machines = Insert("machines", rows.MACHINE, more=" ON CONFLICT (graph, path) DO NOTHING")
_FORGET: Final = "DELETE FROM memory WHERE token = ANY(%s::text[])"
_DELETE_CLAIMS: Final = "DELETE FROM claims WHERE supervisor = ANY(%s::text[])"


def writes_of(changes: Changes) -> Iterator[Statement]:
    """The statements that write ``changes``, in order."""
    plain, of_runs = parted(changes)
    if of_runs is not None:
        yield from runs.writes_of(of_runs)
    yield from _new_tokens([rows.new_token_row(token) for token in plain.new_tokens])
    yield from _tokens([rows.changed_token_row(token) for token in plain.tokens])
    yield from _moves([rows.moved_token_row(token) for token in plain.moves])
    yield from _positions([rows.token_position(token) for token in changes.positions])
    yield from _new_tasks([rows.new_task_row(task) for task in plain.new_tasks])
    yield from _tasks([rows.changed_task_row(task) for task in plain.tasks])
    yield from _new_timers([rows.new_timer_row(timer) for timer in changes.new_timers])
    yield from _timers([rows.changed_timer_row(timer) for timer in changes.timers])
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
    if of_runs is not None:
        yield from runs.belongings_of(changes)
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
