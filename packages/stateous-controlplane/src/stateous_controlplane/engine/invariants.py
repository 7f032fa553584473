"""The rules that every family keeps, after every command, whatever came in whatever order.

They are not what the engine decides by, but what must be true of all that it has decided. Each rule
looks at whole families: all rows that there are, ended ones too, and the whole ledger. What is
broken is told in words, one sentence for each place; tests and the simulation ask for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from stateous.graph.machine import Delivery, Flow, Machine, ParallelWork, State
from stateous.names import child_token_id
from stateous_controlplane.engine.family import Family
from stateous_controlplane.engine.fold import fold
from stateous_controlplane.engine.rows import Entry, Status, Task, TaskStatus, TimerKind, Token
from stateous_controlplane.engine.runs.invariants import RUN_RULES, differing

Machines = Mapping[str, Machine]


def broken_rules(family: Family, ledger: Iterable[Entry], machines: Machines) -> list[str]:
    """The rules of `docs/spec/wire.md` 9 that ``family`` and its ``ledger`` break, in words.

    ``ledger`` has the entries of all tokens of the family, each token's in the order of ``seq``;
    ``machines`` those of the documents that they are pinned to.
    """
    return [*broken_rows(family, machines), *broken_ledger(family, ledger)]


def broken_rows(family: Family, machines: Machines) -> list[str]:
    """The rules that the rows of a whole family break."""
    return [
        *_rules_of_tokens(family, machines),
        *_task_rules(family),
        *_timer_rules(family),
        *_held_rules(family),
        *_leftover_rules(family),
    ]


def broken_ledger(family: Family, ledger: Iterable[Entry]) -> list[str]:
    """Where the rows of a whole family are not what folding the ledger gives."""
    entries: dict[str, list[Entry]] = {token: [] for token in family.tokens}
    for entry in ledger:
        entries[entry.token].append(entry)
    return [
        f"{token.token}: {words}"
        for token in family.tokens.values()
        for words in _ledger_rules(family, token, entries[token.token])
    ]


# ── tokens and their children ───────────────────────────────────────────


def _rules_of_tokens(family: Family, machines: Machines) -> Iterator[str]:
    for token in family.tokens.values():
        for words in _rules_of_one(family, token, machines):
            yield f"{token.token}: {words}"


def _rules_of_one(family: Family, token: Token, machines: Machines) -> Iterator[str]:
    yield from _moment_rules(token)
    flow = _flow(token, machines)
    unknown = [state for state, _ in token.configuration if state not in flow.states]
    if unknown:
        yield f"{flow.name!r} has no state {unknown[0]!r}"
    elif flow.policy.delivery is Delivery.OFFERED:
        for run_rule in RUN_RULES:
            yield from run_rule(family, token, flow)
    else:
        for rule in (_token_rules, _child_rules, _work_rules, _join_rules):
            yield from rule(family, token, machines)


def _state(token: Token, machines: Machines) -> State:
    return _flow(token, machines).states[token.state]


def _flow(token: Token, machines: Machines) -> Flow:
    return machines[token.graph].flow(token.workflow)


def _token_rules(_: Family, token: Token, machines: Machines) -> Iterator[str]:
    if len(token.configuration) != 1:
        yield f"{len(token.configuration)} states are active, and a workflow's token has one"
    if token.visits.get(token.state) != token.visit:
        yield f"visit {token.visit} of {token.state!r} is not the last, {token.visits}"


def _moment_rules(token: Token) -> Iterator[str]:
    if (token.ended_at is None) != token.status.live:
        yield f"it is {token.status}, and ended at {token.ended_at}"
    if (token.paused_at is not None) != (token.status is Status.PAUSED):
        yield f"it is {token.status}, and paused at {token.paused_at}"
    if not token.started_at <= token.entered_at <= token.at:
        yield f"it started, entered and was last at {token.started_at, token.entered_at, token.at}"


def _child_rules(family: Family, token: Token, machines: Machines) -> Iterator[str]:
    if token.parent is None:
        if token.top != token.token:
            yield f"it has no parent, and its top token is {token.top}"
        return
    parent = family.tokens.get(token.parent)
    if parent is None or parent.top != token.top:
        yield f"its parent {token.parent} is none of its family"
        return
    place = token.parent_state, token.parent_visit
    if token.token != child_token_id(
        token.parent, str(token.parent_state), token.parent_visit or 0, str(token.workflow)
    ):
        yield f"its id is not that of {token.workflow!r} in {place}"
    if not token.status.live:
        return
    if place != (parent.state, parent.visit):
        yield f"it is live, and its parent has left {place}"
    if parent.status is not token.status:
        yield f"it is {token.status}, and its parent is {parent.status}"


def _work_rules(family: Family, token: Token, machines: Machines) -> Iterator[str]:
    """A live token has exactly the work of its state: no token is left without a way on."""
    work = _state(token, machines).work
    tasks = [task for task in family.tasks.values() if task.token == token.token]
    opened = [task for task in tasks if task.status.open]
    for task in opened:
        if not token.status.live:
            yield f"it is {token.status}, and task {task.id} is {task.status}"
        if (task.state, task.visit) != (token.state, token.visit):
            yield f"task {task.id} of {task.state, task.visit} is {task.status}"
    here = [task for task in tasks if (task.state, task.visit) == (token.state, token.visit)]
    if isinstance(work, ParallelWork):
        if here:
            yield f"the parallel state {token.state!r} has {len(here)} tasks"
    elif len(here) != 1:
        yield f"this visit of {token.state!r} has {len(here)} tasks"
    elif token.status.live and not opened and not _holds_outcome(family, here[0]):
        yield f"nobody can work on {token.state!r}: its task is {here[0].status}"


def _holds_outcome(family: Family, task: Task) -> bool:
    return any(held.task == task.id for held in family.held.values())


def _join_rules(family: Family, token: Token, machines: Machines) -> Iterator[str]:
    work = _state(token, machines).work
    children = {
        str(child.workflow): child
        for child in family.tokens.values()
        if child.parent == token.token
        and (child.parent_state, child.parent_visit) == (token.state, token.visit)
    }
    if not isinstance(work, ParallelWork):
        if children:
            yield f"{token.state!r} is not parallel, and has the children {sorted(children)}"
        return
    if sorted(children) != sorted(work.workflows):
        yield f"this visit of {token.state!r} has the children {sorted(children)}"
    if not token.status.live:
        return
    ended = [child for child in children.values() if not child.status.live]
    if work.join == "any" and ended:
        yield f"{ended[0].token} has ended, and join 'any' has not fired"
    if len(ended) == len(work.workflows):
        yield "all children have ended, and join 'all' has not fired"
    if any(child.status is Status.CANCELLED for child in ended):
        yield "a child was cancelled, and its parent has not left the state"


# ── tasks and timers ────────────────────────────────────────────────────


def _task_rules(family: Family) -> Iterator[str]:
    places = set()
    for task in family.tasks.values():
        named = f"task {task.id}"
        token = family.tokens.get(task.token)
        if token is None:
            yield f"{named}: there is no token {task.token}"
            continue
        place = task.token, task.state, task.visit, None if task.job is None else task.job.job
        if place in places:
            yield f"{named}: {place} has another task"
        places.add(place)
        queued = task.status is TaskStatus.QUEUED
        if task.ready != (queued and token.status is Status.ACTIVE):
            yield f"{named}: it is {task.status}, its token {token.status}, and ready {task.ready}"
        if (task.lease_until is not None) != (task.status is TaskStatus.CLAIMED):
            yield f"{named}: it is {task.status}, and its lease ends at {task.lease_until}"
        if task.status.worked_on and task.claimed_by is None:
            yield f"{named}: it is {task.status}, and nobody claimed it"
        if queued and task.claimed_by is not None:
            yield f"{named}: it is queued, and {task.claimed_by} has it"
        if task.claimed_by is not None and task.attempt < 1:
            yield f"{named}: {task.claimed_by} has its attempt {task.attempt}"


def _timer_rules(family: Family) -> Iterator[str]:
    timeouts = set()
    for timer in family.timers.values():
        named = f"timer {timer.id}"
        token = family.tokens.get(timer.token)
        if token is None:
            yield f"{named}: there is no token {timer.token}"
            continue
        if timer.ready != (timer.pending and token.status is Status.ACTIVE):
            yield (
                f"{named}: it is {timer.status}, its token {token.status}, and ready {timer.ready}"
            )
        if timer.due_at <= timer.set_at:
            yield f"{named}: it was set at {timer.set_at} for {timer.due_at}"
        if timer.kind is TimerKind.TIMEOUT:
            place = timer.token, timer.state, timer.visit
            if place in timeouts:
                yield f"{named}: {place} has another timeout"
            timeouts.add(place)
        if not timer.pending:
            continue
        if not token.status.live:
            yield f"{named}: it is pending, and its token is {token.status}"
        if (timer.state, timer.visit) not in token.configuration:
            yield f"{named}: it is pending, and its token has left {timer.state, timer.visit}"


# ── what a pause holds, memory, keys ────────────────────────────────────


def _held_rules(family: Family) -> Iterator[str]:
    if family.holding != len(family.held):
        yield f"{len(family.held)} events are held, and {family.holding} are counted"
    arrivals = sorted(held.arrival for held in family.held.values())
    if arrivals != list(range(1, len(arrivals) + 1)):
        yield f"the arrivals of the held events are {arrivals}"
    for held in family.held.values():
        token = family.tokens[held.token]
        if token.status is not Status.PAUSED:
            yield f"{token.token} is {token.status}, and {held.event!r} is held"
        if held.state is None:
            continue
        if (held.state, held.visit) != (token.state, token.visit):
            yield f"{held.event!r} of {held.state, held.visit} is held, which the token left"
        task = family.tasks.get(held.task or 0)
        if task is None or task.status not in (TaskStatus.DONE, TaskStatus.FAILED):
            yield f"{held.event!r} is held, and its task is {task and task.status}"


def _leftover_rules(family: Family) -> Iterator[str]:
    for (token_id, state), values in family.memory.items():
        token = family.tokens.get(token_id)
        if values and (token is None or not token.status.live):
            yield f"{token_id}: memory of {state!r} is left, and the token has ended"
        elif values and token is not None and state not in token.visits:
            yield f"{token_id}: there is memory of {state!r}, where it never was"


# ── the ledger ──────────────────────────────────────────────────────────


def _ledger_rules(family: Family, token: Token, entries: list[Entry]) -> Iterator[str]:
    if [entry.seq for entry in entries] != list(range(1, len(entries) + 1)):
        yield "its entries do not count 1, 2, 3 …"
    if not entries or (entries[-1].seq, entries[-1].at) != (token.seq, token.at):
        yield f"its last entry is not number {token.seq} of {token.at}"
        return
    if any(later.at < earlier.at for earlier, later in pairwise(entries)):
        yield "its entries go back in time"
    if token.run is not None:
        yield from differing(family, token, entries)
        return
    folded = fold(entries)
    rows: dict[str, object] = {
        "status": token.status.value,
        "state": token.state,
        "visit": token.visit,
        "entered_at": token.entered_at,
        "counts": token.counts,
        "visits": token.visits,
        "tasks": {
            task.id: (task.status.value, task.attempt)
            for task in family.tasks.values()
            if task.token == token.token
        },
        "keys": {key for token_id, key in family.keys if token_id == token.token},
        "held": sorted(held.arrival for held in family.held.values() if held.token == token.token),
        "children": [
            child.token
            for child in family.tokens.values()
            if child.parent == token.token
            and (child.parent_state, child.parent_visit) == (token.state, token.visit)
        ],
    }
    for name, row in rows.items():
        told = getattr(folded, name)
        if name == "children":
            told, row = sorted(told), sorted(row)  # type: ignore[call-overload]
        if told != row:
            yield f"{name}: the rows say {row}, the ledger {told}"
