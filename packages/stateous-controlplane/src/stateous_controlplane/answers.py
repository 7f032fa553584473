"""Replies as HTTP answers: pure functions from values to a status and the bytes of a body.

The writer encodes every answer before its transaction commits, so that no failure to write a value
can follow a commit (`docs/spec/wire.md` 1.3). Stored JSON is pasted in as text, never decoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, assert_never

from stateous.graph.machine import Machine
from stateous.json import write_json
from stateous.statechart.tickets import mask
from stateous.wire.moments import write_moment
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.replies import (
    Done,
    DuplicateReply,
    EventReply,
    GrantReply,
    HeartbeatReply,
    Lost,
    Renewed,
    Reply,
    Skipped,
    TokenReply,
)
from stateous_controlplane.engine.rows import Entry, Token
from stateous_controlplane.run_answers import job_grant_json, run_json, view_of_run
from stateous_controlplane.store.port import GraphRecord, TaskView, TokenView


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


def no_chart(graph: str) -> Refusal:
    """404: no statechart with this checksum is on record."""
    return Refusal(Code.GRAPH_NOT_FOUND, f"no statechart {graph[:80]!r} is on record")


def graph_answer(record: GraphRecord, *, created: bool) -> Answer:
    """The answer to who puts a document on record."""
    told = {"graph": record.checksum, "machine": record.name}
    return Answer(201 if created else 200, write_json(told).encode())


def answer_to(reply: Reply | HeartbeatReply, machines: Mapping[str, Machine]) -> Answer:
    """The answer to a command or request; ``machines`` have the names of runs' charts."""
    match reply:
        case GrantReply() | Renewed() | Lost() | Done() | Skipped():
            return NOTHING
        case Refusal():
            return refused(reply)
        case TokenReply(token, created):
            status = 201 if created else 200
            if token.run is not None:
                text = mask(run_json(view_of_run(token, machines[token.graph])))
                return Answer(status, text.encode())
            return Answer(status, token_json(view_of(token)).encode())
        case EventReply(result, duplicate):
            more = ',"duplicate":true' if duplicate else ""
            return Answer(200, f'{{"result":"{result.value}"{more}}}'.encode())
        case DuplicateReply(token, matches):
            middle = "" if matches else '"matches":false,'
            body = f'{{"duplicate":true,{middle}"token":{token_json(view_of(token))}}}'
            return Answer(200, body.encode())
        case HeartbeatReply(lost):
            return Answer(200, write_json({"lost": list(lost)}).encode())
        case _:
            assert_never(reply)


def claim_answer(grants: Sequence[tuple[GrantReply, str]], *, as_list: bool) -> Answer:
    """The answer to a claim: each grant with its memory as an object's text."""
    texts = [grant_json(grant, memory) for grant, memory in grants]
    if as_list:
        return Answer(200, f'{{"tasks":[{",".join(texts)}]}}'.encode())
    return Answer(200, texts[0].encode()) if texts else NOTHING


def view_of(token: Token) -> TokenView:
    """What an answer shows of a token's row."""
    return TokenView(
        token.token,
        token.state,
        str(token.status),
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
    if grant.job is not None:
        return job_grant_json(grant, memory)
    task, token = grant.task, grant.token
    return (
        f'{{"task":{task.id},"token":"{task.token}","state":"{task.queue}","visit":{task.visit},'
        f'"attempt":{task.attempt},"context":{token.context.text},"memory":{memory},'
        f'"entered_by":{token.entered_by.text}}}'
    )


#: All entries of a command have its moment.
_moment_of_entries = lru_cache(maxsize=1024)(write_moment)


def entry_json(entry: Entry) -> str:
    """A ledger entry as a history shows it."""
    _, seq, at, kind, data, _ = entry
    return f'{{"seq":{seq},"at":"{_moment_of_entries(at)}","kind":"{kind}","data":{data.text}}}'


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
