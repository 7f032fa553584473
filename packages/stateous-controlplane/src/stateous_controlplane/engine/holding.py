"""Holding what arrives during a pause (`docs/spec/wire.md` 3.15).

A held event stands whole in its ``event_deferred`` entry; the row of ``kept`` only finds it again.
The arrival is a number within the family, so that the events of a parent and its children can be
applied in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence

from stateous.json import Json, JsonText
from stateous.names import ERROR
from stateous_controlplane.engine.commands import Schedule
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.rows import Held, KeyUse, Task


def hold_fired(
    draft: Draft, token: str, event: str, payload: JsonText | None, key: str | None
) -> None:
    """Hold an event that was fired."""
    arrival = draft.holding + 1
    seq = draft.record(token, "event_deferred", key, event=event, payload=payload, arrival=arrival)
    if key is not None:
        draft.use_key(token, key, KeyUse(event, payload))
    top = draft.seen(token).top
    draft.hold(Held(token, seq, top, arrival, draft.now, event, payload))


def hold_reported(
    draft: Draft,
    task: Task,
    event: str,
    payload: JsonText | None,
    changes: JsonText | None,
    schedules: Sequence[Schedule],
) -> None:
    """Hold the outcome of a task whole, bound to the task's state and visit."""
    arrival = draft.holding + 1
    more: dict[str, Json | JsonText] = {}
    if changes is not None and changes.value:
        more["context"] = changes
    if schedules:
        more["schedules"] = _written(schedules)
    seq = draft.record(
        task.token,
        "event_deferred",
        event=event,
        payload=payload,
        arrival=arrival,
        state=task.state,
        visit=task.visit,
        task=task.id,
        **more,
    )
    top = draft.seen(task.token).top
    draft.hold(
        Held(
            task.token,
            seq,
            top,
            arrival,
            draft.now,
            event,
            payload,
            task.id,
            task.state,
            task.visit,
            changes,
            _written(schedules) if schedules else None,
        )
    )


def hold_error(draft: Draft, task: Task) -> None:
    """Hold the ``error`` of a task that failed for good."""
    hold_reported(draft, task, ERROR, None, None, ())


def _written(schedules: Sequence[Schedule]) -> JsonText:
    return JsonText("[" + ",".join(_schedule_text(each) for each in schedules) + "]")


def _schedule_text(schedule: Schedule) -> str:
    if schedule.payload is None:
        return JsonText.fields(event=schedule.event, after=schedule.after).text
    return JsonText.fields(
        event=schedule.event, payload=schedule.payload, after=schedule.after
    ).text
