"""Working through the agenda of a command (`docs/spec/statechart.md` 14, 7)."""

from __future__ import annotations

from typing import assert_never

from stateous.json import Json, JsonText
from stateous_controlplane.engine.conduct import AttemptFailure
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.replies import Result
from stateous_controlplane.engine.rows import Status, Token
from stateous_controlplane.engine.runs.course import (
    Begin,
    ChildEnded,
    Course,
    Happen,
    Item,
    Post,
)
from stateous_controlplane.engine.runs.events import LEFT
from stateous_controlplane.engine.runs.jobs import job_done, job_failed
from stateous_controlplane.engine.runs.offering import admit, begin, offer, settle
from stateous_controlplane.engine.runs.plan import AtChild, AtParent
from stateous_controlplane.engine.runs.taking import shown_address
from stateous_controlplane.engine.runs.values import NULL

NOT_RUNNING = "not_running"


def run_agenda(draft: Draft, first: Item) -> Result | None:
    """Do ``first``, and all that follows from it in the family; what became of an event."""
    course = Course(draft)
    result = _do(course, first)
    go_through(course)
    return result


def go_through(course: Course) -> None:
    """Do all that the agenda has, until it has nothing more."""
    while course.agenda:
        _do(course, course.agenda.popleft())


def _do(course: Course, item: Item) -> Result | None:
    match item:
        case Happen():
            return _happen(course, item)
        case Begin(run, event):
            if course.draft.seen(run).status is Status.ACTIVE:
                begin(course, run, event)
                settle(course, run)
        case Post():
            _arrive(course, item)
        case ChildEnded(child):
            _child_ended(course, child)
        case _:
            assert_never(item)
    return None


def _happen(course: Course, item: Happen) -> Result | None:
    row = course.draft.seen(item.run)
    if row.status is not Status.ACTIVE:
        return None
    if item.bound is not None and item.bound not in row.configuration:
        return None
    result = offer(course, item.run, item.event)
    settle(course, item.run)
    return result


def _arrive(course: Course, post: Post) -> None:
    """A send inside the family reaches its receiver, or is undelivered."""
    draft = course.draft
    receiver = _receiver(draft, post)
    if receiver is None:
        reason = LEFT if isinstance(post.to, AtParent) else NOT_RUNNING
        undelivered(draft, post.sender, post.send, shown_address(post.to), post.event.name, reason)
        return
    if admit(draft, receiver, post.event):
        offer(course, receiver, post.event)
        settle(course, receiver)


def _receiver(draft: Draft, post: Post) -> str | None:
    """The active run that a send reaches: the child, or the parent in the state that started it."""
    if isinstance(post.to, AtChild):
        child = draft.find(post.to.run)
        return None if child is None or child.status is not Status.ACTIVE else child.token
    sender = draft.seen(post.sender)
    parent = _waiting_parent(draft, sender)
    return None if parent is None else parent.token


def _waiting_parent(draft: Draft, child: Token) -> Token | None:
    """The parent of a child run, while the state that started it is active."""
    assert child.parent is not None
    parent = draft.seen(child.parent)
    place = child.parent_state, child.parent_visit
    if parent.status is not Status.ACTIVE or place not in parent.configuration:
        return None
    return parent


def undelivered(draft: Draft, sender: str, send: int, to: Json, event: str, reason: str) -> None:
    """Record at the sender that a send did not reach anyone."""
    draft.record(sender, "undelivered", send=send, to=to, event=event, reason=reason)


def _child_ended(course: Course, child_id: str) -> None:
    """A child run has ended: its parent's job has finished, if its state is still active."""
    draft = course.draft
    child = draft.seen(child_id)
    parent = _waiting_parent(draft, child)
    if parent is None:
        return
    run = child.run_part
    assert run.job is not None
    assert child.parent_state is not None
    output = run.output or NULL
    draft.record(
        parent.token,
        "branch_ended",
        run=child_id,
        job=run.job,
        status=child.status.value,
        output=output,
    )
    place = parent.token, child.parent_state, run.job
    if child.status is Status.COMPLETED:
        event = job_done(draft, *place, output)
    else:
        event = job_failed(draft, *place, _failure_of(child, output))
    if event is not None:
        offer(course, parent.token, event)
        settle(course, parent.token)


def _failure_of(child: Token, output: JsonText) -> AttemptFailure:
    error = child.run_part.error
    if error is None:
        return AttemptFailure(f"the run {child.token!r} was cancelled", "cancelled", output)
    return AttemptFailure(error.message, output=output)
