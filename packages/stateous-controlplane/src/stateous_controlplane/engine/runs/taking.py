"""Taking an event: what its step was planned to do is done (`docs/spec/statechart.md` 4).

The order of the ledger is that of the plan: what leaving does, leaf first, the transition's sends,
what entering does, outermost first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stateous.graph.machine import Child, Job, State
from stateous.json import Json, JsonText
from stateous.statechart.fields import DONE, FAILED, PARENT
from stateous.statechart.tickets import digest, id_of_digest
from stateous.wire.moments import write_moment
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.leave import cancel, live_children
from stateous_controlplane.engine.rows import (
    Active,
    JobPart,
    Sent,
    TaskStatus,
    Ticket,
    TicketStatus,
    TimerStatus,
    Token,
)
from stateous_controlplane.engine.runs.beginning import begin_child
from stateous_controlplane.engine.runs.course import Course, Post
from stateous_controlplane.engine.runs.ending import end_in, ended_in
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.plan import (
    Address,
    AtChild,
    AtKey,
    AtParent,
    BuiltSend,
    DueTimer,
    Entering,
    Plan,
)


def do(course: Course, run: str, plan: Plan) -> None:
    """Do a whole step of ``run``."""
    for leaving in plan.leaving:
        _send(course, run, leaving.sends)
        _leave(course.draft, run, leaving.active)
    _send(course, run, plan.sends)
    for entering in plan.entering:
        _enter(course, run, entering)
    if plan.output is not None:
        _end(course, run, plan.entering[-1].state, plan.output)


# ── leaving ─────────────────────────────────────────────────────────────


def _leave(draft: Draft, run: str, active: Active) -> None:
    """Leave the innermost state: all that belongs to this visit of it is over."""
    row = draft.token(run)
    for task in draft.open_tasks(run):
        if (task.state, task.visit) == active:
            draft.close_task(task.id, TaskStatus.CANCELLED)
            draft.record(run, "task_cancelled", task=task.id)
    for child in live_children(draft, row):
        cancel(draft, child.token, f"the parent left {active.state!r}")
    for pending in draft.pending_timers(run):
        if (pending.state, pending.visit) == active:
            timer = draft.timer(pending.id)
            timer.status = TimerStatus.CANCELLED
            timer.ready = False
    for ticket in draft.open_tickets(run):
        if (ticket.state, ticket.visit) == active:
            draft.put_ticket(replace(ticket, status=TicketStatus.VOID))
    finished = {
        state: each for state, each in row.run_part.finished.items() if state != active.state
    }
    row.run = replace(row.run_part, entered=row.run_part.entered[:-1], finished=finished)
    row.configuration = row.configuration[:-1]
    draft.record(run, "left", state=active.state, visit=active.visit)


# ── sends ───────────────────────────────────────────────────────────────


def _send(course: Course, run: str, sends: Sequence[BuiltSend]) -> None:
    for send in sends:
        _send_one(course, run, send)


def _send_one(course: Course, run: str, send: BuiltSend) -> None:
    draft, row = course.draft, course.draft.seen(run)
    told: dict[str, Json | JsonText] = {
        "to": shown_address(send.to),
        "event": send.event,
        "data": send.data,
        "state": send.state,
    }
    alone = isinstance(send.to, AtParent) and row.parent is None
    if alone:
        told["delivery"] = "recorded"
    seq = draft.record(run, "sent", **told)
    if isinstance(send.to, AtKey):
        sent = Sent(run, seq, send.to.key, send.to.machine, send.event, send.data, draft.now)
        course.left(run).keyed.append(sent)
    elif not alone:
        source = PARENT if isinstance(send.to, AtChild) else str(row.branch)
        event = Occurrence(send.event, send.data, source, sender=run, send=seq)
        course.left(run).posts.append(Post(run, seq, send.to, event))


def shown_address(address: Address) -> Json:
    """The receiver as the chart writes it, with a key's value."""
    match address:
        case AtParent():
            return PARENT
        case AtChild(job=job):
            return job
        case AtKey(key, None):
            return {"key": key}
        case AtKey(key, machine):
            return {"machine": machine, "key": key}


# ── entering ────────────────────────────────────────────────────────────


def _enter(course: Course, run: str, entering: Entering) -> None:
    draft = course.draft
    row = draft.token(run)
    name, visit = entering.state.name, entering.visit
    row.visits[name] = visit
    row.configuration = (*row.configuration, Active(name, visit))
    row.entered_at = draft.now
    row.run = replace(row.run_part, entered=(*row.run_part.entered, draft.now))
    draft.record(run, "entered", state=name, visit=visit)
    for timer in entering.timers:
        _set_timer(draft, row, timer)
    if entering.ticket is not None and entering.state.ticket is not None:
        _issue(draft, row, entering.state.ticket, entering.ticket)
    _send(course, run, entering.sends)
    _start_jobs(course, row, entering.jobs)


def _set_timer(draft: Draft, row: Token, timer: DueTimer) -> None:
    after = timer.due_at - draft.now
    draft.add_timer(row, timer.kind, timer.name, after, text=timer.text)
    draft.record(
        row.token,
        "timer_set",
        event=timer.name,
        state=row.state,
        text=timer.text,
        due_at=write_moment(timer.due_at),
    )


def _issue(draft: Draft, row: Token, ticket: str, value: str) -> None:
    found = digest(value)
    draft.put_ticket(Ticket(row.token, row.state, row.visit, ticket, found, draft.now))
    draft.record(row.token, "ticket_issued", ticket=ticket, state=row.state, id=id_of_digest(found))


def _start_jobs(course: Course, row: Token, jobs: Sequence[tuple[Job, JsonText]]) -> None:
    """Start the jobs in order. The children enter their states once the run has settled."""
    draft = course.draft
    for job, given in jobs:
        if isinstance(job.does, Child):
            course.left(row.token).starts.append(begin_child(draft, row, job, given))
            continue
        task = draft.add_task(row, job.queue)
        task.job = JobPart(job.name, given)
        draft.record(
            row.token,
            "task_queued",
            task=task.id,
            job=job.name,
            state=row.state,
            visit=row.visit,
        )


# ── finals ──────────────────────────────────────────────────────────────


def _end(course: Course, run: str, final: State, output: JsonText) -> None:
    """A final was entered: it ends the state around it, or the run."""
    draft, ending = course.draft, final.ending
    assert ending is not None
    if len(final.path) == 1:
        end_in(draft, run, final.name, ending, output)
        return
    around = final.path[-2]
    row = draft.token(run)
    outputs = {**row.run_part.outputs, final.name: output, around: output}
    row.run = replace(row.run_part, outputs=outputs)
    if ending.done:
        raised = Occurrence(DONE, output, around)
    else:
        failure = ended_in(final.name)
        data = JsonText.fields(status="failed", error=failure.message, output=output)
        raised = Occurrence(FAILED, data, around, failure=failure)
    course.left(run).raised.append(raised)
