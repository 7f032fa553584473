"""The engine's one door: a command on a family becomes a reply and effects.

The laws: no I/O, no clock, no randomness, no logging. A refusal is a value. The family stays as it
was; whoever accepts the decision lets it evolve by the effects.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from stateous_controlplane.engine.commands import (
    AddNote,
    AnswerTicket,
    Cancel,
    ClaimTask,
    Command,
    Deliver,
    Emit,
    EndAttempt,
    EndLease,
    Fire,
    FireTimer,
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
from stateous_controlplane.engine.conducts import CONDUCTS
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.effects import Effects
from stateous_controlplane.engine.failures import end_attempt, end_lease
from stateous_controlplane.engine.family import Family, Situation
from stateous_controlplane.engine.fire import fire
from stateous_controlplane.engine.joins import settle
from stateous_controlplane.engine.notes import add_note, write_memory
from stateous_controlplane.engine.replies import Reply
from stateous_controlplane.engine.reports import report_event, report_failed, report_waiting
from stateous_controlplane.engine.runs.clients import answer_ticket, send_event
from stateous_controlplane.engine.runs.delivery import deliver
from stateous_controlplane.engine.runs.reports import emit, report_done
from stateous_controlplane.engine.runs.submit import submit
from stateous_controlplane.engine.start import start
from stateous_controlplane.engine.steering import cancel_token, pause_token, resume_token
from stateous_controlplane.engine.tasks import claim, renew, repeat
from stateous_controlplane.engine.timers import fire_timer


class Decision(NamedTuple):
    """What a command is answered, and what it changes."""

    reply: Reply
    effects: Effects


class Unready(NamedTuple):
    """It cannot be decided before someone looks up whether these ids, folded, are taken."""

    ids: frozenset[str]


def decide(family: Family, command: Command, situation: Situation) -> Decision | Unready:
    """Decide one command on its family.

    `docs/spec/wire.md` 3 and `docs/spec/statechart.md` 14 lay down how.
    """
    draft = Draft(family, situation, CONDUCTS)
    reply = _reply(draft, command)
    settle(draft)
    if draft.assumed_free:
        return Unready(frozenset(draft.assumed_free))
    return Decision(reply, draft.effects)


def _reply(draft: Draft, command: Command) -> Reply:
    match command:
        case ClaimTask():
            return claim(draft, command)
        case ReportEvent():
            return report_event(draft, command)
        case Start():
            return start(draft, command)
        case Fire():
            return fire(draft, command)
        case RenewLease():
            return renew(draft, command)
        case RepeatGrant():
            return repeat(draft, command)
        case ReportWaiting():
            return report_waiting(draft, command)
        case ReportFailed():
            return report_failed(draft, command)
        case AddNote():
            return add_note(draft, command)
        case WriteMemory():
            return write_memory(draft, command)
        case Pause():
            return pause_token(draft, command)
        case Resume():
            return resume_token(draft, command)
        case Cancel():
            return cancel_token(draft, command)
        case EndLease():
            return end_lease(draft, command)
        case FireTimer():
            return fire_timer(draft, command)
        case SubmitRun():
            return submit(draft, command)
        case SendEvent():
            return send_event(draft, command)
        case AnswerTicket():
            return answer_ticket(draft, command)
        case ReportDone():
            return report_done(draft, command)
        case Emit():
            return emit(draft, command)
        case Deliver():
            return deliver(draft, command)
        case EndAttempt():
            return end_attempt(draft, command)
        case _:
            assert_never(command)
