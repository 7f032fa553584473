"""What a batch loads and writes in memory when there are runs in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from stateous.json import JsonText
from stateous_controlplane.engine.rows import JobPart, TaskStatus, TicketStatus
from stateous_controlplane.store.keys import of_ticket
from stateous_controlplane.store.memory.tables import Tables
from stateous_controlplane.store.port import Changes, Loaded, Needs, StoreError


def named_by(seen: Tables, needs: Needs, loaded: Loaded) -> set[str]:
    """The tokens that tickets, keys of runs and sends lead to."""
    loaded.tickets = {each: seen.tickets[each] for each in needs.digests.keys() & seen.tickets}
    loaded.outbox = {
        place: sent for place in needs.sends if (sent := seen.outbox.get(place)) is not None
    }
    keys = needs.run_keys | {sent.key for sent in loaded.outbox.values()}
    loaded.key_holders = dict.fromkeys(keys)
    for token in seen.tokens.values():
        if token.run is not None and token.run.key in keys and token.status.live:
            loaded.key_holders[token.run.key] = token.token
    named = {ticket.token for ticket in loaded.tickets.values()}
    named |= {sent.token for sent in loaded.outbox.values()}
    return named | {token for token in loaded.key_holders.values() if token is not None}


def load_belongings(seen: Tables, loaded: Loaded) -> None:
    """The open tickets and kept events of the runs that were loaded."""
    runs = {token.token: token.top for token in loaded.tokens.values() if token.run is not None}
    for digest, ticket in seen.tickets.items():
        if ticket.token in runs and ticket.status is TicketStatus.OPEN:
            loaded.tickets[digest] = ticket
    kept = [each for each in seen.deferred.values() if each and each.top in runs.values()]
    loaded.kept = sorted(kept, key=lambda each: (each.token, each.seq))


def note_tickets(seen: Tables, loaded: Loaded) -> None:
    """Which tickets were answered with the keys that were looked up."""
    for entry in seen.ledger.values():
        use = loaded.keys.get((entry.token, entry.key or ""))
        before = seen.ledger.get((entry.token, entry.seq - 1))
        if use and use.result and before and before.kind == "ticket_answered":
            loaded.keys[entry.token, entry.key or ""] = of_ticket(use, JsonText(before.data.text))


def overtime(seen: Tables, now: datetime, limit: int) -> tuple[int, ...]:
    """Tasks whose attempt is over its time."""
    over = sorted(
        (task.job.ends_at, task.id)
        for task in seen.tasks.values()
        if task.job is not None
        and task.job.ends_at is not None
        and task.status is TaskStatus.CLAIMED
        and task.job.ends_at <= now
    )
    return tuple(task for _, task in over[:limit])


def undelivered(seen: Tables, limit: int) -> tuple[tuple[str, int], ...]:
    """The oldest rows of the outbox."""
    return tuple(place for place, sent in seen.outbox.items() if sent is not None)[:limit]


def write(seen: Tables, written: Tables, changes: Changes) -> None:
    """Write what only runs have; ``seen`` has the runs and jobs of ``changes`` already.

    Raises:
        StoreError: two live runs have one key, or two tickets one digest.
    """
    _check_keys(seen)
    for ticket in changes.tickets:
        other = seen.tickets.get(ticket.digest, ticket)
        if replace(ticket, status=other.status) != other:
            raise StoreError("the database refused the changes: a digest is there already")
        written.tickets[ticket.digest] = ticket
    for kept in changes.kept:
        written.deferred[kept.token, kept.seq] = kept
    for place in changes.unkept:
        written.deferred[place] = None
    for sent in changes.outbox:
        written.outbox[sent.token, sent.seq] = sent
    for place in changes.delivered:
        written.outbox[place] = None


def _check_keys(seen: Tables) -> None:
    taken: set[str] = set()
    for token in seen.tokens.values():
        key = token.run.key if token.run is not None and token.status.live else None
        if key in taken:
            raise StoreError(f"the database refused the changes: the key {key!r} is there already")
        if key is not None:
            taken.add(key)


def with_fixed(job: JobPart | None, old: JobPart | None) -> JobPart | None:
    """``job`` with what no change of a job's row changes."""
    return None if job is None or old is None else replace(job, job=old.job, input=old.input)
