"""What a batch loads and writes on Postgres when there are runs in it, and only then.

The tokens that tickets, keys and sends lead to are locked with the others. What belongs to runs is
read in a round of its own, once it is known which of the tokens are runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from stateous.json import JsonText
from stateous_controlplane.engine.rows import Token
from stateous_controlplane.store import run_rows
from stateous_controlplane.store.keys import of_ticket
from stateous_controlplane.store.port import Changes, Loaded, Needs
from stateous_controlplane.store.postgres.arrays import numbers, texts
from stateous_controlplane.store.postgres.rounds import Statement
from stateous_controlplane.store.postgres.writing import Delete, Insert, Update
from stateous_controlplane.store.rows import Row
from stateous_controlplane.store.run_changes import RunChanges

# What can be named, each a source of tokens (see the statements).
_BY_DIGEST: Final = "SELECT token FROM tickets WHERE digest = ANY(%s::text[])"
_BY_KEY: Final = (
    "SELECT token FROM tokens WHERE key = ANY(%s::text[]) AND status IN ('active', 'paused')"
)

_TICKETS: Final = f"SELECT {run_rows.TICKET} FROM tickets WHERE digest = ANY(%s::text[])"
_HOLDERS: Final = (
    "SELECT key, token FROM tokens WHERE key = ANY(%s::text[]) AND status IN ('active', 'paused')"
)
_SENDS: Final = (
    "SELECT "
    + ", ".join(f"outbox.{name}" for name in run_rows.SENT.split(", "))
    + " FROM unnest(%s::text[], %s::bigint[]) AS sent (token, seq) JOIN outbox "
    "ON outbox.token = sent.token AND outbox.seq = sent.seq"
)
_RUNS: Final = f"SELECT {run_rows.RUN} FROM tokens WHERE token = ANY(%s::text[])"
_JOBS: Final = f"SELECT {run_rows.JOB} FROM tasks WHERE id = ANY(%s::bigint[])"
_TIMER_TEXTS: Final = "SELECT id, text FROM timers WHERE id = ANY(%s::bigint[])"
_OPEN_TICKETS: Final = (
    f"SELECT {run_rows.TICKET} FROM tickets WHERE token = ANY(%s::text[]) AND status = 'open'"
)
_KEPT: Final = (
    "SELECT kept.token, kept.seq, kept.top, entry.at, entry.data "
    "FROM kept JOIN ledger AS entry ON entry.token = kept.token AND entry.seq = kept.seq "
    "WHERE kept.top = ANY(%s::text[]) AND kept.why = 'deferred' ORDER BY kept.token, kept.seq"
)
_ANSWERED: Final = (
    "SELECT entry.token, used.key, entry.data "
    "FROM unnest(%s::text[], %s::bigint[], %s::text[]) AS used (token, seq, key) "
    "JOIN ledger AS entry ON entry.token = used.token AND entry.seq = used.seq "
    "AND entry.kind = 'ticket_answered'"
)
UNDELIVERED: Final = "SELECT token, seq FROM outbox WHERE id > 0 ORDER BY id LIMIT %s::bigint"
OVERTIME: Final = (
    "SELECT id FROM tasks WHERE timeout <= %s::text ORDER BY timeout, id LIMIT %s::bigint"
)

# ── loading ─────────────────────────────────────────────────────────────


def sends_of(needs: Needs) -> Statement:
    """The rows of the outbox that are wanted."""
    sends = list(needs.sends)
    return _SENDS, (texts(token for token, _ in sends), numbers(seq for _, seq in sends))


def take_sends(there: Collection[Row], found: Loaded) -> None:
    """Take in the rows of :func:`sends_of`."""
    for row in there:
        found.outbox[row[0], row[1]] = run_rows.sent_of(row)


def sources(needs: Needs, keys: set[str]) -> dict[str, str]:
    """Where tokens come from that tickets and keys lead to: statement to its parameter."""
    there: dict[str, str] = {}
    if needs.digests:
        there[_BY_DIGEST] = texts(needs.digests)
    if keys:
        there[_BY_KEY] = texts(keys)
    return there


def look_ups(needs: Needs, keys: set[str]) -> dict[str, Statement]:
    """The tickets and holders of keys, under the locks."""
    return {"tickets": (_TICKETS, (texts(needs.digests),)), "holders": (_HOLDERS, (texts(keys),))}


def take_look_ups(keys: set[str], answers: Mapping[str, list[Row]], found: Loaded) -> None:
    """Take in the rows of :func:`look_ups`."""
    for row in answers.get("tickets", ()):
        found.tickets[row[4]] = run_rows.ticket_of(row)
    found.key_holders.update(dict.fromkeys(keys))
    found.key_holders.update(answers.get("holders", ()))


def belongings(runs: dict[str, Token], found: Loaded) -> list[Statement]:
    """What is to be read of ``runs``."""
    tasks = [task.id for task in found.tasks.values() if task.token in runs]
    timers = [timer.id for timer in found.timers.values() if timer.token in runs]
    tokens = texts(runs)
    return [
        (_RUNS, (tokens,)),
        (_JOBS, (numbers(tasks),)),
        (_TIMER_TEXTS, (numbers(timers),)),
        (_OPEN_TICKETS, (tokens,)),
        (_KEPT, (texts({token.top for token in runs.values()}),)),
    ]


def take_belongings(runs: dict[str, Token], answers: Collection[list[Row]], found: Loaded) -> None:
    """Take in the rows of :func:`belongings`."""
    parts, jobs, timer_texts, tickets, kept = answers
    for row in parts:
        runs[row[0]].run = run_rows.run_of(row)
        runs[row[0]].configuration = run_rows.configuration_of(row[1])
    for row in jobs:
        found.tasks[row[0]].job = run_rows.job_of(row)
    for timer, text in timer_texts:
        found.timers[timer].text = text
    for row in tickets:
        found.tickets.setdefault(row[4], run_rows.ticket_of(row))
    found.kept += [run_rows.kept_of(row) for row in kept]


def answered(answers: Collection[tuple[str, int, str]]) -> Statement:
    """Which tickets were answered with keys; each of ``answers`` has token, seq and key."""
    return _ANSWERED, (
        texts(token for token, _, _ in answers),
        numbers(seq - 1 for _, seq, _ in answers),
        texts(key for _, _, key in answers),
    )


def take_answered(there: Collection[Row], found: Loaded) -> None:
    """Take in the rows of :func:`answered`."""
    for token, key, data in there:
        found.keys[token, key] = of_ticket(found.keys[token, key], JsonText(data))


# ── writing ─────────────────────────────────────────────────────────────

_new_runs = Insert("tokens", run_rows.NEW_RUN)
_runs = Update("tokens", "token", run_rows.CHANGED_RUN)
_new_jobs = Insert("tasks", run_rows.NEW_JOB)
_jobs = Update("tasks", "id", run_rows.CHANGED_JOB)
_timer_texts = Update("timers", "id", "text")
_tickets = Insert(
    "tickets",
    run_rows.TICKET,
    more=" ON CONFLICT (token, state, visit, ticket) DO UPDATE SET status = excluded.status",
)
_kept = Insert("kept", "token, seq, top, why, arrival")
_unkept = Delete("kept", "token, seq")
_outbox = Insert("outbox", run_rows.SENT)
_delivered = Delete("outbox", "token, seq")


def writes_of(changes: RunChanges) -> Iterator[Statement]:
    """The statements that write runs and jobs."""
    yield from _new_runs([run_rows.new_run_row(each) for each in changes.new_runs])
    yield from _runs([run_rows.changed_run_row(each) for each in changes.runs])
    yield from _new_jobs([run_rows.new_job_row(each) for each in changes.new_jobs])
    yield from _jobs([run_rows.changed_job_row(each) for each in changes.jobs])


def belongings_of(changes: Changes) -> Iterator[Statement]:
    """The statements that write what only runs have; the rows of their timers are there."""
    yield from _timer_texts(
        [(each.id, each.text) for each in changes.new_timers if each.text is not None]
    )
    yield from _tickets([run_rows.ticket_row(ticket) for ticket in changes.tickets])
    yield from _kept(
        [(each.token, each.seq, each.top, "deferred", each.seq) for each in changes.kept]
    )
    yield from _unkept(list(changes.unkept))
    yield from _outbox([run_rows.sent_row(sent) for sent in changes.outbox])
    yield from _delivered(list(changes.delivered))
