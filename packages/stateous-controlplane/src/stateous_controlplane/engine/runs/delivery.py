"""Delivering sends to keys: from the outbox, each in a command of its own (`docs/spec/statechart.md` 7).

A send to a key leaves its run as a row of the outbox, in the transaction of the step that sent it.
Its delivery takes the row away in the transaction in which the receiver's run moves, a new run
starts, or the sender's ledger says that it is undelivered. So whatever dies when, it happens once.
"""

from __future__ import annotations

from stateous.statechart.inputs import BadInput
from stateous.statechart.run_ids import sent_id
from stateous_controlplane.engine.commands import Deliver
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.replies import Done, Reply, Skipped
from stateous_controlplane.engine.rows import Run, Sent, Status, Token
from stateous_controlplane.engine.runs.agenda import run_agenda, undelivered
from stateous_controlplane.engine.runs.beginning import begin_run, passed_input
from stateous_controlplane.engine.runs.course import Happen
from stateous_controlplane.engine.runs.events import hold
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.offering import admit
from stateous_controlplane.engine.runs.plan import AtKey
from stateous_controlplane.engine.runs.taking import shown_address

NO_RUN = "no_run"
INVALID_INPUT = "invalid_input"


def deliver(draft: Draft, command: Deliver) -> Reply:
    """Deliver one send; look again, for it may have been delivered."""
    sent = draft.family.outbox.get((command.sender, command.seq))
    if sent is None:
        return Skipped()
    draft.effects.delivered.add((sent.token, sent.seq))
    receiver = _holder(draft, sent.key)
    if receiver is not None:
        _bring(draft, receiver, sent)
    elif sent.machine is not None:
        _start(draft, sent, sent.machine)
    else:
        _undelivered(draft, sent, NO_RUN)
    return Done()


def _holder(draft: Draft, key: str) -> Token | None:
    """The live run that has the key."""
    return next(
        (
            row
            for row in draft.family.tokens.values()
            if row.run is not None and row.run.key == key and row.status.live
        ),
        None,
    )


def _bring(draft: Draft, receiver: Token, sent: Sent) -> None:
    event = Occurrence(sent.event, sent.data, sent.token, sender=sent.token, send=sent.seq)
    if not admit(draft, receiver.token, event):
        return
    if receiver.status is Status.PAUSED:
        hold(draft, receiver.token, event)
    else:
        run_agenda(draft, Happen(receiver.token, event))


def _start(draft: Draft, sent: Sent, path: str) -> None:
    """Start the run that the send names; its input is the event's data, and nothing comes after."""
    graph = draft.seen(sent.token).graph
    given = passed_input(draft.situation.machines[graph].flow(path), sent.data)
    if isinstance(given, BadInput):
        _undelivered(draft, sent, INVALID_INPUT)
        return
    run = sent_id(sent.token, sent.seq)
    if draft.is_taken(run):
        _undelivered(draft, sent, NO_RUN)
        return
    part = Run(given, sent.key)
    run_agenda(draft, begin_run(draft, run, graph, path, part, sent.token, sent=sent))


def _undelivered(draft: Draft, sent: Sent, reason: str) -> None:
    to = shown_address(AtKey(sent.key, sent.machine))
    undelivered(draft, sent.token, sent.seq, to, sent.event, reason)
