"""Rows of both databases as the engine's values and back; each codec beside its columns.

What an engine command does not look at stays text (:class:`JsonText`). Moments are texts too:
Postgres takes the form that SQLite stores, and its own differs in nothing that reading it minds.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from stateous.json import JsonText, write_json
from stateous_controlplane.engine.rows import (
    Active,
    Entry,
    Status,
    Task,
    TaskStatus,
    Timer,
    TimerKind,
    TimerStatus,
    Token,
)
from stateous_controlplane.store.moments import moment_of, moment_or_none, text_of, text_or_none
from stateous_controlplane.store.records import NewGraph
from stateous_controlplane.store.views import TokenView

#: A row as the driver gives it: what its columns hold is known by whoever wrote the SELECT.
Row: TypeAlias = tuple[Any, ...]

# Looking a status up in a dict costs a fifth of calling its enum, its `str` a quarter of its `value`.
_STATUS: Final = {status.value: status for status in Status}
_TASK_STATUS: Final = {status.value: status for status in TaskStatus}
_TIMER_STATUS: Final = {status.value: status for status in TimerStatus}
_TIMER_KIND: Final = {kind.value: kind for kind in TimerKind}

# The tokens of a workflow have few different configurations and counts, and these are small.
_ALIKE: Final = 4096


@lru_cache(_ALIKE)
def _configuration(text: str) -> tuple[Active, ...]:
    return tuple([Active(*pair) for pair in JsonText(text).value])


@lru_cache(_ALIKE)
def _numbers(text: str) -> tuple[tuple[str, int], ...]:
    return tuple(JsonText(text).value.items())


@lru_cache(_ALIKE)
def _written(configuration: tuple[Active, ...]) -> str:
    return write_json(configuration)


@lru_cache(_ALIKE)
def _written_numbers(numbers: tuple[tuple[str, int], ...]) -> str:
    return write_json(dict(numbers))


TOKEN: Final = (
    "token, top, parent, parent_state, parent_visit, workflow, graph, status, configuration, "
    "context, entered_by, counts, visits, seq, at, entered_at, started_at, paused_at, ended_at, "
    "kind"
)


def token_of(row: Row) -> Token:
    """The token of a row of :data:`TOKEN`. What a run has besides is read apart, its path too."""
    return Token(
        token=row[0],
        top=row[1],
        parent=row[2],
        parent_state=row[3],
        parent_visit=row[4],
        workflow=row[5],
        graph=row[6],
        status=_STATUS[row[7]],
        configuration=_configuration(row[8]) if row[19] == "token" else (),
        context=JsonText(row[9]),
        entered_by=JsonText(row[10]),
        counts=dict(_numbers(row[11])),
        visits=dict(_numbers(row[12])),
        seq=row[13],
        at=moment_of(row[14]),
        entered_at=moment_of(row[15]),
        started_at=moment_of(row[16]),
        paused_at=moment_or_none(row[17]),
        ended_at=moment_or_none(row[18]),
    )


#: What of a token's row never changes; what changes with a move; and the rest.
TOKEN_FIXED: Final = (
    "token, folded, kind, top, parent, parent_state, parent_visit, workflow, started_at"
)
TOKEN_MOVING: Final = (
    "state, visit, configuration, context, entered_by, counts, visits, seq, at, entered_at"
)
TOKEN_CHANGING: Final = f"{TOKEN_MOVING}, graph, status, paused_at, ended_at"


def token_fixed(token: Token, kind: str = "token") -> Row:
    """The values of :data:`TOKEN_FIXED`."""
    return (
        token.token,
        token.token.lower(),
        kind,
        token.top,
        token.parent,
        token.parent_state,
        token.parent_visit,
        token.workflow,
        text_of(token.started_at),
    )


def token_moving(token: Token) -> Row:
    """The values of :data:`TOKEN_MOVING`."""
    state, visit = token.configuration[-1]
    return (
        state,
        visit,
        _written(token.configuration),
        token.context.text,
        token.entered_by.text,
        _written_numbers(tuple(token.counts.items())),
        _written_numbers(tuple(token.visits.items())),
        token.seq,
        text_of(token.at),
        text_of(token.entered_at),
    )


def token_changing(token: Token) -> Row:
    """The values of :data:`TOKEN_CHANGING`."""
    return (*token_moving(token), *token_standing(token))


def token_standing(token: Token) -> Row:
    """What a mere move leaves."""
    return (
        token.graph,
        str(token.status),
        text_or_none(token.paused_at),
        text_or_none(token.ended_at),
    )


def new_token_row(token: Token) -> Row:
    """The values of :data:`TOKEN_FIXED` and :data:`TOKEN_CHANGING`."""
    return (*token_fixed(token), *token_changing(token))


def changed_token_row(token: Token) -> Row:
    """The id, and the values of :data:`TOKEN_CHANGING`."""
    return (token.token, *token_changing(token))


def moved_token_row(token: Token) -> Row:
    """The id, and the values of :data:`TOKEN_MOVING`."""
    return (token.token, *token_moving(token))


def token_position(token: Token) -> Row:
    """Id, ``seq`` and ``at``."""
    return (token.token, token.seq, text_of(token.at))


TOKEN_VIEW: Final = "token, state, status, visit, context, entered_at, parent"


def token_view(row: Row) -> TokenView:
    """What an answer shows, of a row of :data:`TOKEN_VIEW`."""
    return TokenView(row[0], row[1], row[2], row[3], row[4], moment_of(row[5]), row[6])


TASK_FIXED: Final = "id, token, state, visit, queue"
TASK_CHANGING: Final = "queued_at, status, ready, attempt, claimed_by, lease_until, last_number"
TASK: Final = f"{TASK_FIXED}, {TASK_CHANGING}"


def task_of(row: Row) -> Task:
    """The task of a row of :data:`TASK`."""
    return Task(
        id=row[0],
        token=row[1],
        state=row[2],
        visit=row[3],
        queue=row[4],
        queued_at=moment_of(row[5]),
        status=_TASK_STATUS[row[6]],
        ready=bool(row[7]),
        attempt=row[8],
        claimed_by=row[9],
        lease_until=moment_or_none(row[10]),
        last_number=row[11],
    )


def task_fixed(task: Task) -> Row:
    """The values of :data:`TASK_FIXED`."""
    return (task.id, task.token, task.state, task.visit, task.queue)


def task_changing(task: Task) -> Row:
    """The values of :data:`TASK_CHANGING`."""
    return (
        text_of(task.queued_at),
        str(task.status),
        task.ready,
        task.attempt,
        task.claimed_by,
        text_or_none(task.lease_until),
        task.last_number,
    )


def new_task_row(task: Task) -> Row:
    """The values of :data:`TASK`."""
    return (*task_fixed(task), *task_changing(task))


def changed_task_row(task: Task) -> Row:
    """The id, and the values of :data:`TASK_CHANGING`."""
    return (task.id, *task_changing(task))


TIMER_FIXED: Final = "id, token, state, visit, kind, event, payload, set_at"
TIMER_CHANGING: Final = "due_at, status, ready"
TIMER: Final = f"{TIMER_FIXED}, {TIMER_CHANGING}"


def timer_of(row: Row) -> Timer:
    """The timer of a row of :data:`TIMER`."""
    return Timer(
        id=row[0],
        token=row[1],
        state=row[2],
        visit=row[3],
        kind=_TIMER_KIND[row[4]],
        event=row[5],
        payload=None if row[6] is None else JsonText(row[6]),
        set_at=moment_of(row[7]),
        due_at=moment_of(row[8]),
        status=_TIMER_STATUS[row[9]],
        ready=bool(row[10]),
    )


def timer_fixed(timer: Timer) -> Row:
    """The values of :data:`TIMER_FIXED`."""
    return (
        timer.id,
        timer.token,
        timer.state,
        timer.visit,
        str(timer.kind),
        timer.event,
        None if timer.payload is None else timer.payload.text,
        text_of(timer.set_at),
    )


def timer_changing(timer: Timer) -> Row:
    """The values of :data:`TIMER_CHANGING`."""
    return (text_of(timer.due_at), str(timer.status), timer.ready)


def new_timer_row(timer: Timer) -> Row:
    """The values of :data:`TIMER`."""
    return (*timer_fixed(timer), *timer_changing(timer))


def changed_timer_row(timer: Timer) -> Row:
    """The id, and the values of :data:`TIMER_CHANGING`."""
    return (timer.id, *timer_changing(timer))


ENTRY: Final = "token, seq, at, kind, key, data"


def entries_of(found: Iterable[Row]) -> list[Entry]:
    """The entries of rows of :data:`ENTRY`."""
    return [
        Entry(token, seq, moment_of(at), kind, JsonText(data), key)
        for token, seq, at, kind, key, data in found
    ]


def entry_row(entry: Entry) -> Row:
    """The values of :data:`ENTRY`."""
    return (entry.token, entry.seq, text_of(entry.at), entry.kind, entry.key, entry.data.text)


GRAPH: Final = "graph, kind, name, structure, contract, document, added_at"


def graph_row(new: NewGraph) -> Row:
    """The values of :data:`GRAPH`."""
    record = new.record
    return (
        record.checksum,
        record.kind,
        record.name,
        record.structure,
        record.contract,
        record.document,
        text_of(new.added_at),
    )


MACHINE: Final = "graph, path, name"


def machine_rows(new: NewGraph) -> list[Row]:
    """The values of :data:`MACHINE`, for each machine of a statechart."""
    return [(new.record.checksum, path, name) for path, name in new.record.machines.items()]
