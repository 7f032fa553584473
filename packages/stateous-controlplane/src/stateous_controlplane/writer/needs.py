"""What a batch has to load, from the requests that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from stateous_controlplane.engine.commands import (
    AddNote,
    Cancel,
    Claim,
    ClaimTask,
    Command,
    EndLease,
    Fire,
    FireTimer,
    Heartbeat,
    Pause,
    RenewLease,
    RepeatGrant,
    ReportEvent,
    ReportFailed,
    ReportWaiting,
    Request,
    Resume,
    Start,
    WriteMemory,
)
from stateous_controlplane.engine.start import possible_parent
from stateous_controlplane.store.port import Needs


def needs_of(requests: Sequence[Request | Command]) -> Needs:
    """All that ``requests`` name, and the tasks that their claims can have."""
    needs = Needs()
    for request in requests:
        if isinstance(request, Claim):
            _add_claim(needs, request)
        else:
            _add(needs, request)
    return needs


def _add_claim(needs: Needs, claim: Claim) -> None:
    # Tasks of runs are none of a workflow's queues, and are not looked for there.
    for queue in set(claim.states):
        needs.queues[queue] = needs.queues.get(queue, 0) + (claim.max or 1)
    if claim.request is not None:
        needs.supervisors.add(claim.supervisor)


def _add(needs: Needs, request: Request | Command) -> None:
    match request:
        case Start(token=token):
            needs.folded.add(token.lower())
            parent = possible_parent(token)
            if parent is not None:
                needs.folded.add(parent.lower())
        case Fire(token=token, key=key):
            needs.tokens.add(token)
            if key is not None:
                needs.keys.add((token, key))
        case Pause(token=token):
            needs.tokens.add(token)
        case Resume(token=token) | Cancel(token=token):
            needs.tokens.add(token)
            needs.held.add(token)
        case Heartbeat(tasks=tasks):
            needs.tasks.update(tasks)
        case FireTimer(timer=timer):
            needs.timers.add(timer)
        case WriteMemory(task=task):
            needs.tasks.add(task)
            needs.memory_of.add(task)
        case (
            ClaimTask(task=task)
            | RepeatGrant(task=task)
            | RenewLease(task=task)
            | ReportEvent(task=task)
            | ReportWaiting(task=task)
            | ReportFailed(task=task)
            | AddNote(task=task)
            | EndLease(task=task)
        ):
            needs.tasks.add(task)
        case Claim():
            raise AssertionError("claims are added by their queues")
        case _:
            assert_never(request)
