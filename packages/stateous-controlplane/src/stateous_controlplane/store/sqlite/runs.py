"""What a batch loads and writes on SQLite when there are runs in it, and only then."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Final

from stateous.json import JsonText, write_json
from stateous_controlplane.engine.rows import Token
from stateous_controlplane.store import run_rows
from stateous_controlplane.store.keys import of_ticket
from stateous_controlplane.store.moments import text_of
from stateous_controlplane.store.port import Changes, Loaded, Needs
from stateous_controlplane.store.rows import Row
from stateous_controlplane.store.run_changes import RunChanges
from stateous_controlplane.store.sqlite.writing import insert, update

_THESE: Final = "IN (SELECT value FROM json_each(?))"
_RUNS: Final = f"SELECT {run_rows.RUN} FROM tokens WHERE token {_THESE}"
_JOBS: Final = f"SELECT {run_rows.JOB} FROM tasks WHERE id {_THESE}"
_TIMER_TEXTS: Final = f"SELECT id, text FROM timers WHERE id {_THESE}"
_OPEN_TICKETS: Final = (
    f"SELECT {run_rows.TICKET} FROM tickets WHERE token {_THESE} AND status = 'open'"
)
_TICKETS: Final = f"SELECT {run_rows.TICKET} FROM tickets WHERE digest {_THESE}"
_KEPT: Final = (
    "SELECT kept.token, kept.seq, kept.top, entry.at, entry.data "
    "FROM kept CROSS JOIN ledger AS entry ON entry.token = kept.token AND entry.seq = kept.seq "
    f"WHERE kept.top {_THESE} AND kept.why = 'deferred' ORDER BY kept.token, kept.seq"
)
_HOLDERS: Final = (
    f"SELECT key, token FROM tokens WHERE key {_THESE} AND status IN ('active', 'paused')"
)
_SENDS: Final = (
    "SELECT "
    + ", ".join(f"outbox.{name}" for name in run_rows.SENT.split(", "))
    + " FROM json_each(?) AS sent CROSS JOIN outbox "
    "WHERE outbox.token = json_extract(sent.value, '$[0]') "
    "AND outbox.seq = json_extract(sent.value, '$[1]')"
)
_ANSWERED: Final = (
    "SELECT entry.token, json_extract(used.value, '$[2]'), entry.data FROM json_each(?) AS used "
    "CROSS JOIN ledger AS entry WHERE entry.token = json_extract(used.value, '$[0]') "
    "AND entry.seq = json_extract(used.value, '$[1]') AND entry.kind = 'ticket_answered'"
)
_UNDELIVERED: Final = "SELECT token, seq FROM outbox WHERE id > 0 ORDER BY id LIMIT ?"
_OVERTIME: Final = "SELECT id FROM tasks WHERE timeout <= ? ORDER BY timeout, id LIMIT ?"

_new_runs = insert("tokens", run_rows.NEW_RUN)
_runs = update("tokens", "token", run_rows.CHANGED_RUN)
_new_jobs = insert("tasks", run_rows.NEW_JOB)
_jobs = update("tasks", "id", run_rows.CHANGED_JOB)
_timer_texts = update("timers", "id", "text")
_tickets = insert(
    "tickets",
    run_rows.TICKET,
    more=" ON CONFLICT (token, state, visit, ticket) DO UPDATE SET status = excluded.status",
)
_kept = insert("kept", "token, seq, top, why, arrival")
_outbox = insert("outbox", run_rows.SENT)
_UNKEEP: Final = "DELETE FROM kept WHERE token = ? AND seq = ?"
_DELIVERED: Final = "DELETE FROM outbox WHERE token = ? AND seq = ?"


def _select(connection: sqlite3.Connection, text: str, values: Iterable[object]) -> list[Row]:
    return connection.execute(text, (write_json(list(values)),)).fetchall()


# ── loading ─────────────────────────────────────────────────────────────


def named_by(connection: sqlite3.Connection, needs: Needs, found: Loaded) -> set[str]:
    """The tokens that tickets, keys of runs and sends lead to."""
    named: set[str] = set()
    if needs.digests:
        for row in _select(connection, _TICKETS, needs.digests):
            found.tickets[row[4]] = run_rows.ticket_of(row)
            named.add(row[0])
    sends = list(needs.sends)
    if sends:
        for row in _select(connection, _SENDS, sends):
            sent = found.outbox[row[0], row[1]] = run_rows.sent_of(row)
            named.add(sent.token)
    keys = needs.run_keys | {sent.key for sent in found.outbox.values()}
    if keys:
        found.key_holders.update(dict.fromkeys(keys))
        found.key_holders.update(_select(connection, _HOLDERS, keys))
        named.update(token for token in found.key_holders.values() if token is not None)
    return named


def complete(connection: sqlite3.Connection, tokens: Collection[Token]) -> None:
    """Give each run its part and its path."""
    runs = {token.token: token for token in tokens}
    for row in _select(connection, _RUNS, runs):
        runs[row[0]].run = run_rows.run_of(row)
        runs[row[0]].configuration = run_rows.configuration_of(row[1])


def load_belongings(connection: sqlite3.Connection, found: Loaded) -> None:
    """What the runs among the tokens have besides: their jobs' parts, tickets, kept events."""
    runs = {token.token: token for token in found.tokens.values() if token.run is not None}
    tasks = {task.id: task for task in found.tasks.values() if task.token in runs}
    for row in _select(connection, _JOBS, tasks):
        tasks[row[0]].job = run_rows.job_of(row)
    timers = [timer.id for timer in found.timers.values() if timer.token in runs]
    for timer, text in _select(connection, _TIMER_TEXTS, timers):
        found.timers[timer].text = text
    for row in _select(connection, _OPEN_TICKETS, runs):
        found.tickets.setdefault(row[4], run_rows.ticket_of(row))
    tops = {token.top for token in runs.values()}
    found.kept += [run_rows.kept_of(row) for row in _select(connection, _KEPT, tops)]


def note_tickets(
    connection: sqlite3.Connection, answers: Collection[tuple[str, int, str]], found: Loaded
) -> None:
    """Which tickets were answered with keys; each of ``answers`` has token, seq and key."""
    before = [(token, seq - 1, key) for token, seq, key in answers]
    for token, key, data in _select(connection, _ANSWERED, before):
        found.keys[token, key] = of_ticket(found.keys[token, key], JsonText(data))


def undelivered(connection: sqlite3.Connection, limit: int) -> tuple[tuple[str, int], ...]:
    """The oldest rows of the outbox."""
    return tuple(connection.execute(_UNDELIVERED, (limit,)).fetchall())


def overtime(connection: sqlite3.Connection, now: datetime, limit: int) -> tuple[int, ...]:
    """Tasks whose attempt is over its time."""
    found = connection.execute(_OVERTIME, (text_of(now), limit)).fetchall()
    return tuple(row[0] for row in found)


# ── writing ─────────────────────────────────────────────────────────────


def write(connection: sqlite3.Connection, changes: RunChanges) -> None:
    """Write runs and jobs; those that changed have a row."""
    _new_runs(connection, [run_rows.new_run_row(each) for each in changes.new_runs])
    _runs(connection, [run_rows.changed_run_row(each) for each in changes.runs])
    _new_jobs(connection, [run_rows.new_job_row(each) for each in changes.new_jobs])
    _jobs(connection, [run_rows.changed_job_row(each) for each in changes.jobs])


def write_belongings(connection: sqlite3.Connection, changes: Changes) -> None:
    """Write what only runs have; the rows of their timers are there."""
    _timer_texts(
        connection, [(each.id, each.text) for each in changes.new_timers if each.text is not None]
    )
    _tickets(connection, [run_rows.ticket_row(ticket) for ticket in changes.tickets])
    _kept(
        connection,
        [(each.token, each.seq, each.top, "deferred", each.seq) for each in changes.kept],
    )
    connection.executemany(_UNKEEP, changes.unkept)
    _outbox(connection, [run_rows.sent_row(sent) for sent in changes.outbox])
    connection.executemany(_DELIVERED, changes.delivered)
