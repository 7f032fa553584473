"""Pause, resume and cancel: a top token is steered with all below it (`docs/spec/wire.md` 3.15).

While a token is paused no claim gets its tasks and its timers stand still; what arrives for it is
held (:mod:`.holding`), and applied on resume in the order of arrival, each by the conduct of its
token. Timers go on where they stood, but for clock times: those pass also meanwhile.
"""

from __future__ import annotations

from typing import Final

from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.commands import Cancel, Pause, Resume, Subject
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.joins import settle
from stateous_controlplane.engine.leave import cancel, conduct_of, live_children
from stateous_controlplane.engine.replies import Reply, TokenReply
from stateous_controlplane.engine.rows import Status, TaskStatus, TimerKind, Token


def pause_token(draft: Draft, command: Pause) -> Reply:
    """Pause an active top token and its active children."""
    token = _steered(draft, command, {Status.ACTIVE}, "pause")
    if isinstance(token, Refusal):
        return token
    _pause(draft, token.token)
    return TokenReply(draft.seen(token.token))


def resume_token(draft: Draft, command: Resume) -> Reply:
    """Let a paused family go on, and apply what it held."""
    token = _steered(draft, command, {Status.PAUSED}, "resume")
    if isinstance(token, Refusal):
        return token
    _resume(draft, token.token)
    held = sorted(
        draft.family.held.values(), key=lambda each: (each.arrival, each.at, each.token, each.seq)
    )
    for each in held:
        if (each.token, each.seq) not in draft.effects.released:
            conduct_of(draft, each.token).replay(draft, each)
            settle(draft)
    return TokenReply(draft.seen(token.token))


def cancel_token(draft: Draft, command: Cancel) -> Reply:
    """Cancel a live top token and its live children."""
    token = _steered(draft, command, {Status.ACTIVE, Status.PAUSED}, "cancel")
    if isinstance(token, Refusal):
        return token
    cancel(draft, token.token)
    return TokenReply(draft.seen(token.token))


_NOT_FOUND: Final = {Subject.TOKEN: Code.TOKEN_NOT_FOUND, Subject.RUN: Code.RUN_NOT_FOUND}
_NOT_ACTIVE: Final = {Subject.TOKEN: Code.TOKEN_NOT_ACTIVE, Subject.RUN: Code.RUN_NOT_ACTIVE}


def _steered(
    draft: Draft, command: Pause | Resume | Cancel, allowed: set[Status], verb: str
) -> Token | Refusal:
    token_id, subject = command.token, command.subject
    token = draft.family.tokens.get(token_id)
    if token is None or (token.run is not None) != (subject is Subject.RUN):
        return Refusal(_NOT_FOUND[subject], f"there is no {subject.value} {token_id!r}")
    if token.parent is not None:
        return Refusal(
            Code.CHILD_TOKEN,
            f"{token_id!r} is a part of its parent's work: {verb} {token.top!r} instead",
        )
    if token.status not in allowed:
        return Refusal(
            _NOT_ACTIVE[subject],
            f"the {subject.value} {token_id!r} is {token.status.value}: there is nothing to {verb}",
        )
    return token


def _pause(draft: Draft, token: str) -> None:
    row = draft.token(token)
    row.status = Status.PAUSED
    row.paused_at = draft.now
    draft.record(token, "paused")
    _set_ready(draft, token, ready=False)
    for child in live_children(draft, row):
        if child.status is Status.ACTIVE:
            _pause(draft, child.token)


def _resume(draft: Draft, token: str) -> None:
    row = draft.token(token)
    paused_at = row.paused_at
    assert paused_at is not None
    for timer in draft.pending_timers(token):
        if timer.kind is not TimerKind.CLOCK:
            draft.timer(timer.id).due_at += draft.now - max(paused_at, timer.set_at)
    row.status = Status.ACTIVE
    row.paused_at = None
    draft.record(token, "resumed")
    _set_ready(draft, token, ready=True)
    for child in live_children(draft, row):
        if child.status is Status.PAUSED:
            _resume(draft, child.token)


def _set_ready(draft: Draft, token: str, *, ready: bool) -> None:
    """Claims look for ready tasks only, and the clock for ready timers."""
    for task in draft.open_tasks(token):
        if task.status is TaskStatus.QUEUED:
            draft.task(task.id).ready = ready
    for timer in draft.pending_timers(token):
        draft.timer(timer.id).ready = ready
