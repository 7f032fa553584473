"""The rules that every run keeps, after every command (`docs/spec/statechart.md` 3 to 10, 13).

:mod:`stateous_controlplane.engine.invariants` asks for them, of the tokens whose events are
offered. Each yields what is broken, in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stateous.graph.machine import Child, Flow, JobsWork, State
from stateous.limits import MAX_KEPT_EVENTS
from stateous.statechart.fields import DONE, FAILED
from stateous.statechart.run_ids import child_id
from stateous_controlplane.engine.family import Family
from stateous_controlplane.engine.rows import (
    Entry,
    Status,
    Task,
    TaskStatus,
    TicketStatus,
    TimerKind,
    Token,
)
from stateous_controlplane.engine.runs.fold import fold_run


def path_rules(family: Family, token: Token, flow: Flow) -> Iterator[str]:
    """The active states are the way to a leaf, each in its last visit."""
    run = token.run_part
    names = tuple(active.state for active in token.configuration)
    if not names:
        if token.status.live or token.visits:
            yield "it is in no state"
        return
    leaf = flow.states[names[-1]]
    if leaf.path != names:
        yield f"{names} is no path of its chart"
        return
    if leaf.initial is not None:
        yield f"{leaf.name!r} has states inside, and none is active"
    for state, visit in token.configuration:
        if token.visits.get(state) != visit:
            yield f"visit {visit} of {state!r} is not the last, {token.visits}"
    if len(run.entered) != len(names) or list(run.entered) != sorted(run.entered):
        yield f"it entered {names} at {run.entered}"
    elif run.entered[-1] != token.entered_at:
        yield f"it entered {names[-1]!r} at {run.entered[-1]}, and last at {token.entered_at}"
    yield from _ending_rules(token, leaf)


def _ending_rules(token: Token, leaf: State) -> Iterator[str]:
    """A top-level final ends the run, and nothing else completes it."""
    run = token.run_part
    ending = leaf.ending if len(leaf.path) == 1 else None
    if ending is None:
        if token.status is Status.COMPLETED:
            yield f"it is completed in {leaf.name!r}, which is no final of its chart"
        return
    if token.status is not (Status.COMPLETED if ending.done else Status.FAILED):
        yield f"it is {token.status} in the final {leaf.name!r}"
    if run.output is None:
        yield f"it has ended in {leaf.name!r} without an output"


def state_rules(_: Family, token: Token, flow: Flow) -> Iterator[str]:
    """What a run knows fits its status and its chart."""
    run = token.run_part
    if (run.error is not None) != (token.status is Status.FAILED):
        yield f"it is {token.status}, and its error is {run.error}"
    if run.output is not None and token.status.live:
        yield f"it is {token.status}, and has an output"
    if (run.job is not None) != (token.parent is not None):
        yield f"its parent is {token.parent}, and its job {run.job}"
    if token.parent is not None and (run.key is not None or run.starter is not None):
        yield "it is a child, and has a key or a starter"
    unknown = run.outputs.keys() - flow.states.keys()
    if unknown:
        yield f"{sorted(unknown)} have outputs, and are no states"
    active = {state for state, _ in token.configuration}
    for state, finished in run.finished.items():
        work = flow.states[state].work
        if state not in active or not isinstance(work, JobsWork) or not work.named:
            yield f"the jobs of {state!r} have finished, and it has no such jobs now"
        elif not finished.keys() <= work.jobs.keys():
            yield f"{sorted(finished)} have finished, and {state!r} has {sorted(work.jobs)}"


def family_rules(family: Family, token: Token, flow: Flow) -> Iterator[str]:
    """A child does a job of an active state of its parent, as long as it lives."""
    if token.parent is None:
        if token.top != token.token:
            yield f"it has no parent, and its top token is {token.top}"
        return
    parent = family.tokens.get(token.parent)
    if parent is None or parent.top != token.top or parent.graph != token.graph:
        yield f"its parent {token.parent} is none of its family"
        return
    place = str(token.parent_state), token.parent_visit or 0
    if token.token != child_id(token.parent, *place, str(token.run_part.job)):
        yield f"its id is not that of the job {token.run_part.job!r} in {place}"
    if token.status.live and place not in parent.configuration:
        yield f"it is live, and its parent has left {place}"
    if token.status.live and parent.status is not token.status:
        yield f"it is {token.status}, and its parent is {parent.status}"


def job_rules(family: Family, token: Token, flow: Flow) -> Iterator[str]:
    """Work is open only where the run is, and every job of the innermost state has been begun."""
    tasks = [task for task in family.tasks.values() if task.token == token.token]
    for task in tasks:
        yield from _task_rules(token, flow, task)
    if not token.configuration or not token.status.live:
        return
    here = token.configuration[-1]
    begun = Counter(
        task.job.job for task in tasks if task.job is not None and (task.state, task.visit) == here
    )
    state = flow.states[here.state]
    for job in state.jobs.values():
        expected = 0 if isinstance(job.does, Child) else 1
        if begun[job.name] != expected:
            yield f"this visit of {here.state!r} has {begun[job.name]} tasks of {job.name!r}"


def _task_rules(token: Token, flow: Flow, task: Task) -> Iterator[str]:
    named = f"task {task.id}"
    if task.job is None:
        yield f"{named}: it is no job"
        return
    job = flow.states[task.state].jobs.get(task.job.job)
    if job is None or job.queue != task.queue:
        yield f"{named}: {task.state!r} has no job {task.job.job!r} in {task.queue!r}"
    if task.status.open and not token.status.live:
        yield f"it is {token.status}, and {named} is {task.status}"
    if task.status.open and (task.state, task.visit) not in token.configuration:
        yield f"{named} of {task.state, task.visit} is {task.status}"
    if task.status is TaskStatus.WAITING:
        yield f"{named}: a job waits for no event"
    if (task.job.ends_at is not None) != (task.status is TaskStatus.CLAIMED):
        yield f"{named}: it is {task.status}, and its attempt ends at {task.job.ends_at}"
    if task.job.lost > task.attempt:
        yield f"{named}: it lost {task.job.lost} of {task.attempt} attempts"


def clock_rules(family: Family, token: Token, flow: Flow) -> Iterator[str]:
    """Timers and tickets are those of active states, each once."""
    live = token.configuration if token.status.live else ()
    timers = [timer for timer in family.timers.values() if timer.token == token.token]
    places = Counter((timer.state, timer.visit, timer.event) for timer in timers)
    for place, count in places.items():
        if count > 1:
            yield f"{count} timers are {place}"
    for timer in timers:
        if timer.pending and (timer.state, timer.visit) not in live:
            yield f"timer {timer.id} of {timer.state, timer.visit} is pending"
        if timer.kind not in (TimerKind.LENGTH, TimerKind.CLOCK) or timer.text is None:
            yield f"timer {timer.id} is {timer.kind}, {timer.text!r}"
    for active in live:
        for each in flow.states[active.state].timers:
            if places[(*active, each.name)] != 1:
                yield f"{active} has not started its timer {each.name!r}"
        issued = [
            ticket
            for ticket in family.tickets.values()
            if ticket.token == token.token and (ticket.state, ticket.visit) == active
        ]
        expected = [flow.states[active.state].ticket] if flow.states[active.state].ticket else []
        if [ticket.ticket for ticket in issued] != expected:
            yield f"{active} has issued {[ticket.ticket for ticket in issued]}"
        if any(ticket.status is TicketStatus.VOID for ticket in issued):
            yield f"a ticket of {active} is void"
    for ticket in family.tickets.values():
        issuer = ticket.state, ticket.visit
        mine = ticket.token == token.token and ticket.status is TicketStatus.OPEN
        if mine and issuer not in live:
            yield f"the ticket {ticket.ticket!r} of {issuer} is open"


def kept_rules(family: Family, token: Token, flow: Flow) -> Iterator[str]:
    """What a run keeps is deferred by an active state: all else was offered again."""
    kept = [each for each in family.kept.values() if each.token == token.token]
    if len(kept) > MAX_KEPT_EVENTS:
        yield f"it keeps {len(kept)} events"
    if kept and not token.status.live:
        yield f"it is {token.status}, and keeps {len(kept)} events"
        return
    deferred = {
        event for active in token.configuration for event in flow.states[active.state].defer
    }
    for each in kept:
        if each.event not in deferred:
            yield f"it keeps {each.event!r}, and no active state defers that"


def held_rules(family: Family, token: Token, _: Flow) -> Iterator[str]:
    """A held `done` or `failed` of a job comes from a task that is over."""
    for held in family.held.values():
        if held.token != token.token or held.task is None or held.event not in (DONE, FAILED):
            continue
        task = family.tasks.get(held.task)
        if task is None or task.status not in (TaskStatus.DONE, TaskStatus.FAILED):
            yield f"{held.event!r} is held, and its task is {task and task.status}"


def key_rules(family: Family, token: Token, _: Flow) -> Iterator[str]:
    """A key has one live run at most."""
    key = token.run_part.key
    if key is None or not token.status.live:
        return
    for other in family.tokens.values():
        live_run = other.run if other.status.live and other.token != token.token else None
        if live_run is not None and live_run.key == key:
            yield f"{other.token} has the key {key!r} too"


RUN_RULES = (
    path_rules,
    state_rules,
    family_rules,
    job_rules,
    clock_rules,
    kept_rules,
    held_rules,
    key_rules,
)


def differing(family: Family, token: Token, entries: list[Entry]) -> Iterator[str]:
    """Where the rows of a run are not what folding its ledger gives."""
    run, folded = token.run_part, fold_run(entries)
    rows: dict[str, object] = {
        "status": token.status.value,
        "input": run.input.value,
        "key": run.key,
        "job": run.job,
        "output": None if run.output is None else run.output.value,
        "error": None if run.error is None else tuple(run.error),
        "path": [
            (*active, entered)
            for active, entered in zip(token.configuration, run.entered, strict=False)
        ],
        "visits": token.visits,
        "tasks": {
            task.id: (task.status.value, task.attempt)
            for task in family.tasks.values()
            if task.token == token.token
        },
        "timers": sorted(
            (timer.state, timer.event)
            for timer in family.timers.values()
            if timer.token == token.token and timer.pending
        ),
        "tickets": {
            f"tid_{ticket.digest[:16]}": ticket.state
            for ticket in family.tickets.values()
            if ticket.token == token.token and ticket.status is TicketStatus.OPEN
        },
        "keys": {key for token_id, key in family.keys if token_id == token.token},
        "kept": sorted(each.seq for each in family.kept.values() if each.token == token.token),
        "held": {
            held.seq: held.arrival for held in family.held.values() if held.token == token.token
        },
        "children": sorted(
            child.token
            for child in family.tokens.values()
            if child.parent == token.token
            and (child.parent_state, child.parent_visit) in token.configuration
        ),
    }
    for name, row in rows.items():
        told = getattr(folded, name)
        if name in ("timers", "children"):
            told = sorted(told)
        if told != row:
            yield f"{name}: the rows say {row}, the ledger {told}"
