"""Pause, resume and cancel: a top token is steered with all below it (`docs/spec/wire.md` 3.15).

While a token is paused no claim gets its tasks and its timers stand still; what arrives for it is
held (:mod:`.holding`), and applied on resume in the order of arrival (:mod:`.replay`).
"""

from __future__ import annotations

from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.commands import Cancel, Pause, Resume
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.joins import settle
from stateous_controlplane.engine.leave import cancel, live_children
from stateous_controlplane.engine.replay import replay
from stateous_controlplane.engine.replies import Reply, TokenReply
from stateous_controlplane.engine.rows import Status, TaskStatus, Token


def pause_token(draft: Draft, command: Pause) -> Reply:
    """Pause an active top token and its active children."""
    token = _steered(draft, command.token, {Status.ACTIVE}, "pause")
    if isinstance(token, Refusal):
        return token
    _pause(draft, token.token)
    return TokenReply(draft.seen(token.token))


def resume_token(draft: Draft, command: Resume) -> Reply:
    """Let a paused family go on, and apply what it held."""
    token = _steered(draft, command.token, {Status.PAUSED}, "resume")
    if isinstance(token, Refusal):
        return token
    _resume(draft, token.token)
    held = sorted(
        draft.family.held.values(), key=lambda each: (each.arrival, each.at, each.token, each.seq)
    )
    for each in held:
        if (each.token, each.seq) not in draft.effects.released:
            replay(draft, each)
            settle(draft)
    return TokenReply(draft.seen(token.token))


def cancel_token(draft: Draft, command: Cancel) -> Reply:
    """Cancel a live top token and its live children."""
    token = _steered(draft, command.token, {Status.ACTIVE, Status.PAUSED}, "cancel")
    if isinstance(token, Refusal):
        return token
    cancel(draft, token.token)
    return TokenReply(draft.seen(token.token))


def _steered(draft: Draft, token_id: str, allowed: set[Status], verb: str) -> Token | Refusal:
    token = draft.family.tokens.get(token_id)
    if token is None:
        return Refusal(Code.TOKEN_NOT_FOUND, f"there is no token {token_id!r}")
    if token.parent is not None:
        return Refusal(
            Code.CHILD_TOKEN,
            f"{token_id!r} is a part of its parent's work: {verb} {token.top!r} instead",
        )
    if token.status not in allowed:
        return Refusal(
            Code.TOKEN_NOT_ACTIVE,
            f"the token {token_id!r} is {token.status.value}: there is nothing to {verb}",
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
