"""Reports, notes and memory writes: from a body's object to what is asked of the desk.

Pure. The order of the checks is that of `docs/spec/wire.md` 2.6.
"""

from __future__ import annotations

from stateous.durations import parse_duration
from stateous.json import Json, JsonObject, JsonText
from stateous.limits import MAX_ID, MAX_MEMORY_KEY, MAX_NOTE
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.api.admission import Headers
from stateous_controlplane.api.commands import Parameters
from stateous_controlplane.api.shapes import (
    is_object_or_null,
    is_whole,
    shown,
    supervisor_of,
    task_of,
    text_of,
)
from stateous_controlplane.engine.commands import (
    AddNote,
    ReportDone,
    ReportEvent,
    ReportFailed,
    ReportWaiting,
    Schedule,
    WriteMemory,
)

Report = ReportEvent | ReportWaiting | ReportFailed | ReportDone

_KINDS = ("event", "waiting", "failed", "done")
#: How a job can fail, as its runner tells it (`docs/spec/statechart.md` 5.1).
_FAILED = ("failed", "timeout", "denied")


def report_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Report | Refusal:
    """`POST /tasks/{task}/report`."""
    supervisor: str | None = None
    if body.get("supervisor") is not None:
        named = supervisor_of(body["supervisor"])
        if isinstance(named, Refusal):
            return named
        supervisor = named
    kind = body.get("kind")
    if kind not in _KINDS:
        return _wrong("kind", "'event', 'waiting', 'failed' or 'done'", kind)
    event, error = body.get("event"), body.get("error")
    if kind == "event" and not isinstance(event, str):
        return _wrong("event", "the name of an event", event)
    if kind == "failed" and not isinstance(error, str):
        return _wrong("error", "a text", error)
    if kind == "done" and "output" not in body:
        return Refusal(Code.INVALID_BODY, "'output' is left out; write null when there is none")
    items = body.get("schedules", [])
    if not isinstance(items, list):
        return _wrong("schedules", "a list", items)
    attempt = body.get("attempt")
    if attempt is not None and not (is_whole(attempt) and attempt >= 1):
        return _wrong("attempt", "a whole number from 1, or null", attempt)
    payload, context = body.get("payload"), body.get("context")
    if not is_object_or_null(payload):
        return _wrong("payload", "an object or null", payload)
    if not is_object_or_null(context):
        return _wrong("context", "an object or null", context)
    schedules: list[Schedule] = []
    for item in items:
        schedule = _schedule_of(item)
        if isinstance(schedule, Refusal):
            return schedule
        schedules.append(schedule)
    status = body.get("status") or "failed"
    if kind == "failed" and status not in _FAILED:
        return _wrong("status", "'failed', 'timeout' or 'denied'", status)
    task = task_of(parameters["task"])
    if isinstance(task, Refusal):
        return task

    if kind == "done":
        return ReportDone(task, JsonText.of(body["output"]), attempt, supervisor)
    changes = text_of(context) if context else None
    if isinstance(event, str) and kind == "event":
        return ReportEvent(
            task, event, text_of(payload), changes, tuple(schedules), attempt, supervisor
        )
    if isinstance(error, str) and kind == "failed":
        output = JsonText.of(body["output"]) if body.get("output") is not None else None
        return ReportFailed(task, error, attempt, supervisor, str(status), output)
    return ReportWaiting(task, changes, tuple(schedules), attempt, supervisor)


def note_of(body: JsonObject, parameters: Parameters, headers: Headers) -> AddNote | Refusal:
    """`POST /tasks/{task}/note`."""
    given = body.get("text")
    text = given.strip() if isinstance(given, str) else ""
    if not 1 <= len(text) <= MAX_NOTE:
        found = f"one of {len(text)}" if isinstance(given, str) else shown(given)
        return Refusal(
            Code.INVALID_PAYLOAD, f"a note is a text of 1 to {MAX_NOTE} characters, not {found}"
        )
    position = _position_of(body)
    if isinstance(position, Refusal):
        return position
    task = task_of(parameters["task"])
    if isinstance(task, Refusal):
        return task
    return AddNote(task, text, *position)


def memory_of(body: JsonObject, parameters: Parameters, headers: Headers) -> WriteMemory | Refusal:
    """`PUT /tasks/{task}/memory`."""
    key = body.get("key")
    if not (isinstance(key, str) and 1 <= len(key) <= MAX_MEMORY_KEY):
        return Refusal(
            Code.INVALID_PAYLOAD,
            f"'key' must be a text of 1 to {MAX_MEMORY_KEY} characters, not {shown(key)}",
        )
    if "value" not in body:
        return Refusal(
            Code.INVALID_BODY, f"'value' is left out; write null to delete the key {shown(key)}"
        )
    position = _position_of(body)
    if isinstance(position, Refusal):
        return position
    task = task_of(parameters["task"])
    if isinstance(task, Refusal):
        return task
    value = body["value"]
    return WriteMemory(task, key, None if value is None else JsonText.of(value), *position)


def _schedule_of(item: Json) -> Schedule | Refusal:
    if not isinstance(item, dict):
        return Refusal(Code.INVALID_BODY, f"'schedules' holds {shown(item)}, which is no object")
    event = item.get("event")
    if not isinstance(event, str):
        return _wrong("event", "the name of an event", event, of="a timer's ")
    after = item.get("after")
    try:
        parse_duration(after)
    except ValueError as error:
        return Refusal(Code.INVALID_BODY, f"a timer's 'after': {error}")
    payload = item.get("payload")
    if not is_object_or_null(payload):
        return _wrong("payload", "an object or null", payload, of="a timer's ")
    return Schedule(event, str(after), text_of(payload))


def _position_of(body: JsonObject) -> tuple[int | None, int | None] | Refusal:
    """The attempt, and the number of the message in it."""
    attempt, number = body.get("attempt"), body.get("number")
    for name, value in (("attempt", attempt), ("number", number)):
        if value is not None and not (is_whole(value) and 1 <= value <= MAX_ID):
            return Refusal(
                Code.INVALID_ARGUMENT,
                f"'{name}' must be a whole number from 1 to {MAX_ID}, not {shown(value)}",
            )
    if number is not None and attempt is None:
        return Refusal(Code.INVALID_ARGUMENT, "'number' counts within an attempt: give 'attempt'")
    return (
        attempt if is_whole(attempt) else None,
        number if is_whole(number) else None,
    )


def _wrong(name: str, wanted: str, value: Json, *, of: str = "") -> Refusal:
    return Refusal(Code.INVALID_BODY, f"{of}'{name}' must be {wanted}, not {shown(value)}")
