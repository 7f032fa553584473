"""What a batch has to load, from the requests that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from stateous_controlplane.engine.commands import (
    AddNote,
    AnswerTicket,
    Cancel,
    Claim,
    ClaimTask,
    Deliver,
    Emit,
    EndAttempt,
    EndLease,
    Fire,
    FireTimer,
    Heartbeat,
    Pause,
    RenewLease,
    RepeatGrant,
    ReportDone,
    ReportEvent,
    ReportFailed,
    ReportWaiting,
    Resume,
    SendEvent,
    Start,
    SubmitRun,
    WriteMemory,
)
from stateous_controlplane.engine.start import possible_parent
from stateous_controlplane.store.port import Needs
from stateous_controlplane.writer.requests import Emits, PutGraph, Submitted


def needs_of(requests: Sequence[Submitted]) -> Needs:
    """All that ``requests`` name, and the tasks that their claims can have."""
    needs = Needs()
    for request in requests:
        if isinstance(request, Claim):
            _add_claim(needs, request)
        else:
            _add(needs, request)
    return needs


def _add_claim(needs: Needs, claim: Claim) -> None:
    for queue in set(claim.queues):
        needs.queues[queue] = needs.queues.get(queue, 0) + (claim.max or 1)
    if claim.request is not None:
        needs.supervisors.add(claim.supervisor)


def _add(needs: Needs, request: Submitted) -> None:
    match request:
        case Start(token=token):
            _add_new(needs, token)
        case (
            ReportEvent(task=task)
            | ClaimTask(task=task)
            | RepeatGrant(task=task)
            | RenewLease(task=task)
            | ReportWaiting(task=task)
            | ReportFailed(task=task)
            | ReportDone(task=task)
            | Emit(task=task)
            | Emits(task=task)
            | EndAttempt(task=task)
            | AddNote(task=task)
            | EndLease(task=task)
        ):
            needs.tasks.add(task)
        case Fire(token=token, key=key):
            needs.tokens.add(token)
            if key is not None:
                needs.keys.add((token, key))
        case Pause(token=token):
            needs.tokens.add(token)
        case SubmitRun(run=run, key=key):
            _add_new(needs, run)
            if key is not None:
                needs.run_keys.add(key)
        case SendEvent(run=run, key=key):
            needs.tokens.add(run)
            if key is not None:
                needs.keys.add((run, key))
        case AnswerTicket(digest=digest, key=key):
            keys = needs.digests.setdefault(digest, set())
            if key is not None:
                keys.add(key)
        case Deliver(sender=sender, seq=seq):
            needs.sends.add((sender, seq))
        case PutGraph(record=record):
            needs.graphs.add(record.checksum)
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
        case Claim():
            raise AssertionError("claims are added by their queues")
        case _:
            assert_never(request)


def _add_new(needs: Needs, token: str) -> None:
    """A token that is to be made, and what could be in the way of its id."""
    needs.folded.add(token.lower())
    parent = possible_parent(token)
    if parent is not None:
        needs.folded.add(parent.lower())
