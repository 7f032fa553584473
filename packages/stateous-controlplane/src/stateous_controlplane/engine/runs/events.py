"""What the ledger tells of events, and what waits: events that are kept, and events that are held.

`docs/spec/statechart.md` 5.3, 6, 13, 15.
"""

from __future__ import annotations

from stateous.json import Json, JsonText
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.replies import Result
from stateous_controlplane.engine.rows import Held, Kept, KeyUse
from stateous_controlplane.engine.runs.occurrence import Occurrence

# Reasons of `event_dropped`.
NO_RULE = "no_rule"
FULL = "full"
NOT_DEFERRED = "not_deferred"
UNDECLARED = "undeclared"
INVALID_DATA = "invalid_data"
LEFT = "left"
ENDED = "ended"


def accept(
    draft: Draft, run: str, event: Occurrence, state: str, go: str | None, ticket: str | None
) -> None:
    """A rule of ``state`` takes the event; ``ticket`` is the id of the one that it answers."""
    told: dict[str, Json | JsonText] = {**event.told(), "state": state}
    if go is not None:
        told["go"] = go
    _record(draft, run, "event_accepted", event, told, Result.TAKEN, ticket)


def keep(draft: Draft, run: str, event: Occurrence) -> None:
    """Keep the event, which an active state defers."""
    seq = _record(draft, run, "event_kept", event, event.told(), Result.KEPT)
    draft.keep(
        Kept(
            run,
            seq,
            draft.seen(run).top,
            draft.now,
            event.name,
            event.data,
            event.source,
            event.sender,
            event.send,
        )
    )


def drop(draft: Draft, run: str, event: Occurrence, reason: str) -> None:
    """Nothing takes the event."""
    told = {**event.told(), "reason": reason}
    _record(draft, run, "event_dropped", event, told, Result.DROPPED)


def hold(draft: Draft, run: str, event: Occurrence, task: int | None = None) -> None:
    """The pause holds the event; ``task`` is the job that it came from."""
    arrival = draft.holding + 1
    told: dict[str, Json | JsonText] = {**event.told(), "arrival": arrival}
    if task is not None:
        told["task"] = task
    seq = draft.record(run, "event_deferred", event.key, **told, **event.origin())
    _use_key(draft, run, event, Result.HELD)
    draft.hold(
        Held(
            run,
            seq,
            draft.seen(run).top,
            arrival,
            draft.now,
            event.name,
            event.data,
            task,
            source=event.source,
            sender=event.sender,
            send=event.send,
        )
    )


def drop_kept(draft: Draft, run: str) -> None:
    """The run ends: it keeps nothing any more."""
    for kept in draft.kept(run):
        drop(draft, run, kept_event(kept), ENDED)
        draft.unkeep(kept)


def kept_event(kept: Kept) -> Occurrence:
    """The event that is kept, to be offered again."""
    return Occurrence(
        kept.event,
        kept.data,
        kept.source,
        sender=kept.sender,
        send=kept.send,
        again=kept.seq,
        kept=True,
    )


def _record(
    draft: Draft,
    run: str,
    kind: str,
    event: Occurrence,
    told: dict[str, Json | JsonText],
    result: Result,
    ticket: str | None = None,
) -> int:
    """Record what becomes of the event; what comes again tells of which entry."""
    if event.again is not None and kind != "event_kept":
        told["seq"] = event.again
        kind = "event_replayed" if kind == "event_accepted" else kind
    seq = draft.record(run, kind, event.key, **told, **event.origin())
    _use_key(draft, run, event, result, ticket)
    return seq


def _use_key(
    draft: Draft, run: str, event: Occurrence, result: Result, ticket: str | None = None
) -> None:
    if event.key is not None:
        draft.use_key(run, event.key, KeyUse(event.name, event.data, result.value, ticket))
