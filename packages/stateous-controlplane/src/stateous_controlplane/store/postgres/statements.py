"""What a batch has to know, as statements that take the whole batch.

A batch is loaded in two rounds. The first locks: the top tokens of all that is named, in the order
of their ids, so that two writers never wait for each other in a circle; and the families of the
tasks that claims can have, of which those that somebody else has locked are passed over. The second
round then reads what is under the locks. Each look-up is by a key or a partial index, whose
condition the statement repeats.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from stateous_controlplane.store import rows

# What can be named, each a source of tokens with one parameter.
BY_TOKEN: Final = "SELECT unnest(%s::text[])"
BY_FOLDED: Final = "SELECT token FROM tokens WHERE folded = ANY(%s::text[])"
BY_TASK: Final = "SELECT token FROM tasks WHERE id = ANY(%s::bigint[])"
BY_TIMER: Final = "SELECT token FROM timers WHERE id = ANY(%s::bigint[])"
BY_SUPERVISOR: Final = (
    "SELECT task.token FROM claims JOIN tasks AS task ON task.id = claims.task "
    "AND task.attempt = claims.attempt AND task.status = 'claimed' "
    "WHERE claims.supervisor = ANY(%s::text[])"
)


@lru_cache(64)
def lock_named(sources: tuple[str, ...]) -> str:
    """Lock the top tokens of all that ``sources`` name, and wait for them.

    Each row: a named token, its id without case, and its top token.
    """
    return (
        "SELECT own.token, own.folded, own.top "
        "FROM tokens AS own JOIN tokens AS top ON top.token = own.top "
        f"WHERE own.token IN ({' UNION '.join(sources)}) ORDER BY own.top FOR UPDATE OF top"
    )


# To the planner a comparison with an expression lets few tokens through: for a few hundred tasks it
# would join the whole queue and sort it. OFFSET 0 has it look each task's token up, one by one.
#: The oldest ready tasks of queues, so many of each, whose families nobody else has locked; and
#: lock these. Each row: task, token, top token, queue, and since when it is there.
LOCK_QUEUED: Final = (
    "SELECT queued.id, queued.token, queued.top, asked.queue, queued.queued_at "
    "FROM unnest(%s::text[], %s::bigint[]) AS asked (queue, count) CROSS JOIN LATERAL ("
    "SELECT task.id, task.token, own.top, task.queued_at FROM tasks AS task "
    "CROSS JOIN LATERAL (SELECT one.top FROM tokens AS one WHERE one.token = task.token "
    "OFFSET 0) AS own "
    "JOIN tokens AS top ON top.token = own.top "
    "WHERE task.queue = asked.queue AND task.ready ORDER BY task.queued_at, task.id "
    "LIMIT asked.count FOR UPDATE OF top SKIP LOCKED) AS queued"
)
#: The same without locks: what :data:`LOCK_QUEUED` gives when nobody else has any.
QUEUED: Final = (
    "SELECT asked.queue, queued.queued_at, queued.id "
    "FROM unnest(%s::text[], %s::bigint[]) AS asked (queue, count) CROSS JOIN LATERAL ("
    "SELECT task.id, task.queued_at FROM tasks AS task "
    "CROSS JOIN LATERAL (SELECT one.top FROM tokens AS one WHERE one.token = task.token "
    "AND one.kind || '' = 'token' OFFSET 0) AS own "
    "WHERE task.queue = asked.queue AND task.ready ORDER BY task.queued_at, task.id "
    "LIMIT asked.count) AS queued"
)
REMEMBERED: Final = (
    "SELECT supervisor, request, task, attempt, EXISTS ("
    "SELECT 1 FROM tasks WHERE id = claims.task AND attempt = claims.attempt "
    "AND status = 'claimed') "
    "FROM claims WHERE supervisor = ANY(%s::text[]) ORDER BY supervisor, request, task"
)
HELD: Final = (
    "SELECT kept.token, kept.seq, kept.top, kept.arrival, entry.at, entry.data "
    "FROM kept JOIN ledger AS entry ON entry.token = kept.token AND entry.seq = kept.seq "
    "WHERE kept.top = ANY(%s::text[]) AND kept.why = 'held' ORDER BY kept.top, kept.arrival"
)


def _of(alias: str, names: str) -> str:
    return ", ".join(f"{alias}.{name}" for name in names.split(", "))


# The live rows of families, by their top tokens.
_LIVE: Final = (
    "tokens AS live WHERE live.top = ANY(%s::text[]) AND live.status IN ('active', 'paused')"
)

#: The tokens that are named, the live ones of their families, and the children, ended ones too, of
#: each live one's current visit. Parameters: the named tokens; top tokens, twice. The last column:
#: how many events a pause of the family holds, for a top token that is paused.
FAMILIES: Final = (
    f"SELECT {rows.TOKEN}, CASE WHEN parent IS NULL AND status = 'paused' THEN ("
    "SELECT count(*) FROM kept WHERE kept.top = found.token AND kept.why = 'held') END FROM ("
    "SELECT * FROM tokens WHERE token = ANY(%s::text[]) "
    f"UNION ALL SELECT live.* FROM {_LIVE} "
    "UNION ALL SELECT child.* FROM tokens AS live JOIN tokens AS child "
    "ON child.parent = live.token AND child.parent_state = live.state "
    "AND child.parent_visit = live.visit "
    "WHERE live.top = ANY(%s::text[]) AND live.status IN ('active', 'paused')) AS found"
)

#: Tasks by their ids, and the open ones of families. Parameters: ids; top tokens.
TASKS: Final = (
    f"SELECT {rows.TASK} FROM tasks WHERE id = ANY(%s::bigint[]) "
    f"UNION ALL SELECT {_of('task', rows.TASK)} FROM ({{live}}) AS live JOIN tasks AS task "
    "ON task.token = live.token AND "
    "(task.status = 'queued' OR task.status = 'claimed' OR task.status = 'waiting')"
).format(live=f"SELECT live.token FROM {_LIVE}")

#: Timers by their ids, and the pending ones of families. Parameters: ids; top tokens.
TIMERS: Final = (
    f"SELECT {rows.TIMER} FROM timers WHERE id = ANY(%s::bigint[]) "
    f"UNION ALL SELECT {_of('timer', rows.TIMER)} FROM ({{live}}) AS live JOIN timers AS timer "
    "ON timer.token = live.token AND timer.status = 'pending'"
).format(live=f"SELECT live.token FROM {_LIVE}")

KEYS: Final = (
    "SELECT entry.token, entry.key, entry.kind, entry.data, entry.seq "
    "FROM unnest(%s::text[], %s::text[]) AS used (token, key) JOIN ledger AS entry "
    "ON entry.token = used.token AND entry.key = used.key AND entry.key IS NOT NULL"
)
MEMORY: Final = (
    "SELECT memory.token, memory.state, memory.key, memory.value "
    "FROM unnest(%s::text[], %s::text[]) AS place (token, state) JOIN memory "
    "ON memory.token = place.token AND memory.state = place.state"
)
MEMORY_OF: Final = (
    "SELECT memory.token, memory.state, memory.key, memory.value FROM tasks AS task JOIN memory "
    "ON memory.token = task.token AND memory.state = task.state WHERE task.id = ANY(%s::bigint[])"
)
ENDED_LEASES: Final = (
    "SELECT id FROM tasks WHERE status = 'claimed' AND lease_until < %s::timestamptz "
    "ORDER BY lease_until, id LIMIT %s::bigint"
)
DUE_TIMERS: Final = "SELECT id FROM timers WHERE ready AND due_at <= %s::timestamptz ORDER BY due_at, id LIMIT %s::bigint"
GRAPH: Final = "SELECT document FROM graphs WHERE graph = %s"
GRAPHS: Final = "SELECT graph FROM graphs WHERE graph = ANY(%s::text[])"
