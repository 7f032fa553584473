"""Offering an event to a run, and settling what follows (`docs/spec/statechart.md` 5, 6, 14)."""

from __future__ import annotations

from dataclasses import replace

from stateous.graph.machine import Flow, Rule, State
from stateous.limits import MAX_KEPT_EVENTS, MAX_STEPS
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.leave import flow_of
from stateous_controlplane.engine.replies import Result
from stateous_controlplane.engine.rows import Failure, Status, Token
from stateous_controlplane.engine.runs.choosing import Choice, choose
from stateous_controlplane.engine.runs.course import ChildEnded, Course
from stateous_controlplane.engine.runs.ending import fail_run
from stateous_controlplane.engine.runs.events import (
    FULL,
    INVALID_DATA,
    NO_RULE,
    NOT_DEFERRED,
    UNDECLARED,
    accept,
    drop,
    keep,
    kept_event,
)
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.plan import Planner
from stateous_controlplane.engine.runs.taking import do
from stateous_controlplane.engine.runs.values import StepFailed


def offer(
    course: Course, run: str, event: Occurrence, choice: Choice | None = None
) -> Result | None:
    """Offer ``event`` to an active run: one step. None when the run fails because of it.

    ``choice`` is what :func:`.choosing.choose` gave for it, when that is known already.
    """
    draft, row = course.draft, course.draft.seen(run)
    if course.step(run) > MAX_STEPS:
        fail_run(draft, run, Failure("loop", f"more than {MAX_STEPS} steps in one command"))
        return None
    if event.output_of is not None:
        row = _put_output(draft, run, event)
    if choice is None:
        choice = chosen(draft, row, event)
    remark(draft, run, event, choice)
    if choice.found is not None:
        return take(course, run, event, *choice.found)
    if event.failure is not None:
        fail_run(draft, run, event.failure)
        return None
    return _untaken(draft, row, event)


def take(
    course: Course, run: str, event: Occurrence, state: State, rule: Rule, ticket: str | None = None
) -> Result:
    """Let a rule of the active ``state`` take ``event``, which answers the ticket with that id.

    When the step cannot be planned the run fails, and the event counts as taken.
    """
    draft, row = course.draft, course.draft.seen(run)
    key, flow = draft.situation.ticket_key, flow_of(draft, run)
    accept(draft, run, event, state.name, rule.go, ticket)
    try:
        plan = Planner(key, row, flow, event, draft.now).take(state, rule)
    except StepFailed as failed:
        fail_run(draft, run, failed.failure)
    else:
        do(course, run, plan)
    return Result.TAKEN


def begin(course: Course, run: str, event: Occurrence) -> None:
    """Let a new run enter its initial state."""
    draft, row = course.draft, course.draft.seen(run)
    key, flow = draft.situation.ticket_key, flow_of(draft, run)
    try:
        plan = Planner(key, row, flow, event, draft.now).start()
    except StepFailed as failed:
        fail_run(draft, run, failed.failure)
    else:
        do(course, run, plan)


def settle(course: Course, run: str) -> None:
    """Take what the run's steps raise and what it keeps and can take now; then let all else go."""
    while course.draft.seen(run).status is Status.ACTIVE and _go_on(course, run):
        pass
    row, left = course.draft.seen(run), course.left(run)
    course.agenda += left.starts
    course.agenda += left.posts
    course.draft.effects.outbox += left.keyed
    for each in (left.starts, left.posts, left.keyed):
        each.clear()
    if row.parent is not None and not row.status.live:
        course.agenda.append(ChildEnded(run))


def _go_on(course: Course, run: str) -> bool:
    """Offer the next event that the run has for itself, if there is one."""
    raised = course.left(run).raised
    if raised:
        offer(course, run, raised.popleft())
        return True
    for kept in course.draft.kept(run):
        event = kept_event(kept)
        choice = _due(course.draft, course.draft.seen(run), event)
        if choice is not None:
            course.draft.unkeep(kept)
            offer(course, run, event, choice)
            return True
    return False


def _due(draft: Draft, row: Token, event: Occurrence) -> Choice | None:
    """What takes a kept event, when it is to be offered again: nobody defers it, or a rule can."""
    choice = chosen(draft, row, event)
    if choice.found is None and _deferred(flow_of(draft, row.token), row, event):
        return None
    return choice


def chosen(draft: Draft, row: Token, event: Occurrence) -> Choice:
    """Which rule takes ``event``. Nothing is recorded."""
    return choose(draft.situation.ticket_key, row, flow_of(draft, row.token), event)


def remark(draft: Draft, run: str, event: Occurrence, choice: Choice) -> None:
    """Record the conditions that counted as false without being so."""
    for each in choice.remarks:
        draft.record(
            run,
            "note",
            about="condition",
            state=each.state,
            event=event.name,
            transition=each.transition,
            text=each.text,
        )


def admit(draft: Draft, run: str, event: Occurrence) -> bool:
    """Whether a chart that declares events has this one with such data; else it is dropped."""
    flow = flow_of(draft, run)
    shape = flow.events.get(event.name)
    if shape is None:
        if flow.open_events:
            return True
        drop(draft, run, event, UNDECLARED)
        return False
    if shape.payload is not None and shape.payload.problems(event.data.value):
        drop(draft, run, event, INVALID_DATA)
        return False
    return True


def _untaken(draft: Draft, row: Token, event: Occurrence) -> Result:
    if event.keepable and _deferred(flow_of(draft, row.token), row, event):
        if len(draft.kept(row.token)) < MAX_KEPT_EVENTS:
            keep(draft, row.token, event)
            return Result.KEPT
        drop(draft, row.token, event, FULL)
    else:
        drop(draft, row.token, event, NOT_DEFERRED if event.kept else NO_RULE)
    return Result.DROPPED


def _deferred(flow: Flow, row: Token, event: Occurrence) -> bool:
    return any(event.name in flow.states[active.state].defer for active in row.configuration)


def _put_output(draft: Draft, run: str, event: Occurrence) -> Token:
    """The output of a state is that of its jobs from the moment that its `done` is offered."""
    row = draft.token(run)
    assert event.output_of is not None
    row.run = replace(row.run_part, outputs={**row.run_part.outputs, event.output_of: event.data})
    return row
