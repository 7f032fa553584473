"""What clients send: events, and answers to tickets (`docs/spec/statechart.md` 5, 8.2, 16)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stateous.graph.machine import EventKind, Flow
from stateous.json import JsonText, same_json
from stateous.limits import MAX_NAME
from stateous.statechart.fields import RESERVED, is_part_name
from stateous.statechart.tickets import id_of_digest
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.commands import AnswerTicket, SendEvent
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.leave import flow_of
from stateous_controlplane.engine.replies import EventReply, Reply, Result
from stateous_controlplane.engine.rows import Status, Ticket, TicketStatus
from stateous_controlplane.engine.runs.agenda import go_through, run_agenda
from stateous_controlplane.engine.runs.course import Course, Happen
from stateous_controlplane.engine.runs.events import hold
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.offering import chosen, remark, settle, take
from stateous_controlplane.engine.runs.submit import CLIENT

_REFUSED: Final = Refusal(Code.TICKET_REFUSED, "the ticket is not open")


def send_event(draft: Draft, command: SendEvent) -> Reply:
    """Offer a client's event to a run."""
    row = draft.family.tokens.get(command.run)
    if row is None or row.run is None:
        return Refusal(Code.RUN_NOT_FOUND, f"there is no run {command.run!r}")
    repeated = _repeated(draft, command.run, command.key, command.event, command.data, None)
    if repeated is not None:
        return repeated
    if not row.status.live:
        return Refusal(Code.RUN_NOT_ACTIVE, f"the run {command.run!r} is {row.status.value}")
    flow = flow_of(draft, command.run)
    refusal = _not_allowed(flow, command.event) or _invalid(flow, command.event, command.data)
    if refusal is not None:
        return refusal
    event = Occurrence(command.event, command.data, CLIENT, key=command.key)
    if row.status is Status.PAUSED:
        hold(draft, command.run, event)
        return EventReply(Result.HELD)
    # An event that makes the run fail counts as taken.
    return EventReply(run_agenda(draft, Happen(command.run, event)) or Result.TAKEN)


def answer_ticket(draft: Draft, command: AnswerTicket) -> Reply:
    """Let the answer to a ticket be taken; the ticket is spent then, and open else.

    Whatever ticket it is not an answer to, the refusal is the same, so that guessing teaches
    nothing.
    """
    ticket = draft.family.tickets.get(command.digest)
    if ticket is None or command.run not in (None, ticket.token):
        return _REFUSED
    told = id_of_digest(command.digest)
    key, name = command.key, ticket.ticket
    repeated = _repeated(draft, ticket.token, key, name, command.answer, told)
    if repeated is not None:
        return repeated
    if ticket.status is not TicketStatus.OPEN:
        return _REFUSED
    row = draft.seen(ticket.token)
    if row.status is not Status.ACTIVE:
        return Refusal(Code.RUN_NOT_ACTIVE, f"the run {row.token!r} is {row.status.value}")
    invalid = _invalid(flow_of(draft, row.token), name, command.answer)
    if invalid is not None:
        return invalid
    event = Occurrence(name, command.answer, ticket.state, EventKind.TICKET, key=key)
    return _answer(draft, ticket, event, told)


def _answer(draft: Draft, ticket: Ticket, event: Occurrence, told: str) -> Reply:
    run = ticket.token
    choice = chosen(draft, draft.seen(run), event)
    remark(draft, run, event, choice)
    if choice.found is None:
        reason = f"no rule takes this answer to {ticket.ticket!r}"
        draft.record(
            run, "event_rejected", event=event.name, reason=reason, ticket=ticket.ticket, id=told
        )
        return Refusal(Code.ANSWER_NOT_TAKEN, f"{reason}; the ticket stays open")
    draft.put_ticket(replace(ticket, status=TicketStatus.ANSWERED))
    draft.record(run, "ticket_answered", ticket=ticket.ticket, state=ticket.state, id=told)
    course = Course(draft)
    course.step(run)
    take(course, run, event, *choice.found, ticket=told)
    settle(course, run)
    go_through(course)
    return EventReply(Result.TAKEN)


def _repeated(
    draft: Draft, run: str, key: str | None, event: str, data: JsonText, ticket: str | None
) -> Reply | None:
    """What the request came to when it was made with this key before."""
    use = None if key is None else draft.family.keys.get((run, key))
    if use is None:
        return None
    used = None if use.payload is None else use.payload.value
    same = (use.event, use.ticket) == (event, ticket) and same_json(used, data.value)
    if same and use.result is not None:
        return EventReply(Result(use.result), duplicate=True)
    return Refusal(
        Code.IDEMPOTENCY_MISMATCH,
        f"the Idempotency-Key {key!r} was used for another event or answer of the run {run!r}",
    )


def _not_allowed(flow: Flow, event: str) -> Refusal | None:
    shown = event if len(event) <= MAX_NAME else event[:MAX_NAME] + "…"
    if event in RESERVED:
        sentence = f"{shown!r} is an event that only Stateous makes"
    elif not is_part_name(event):
        sentence = f"{shown!r} is no name of an event"
    elif not flow.open_events and event not in flow.events:
        sentence = f"the chart {flow.name!r} declares no event {shown!r}"
    else:
        return None
    return Refusal(Code.EVENT_NOT_ALLOWED, sentence)


def _invalid(flow: Flow, event: str, data: JsonText) -> Refusal | None:
    shape = flow.events.get(event)
    if shape is None or shape.payload is None:
        return None
    # A problem of the data as a whole has the schema's name in front, which is the event's.
    problems = [it.removeprefix(f"{event}: ") for it in shape.payload.problems(data.value)]
    return Refusal(Code.INVALID_PAYLOAD, f"{event}: {'; '.join(problems)}") if problems else None
