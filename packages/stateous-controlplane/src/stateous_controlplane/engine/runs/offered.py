"""The conduct of runs: what time, tasks and pauses bring is an event that is offered.

`docs/spec/statechart.md` 9, 10, 13.
"""

from __future__ import annotations

from dataclasses import replace

from stateous.graph.machine import EventKind
from stateous.statechart.fields import DONE, FAILED
from stateous_controlplane.engine.conduct import AttemptFailure
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.leave import held_of
from stateous_controlplane.engine.rows import Active, Held, Status, Task, Timer, Token
from stateous_controlplane.engine.runs.agenda import run_agenda
from stateous_controlplane.engine.runs.course import Happen
from stateous_controlplane.engine.runs.events import ENDED, LEFT, drop, drop_kept, hold
from stateous_controlplane.engine.runs.jobs import failed_event, job_failed
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.values import NULL, over_limit


class Offered:
    """Events are offered to the active states, from the leaf outward."""

    def timer_due(self, draft: Draft, timer: Timer) -> None:
        """Offer the timer's event; one that nothing takes is dropped."""
        draft.record(timer.token, "timer_fired", event=timer.event, state=timer.state)
        event = Occurrence(timer.event, NULL, timer.state, EventKind.TIMER)
        run_agenda(draft, Happen(timer.token, event))

    def attempt_failed(self, draft: Draft, task: Task, failure: AttemptFailure) -> None:
        """Record that an attempt failed."""
        draft.record(
            task.token, "task_failed", task=task.id, error=failure.error, status=failure.status
        )

    def given_up(self, draft: Draft, task: Task, failure: AttemptFailure) -> None:
        """Raise the job's ``failed``."""
        assert task.job is not None
        if failure.output is not None and over_limit(failure.output) is not None:
            failure = failure._replace(output=None)
        event = job_failed(draft, task.token, task.state, task.job.job, failure)
        bring(draft, task, event)

    def replay(self, draft: Draft, held: Held) -> None:
        """Offer a held event, or drop it when its run has ended or its job's state was left."""
        event = _held_event(draft, held)
        row = draft.seen(held.token)
        place = _place_of(draft, held)
        draft.release(held)
        if row.status is not Status.ACTIVE:
            drop(draft, held.token, event, ENDED)
        elif place is not None and place not in row.configuration:
            drop(draft, held.token, event, LEFT)
        else:
            run_agenda(draft, Happen(held.token, event))

    def drop_waiting(self, draft: Draft, token: Token) -> None:
        """Drop what the run keeps, and what a pause holds for it."""
        if token.status is Status.PAUSED:
            for held in held_of(draft, token.token):
                drop(draft, token.token, _held_event(draft, held), ENDED)
                draft.release(held)
        drop_kept(draft, token.token)


def bring(draft: Draft, task: Task, event: Occurrence) -> None:
    """Offer an event of a job whose state is active, or hold it while its run is paused."""
    if draft.seen(task.token).status is Status.PAUSED:
        hold(draft, task.token, event, task.id)
    else:
        run_agenda(draft, Happen(task.token, event))


def _held_event(draft: Draft, held: Held) -> Occurrence:
    data = held.payload or NULL
    assert held.source is not None
    place = _place_of(draft, held)
    if held.event == FAILED:
        event = failed_event(held.source, data)
    elif held.event == DONE and place is not None:
        event = Occurrence(DONE, data, held.source, output_of=place.state)
    else:
        event = Occurrence(held.event, data, held.source, sender=held.sender, send=held.send)
    return replace(event, again=held.seq)


def _place_of(draft: Draft, held: Held) -> Active | None:
    """The state and visit of the job that a held event is from."""
    if held.task is None:
        return None
    task = draft.effects.tasks.get(held.task) or draft.family.tasks[held.task]
    return Active(task.state, task.visit)
