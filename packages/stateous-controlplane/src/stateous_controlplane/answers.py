"""Replies as HTTP answers: pure functions from values to a status and the bytes of a body.

The writer encodes every answer before its transaction commits, so that no failure to write a value
can follow a commit (`docs/spec/wire.md` 1.3). Stored JSON is pasted in as text, never decoded.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from stateous.json import write_json
from stateous.wire.moments import write_moment
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.replies import (
    ClaimReply,
    Done,
    DuplicateReply,
    GrantReply,
    HeartbeatReply,
    Lost,
    Renewed,
    Reply,
    Skipped,
    TokenReply,
)
from stateous_controlplane.engine.rows import Entry, Token
from stateous_controlplane.store.port import TaskView, TokenView


class Answer(NamedTuple):
    """An answer's status and body; a body of None is no body at all (204)."""

    status: int
    body: bytes | None


NOTHING = Answer(204, None)


def refused(refusal: Refusal) -> Answer:
    """The answer that says a refusal."""
    return Answer(refusal.status, refusal.body())


def unexpected() -> Answer:
    """The answer to a defect of ours: what happened stands in the log alone."""
    return refused(
        Refusal(Code.UNEXPECTED, "the control plane met a defect of its own; its log says more")
    )


def answer_to(reply: Reply | ClaimReply | HeartbeatReply) -> Answer:
    """The answer to a command or request."""
    match reply:
        case Refusal():
            return refused(reply)
        case TokenReply(token, created):
            return Answer(201 if created else 200, token_json(view_of(token)).encode())
        case DuplicateReply(token, matches):
            middle = "" if matches else '"matches":false,'
            body = f'{{"duplicate":true,{middle}"token":{token_json(view_of(token))}}}'
            return Answer(200, body.encode())
        case ClaimReply(grants, as_list):
            return _claim_answer(grants, as_list=as_list)
        case HeartbeatReply(lost):
            return Answer(200, write_json({"lost": list(lost)}).encode())
        case GrantReply() | Renewed() | Lost() | Done() | Skipped():
            return NOTHING
        case _:
            assert_never(reply)


def _claim_answer(grants: tuple[tuple[GrantReply, str], ...], *, as_list: bool) -> Answer:
    texts = [grant_json(grant, memory) for grant, memory in grants]
    if as_list:
        return Answer(200, f'{{"tasks":[{",".join(texts)}]}}'.encode())
    return Answer(200, texts[0].encode()) if texts else NOTHING


def view_of(token: Token) -> TokenView:
    """What an answer shows of a token's row."""
    return TokenView(
        token.token,
        token.state,
        token.status.value,
        token.visit,
        token.context.text,
        token.entered_at,
        token.parent,
    )


def token_json(view: TokenView) -> str:
    """A token as `docs/spec/wire.md` 1.5 has it. Ids and names are ASCII, and need no escapes."""
    parent = "" if view.parent is None else f',"parent":"{view.parent}"'
    return (
        f'{{"token":"{view.token}","state":"{view.state}","status":"{view.status}",'
        f'"visit":{view.visit},"context":{view.context},'
        f'"entered_at":"{write_moment(view.entered_at)}"{parent}}}'
    )


def grant_json(grant: GrantReply, memory: str) -> str:
    """A grant as `docs/spec/wire.md` 1.5 has it; ``memory`` is an object's text."""
    task, token = grant.task, grant.token
    return (
        f'{{"task":{task.id},"token":"{task.token}","state":"{task.queue}","visit":{task.visit},'
        f'"attempt":{task.attempt},"context":{token.context.text},"memory":{memory},'
        f'"entered_by":{token.entered_by.text}}}'
    )


def entry_json(entry: Entry) -> str:
    """A ledger entry as a history shows it."""
    return (
        f'{{"seq":{entry.seq},"at":"{write_moment(entry.at)}","kind":"{entry.kind}",'
        f'"data":{entry.data.text}}}'
    )


def task_json(view: TaskView) -> str:
    """A task as `GET /tasks` shows it."""
    return write_json(
        {
            "task": view.task,
            "token": view.token,
            "state": view.state,
            "visit": view.visit,
            "status": view.status.value,
            "attempt": view.attempt,
            "claimed_by": view.claimed_by,
            "lease_until": None if view.lease_until is None else write_moment(view.lease_until),
            "queued_at": write_moment(view.queued_at),
        }
    )
