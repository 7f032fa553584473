"""Start, fire, steering, claim and heartbeat: from a body's object to what is asked of the desk.

Pure. The order of the checks is that of `docs/spec/wire.md` 2.1, 3.5, 2.5 and 2.6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from stateous.json import Json, JsonObject
from stateous.limits import (
    MAX_CLAIM_WAIT,
    MAX_GRANTS_PER_CLAIM,
    MAX_ID,
    MAX_IDEMPOTENCY_KEY,
    MAX_QUEUE_NAME,
    MAX_QUEUES_PER_CLAIM,
    MAX_REQUEST_ID,
    MAX_TASKS_PER_HEARTBEAT,
)
from stateous.names import is_token_id, job_queue
from stateous.wire.headers import IDEMPOTENCY_KEY
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.api.admission import Headers
from stateous_controlplane.api.shapes import (
    is_object_or_null,
    is_whole,
    shown,
    supervisor_of,
    text_of,
)
from stateous_controlplane.engine.commands import (
    Cancel,
    Claim,
    Fire,
    Heartbeat,
    Pause,
    Resume,
    Start,
)

Parameters = Mapping[str, str]

_JOBS: Final = job_queue("")
_KEY_HEADER: Final = IDEMPOTENCY_KEY.lower().encode()
_REQUEST_ID = re.compile(rf"[A-Za-z0-9._-]{{1,{MAX_REQUEST_ID}}}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def start_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Start | Refusal:
    """`POST /tokens`."""
    token = body.get("token")
    if not isinstance(token, str):
        return Refusal(
            Code.INVALID_TOKEN_ID, f"'token' must be the id of a token, not {_given(body, 'token')}"
        )
    context = body.get("context")
    if not is_object_or_null(context):
        return Refusal(
            Code.INVALID_CONTEXT, f"'context' must be an object or null, not {shown(context)}"
        )
    if not is_token_id(token):
        return Refusal(
            Code.INVALID_TOKEN_ID,
            f"{shown(token)} cannot be the id of a token: write 1 to 128 letters, digits, "
            "'.', '_' and '-', and begin with a letter or digit",
        )
    return Start(token, text_of(context))


def fire_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Fire | Refusal:
    """`POST /tokens/{token}/events/{event}`."""
    payload = body.get("payload")
    if not is_object_or_null(payload):
        return Refusal(
            Code.INVALID_PAYLOAD, f"'payload' must be an object or null, not {shown(payload)}"
        )
    key: str | None = None
    if _KEY_HEADER in headers:
        checked = key_of(headers[_KEY_HEADER])
        if isinstance(checked, Refusal):
            return checked
        key = checked
    return Fire(parameters["token"], parameters["event"], text_of(payload), key)


def pause_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Pause:
    """`POST /tokens/{token}/pause`."""
    return Pause(parameters["token"])


def resume_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Resume:
    """`POST /tokens/{token}/resume`."""
    return Resume(parameters["token"])


def cancel_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Cancel:
    """`POST /tokens/{token}/cancel`."""
    return Cancel(parameters["token"])


def claim_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Claim | Refusal:
    """`POST /tasks/claim`."""
    supervisor = supervisor_of(body.get("supervisor"))
    if isinstance(supervisor, Refusal):
        return supervisor
    queues: dict[str, tuple[str, ...]] = {}
    for name in ("states", "jobs"):
        if name in body or (name == "states" and "jobs" not in body):
            names = _queues_of(body, name)
            if isinstance(names, Refusal):
                return names
            queues[name] = names
    request = body.get("request")
    if request is not None and not (isinstance(request, str) and _REQUEST_ID.fullmatch(request)):
        return _bad_argument(
            "request", f"1 to {MAX_REQUEST_ID} letters, digits, '.', '_' and '-'", request
        )
    wait = body.get("wait", 0)
    if not (is_whole(wait) and 0 <= wait <= MAX_CLAIM_WAIT):
        return _bad_argument("wait", f"a whole number of seconds, 0 to {MAX_CLAIM_WAIT}", wait)
    most: int | None = None
    if "max" in body:
        given = body["max"]
        if not (is_whole(given) and 1 <= given <= MAX_GRANTS_PER_CLAIM):
            return _bad_argument("max", f"a whole number, 1 to {MAX_GRANTS_PER_CLAIM}", given)
        most = given
    # No state has a queue of jobs; it would be one that the list of jobs names.
    states = tuple([name for name in queues.get("states", ()) if not name.startswith(_JOBS)])
    return Claim(supervisor, states, queues.get("jobs", ()), request, wait, most)


def heartbeat_of(body: JsonObject, parameters: Parameters, headers: Headers) -> Heartbeat | Refusal:
    """`POST /tasks/heartbeat`."""
    supervisor = supervisor_of(body.get("supervisor"))
    if isinstance(supervisor, Refusal):
        return supervisor
    tasks = body.get("tasks")
    if not isinstance(tasks, list):
        return Refusal(
            Code.INVALID_BODY, f"'tasks' must be a list of task ids, not {_given(body, 'tasks')}"
        )
    if len(tasks) > MAX_TASKS_PER_HEARTBEAT:
        return _too_many("tasks", len(tasks), MAX_TASKS_PER_HEARTBEAT)
    ids: list[int] = []
    for task in tasks:
        if not (is_whole(task) and 1 <= task <= MAX_ID):
            return Refusal(Code.INVALID_BODY, f"'tasks' holds {shown(task)}, which is no task id")
        ids.append(task)
    return Heartbeat(supervisor, tuple(ids))


def key_of(raw: bytes) -> str | Refusal:
    """The idempotency key that a header holds."""
    try:
        key = raw.decode("utf-8")
    except UnicodeDecodeError:
        return Refusal(Code.INVALID_PAYLOAD, f"the header {IDEMPOTENCY_KEY} is not UTF-8")
    if not 1 <= len(key) <= MAX_IDEMPOTENCY_KEY:
        return Refusal(
            Code.INVALID_PAYLOAD,
            f"the header {IDEMPOTENCY_KEY} must have 1 to {MAX_IDEMPOTENCY_KEY} characters, "
            f"not {len(key)}",
        )
    if _CONTROL.search(key):
        return Refusal(
            Code.INVALID_PAYLOAD,
            f"the header {IDEMPOTENCY_KEY} holds a control character: {shown(key)}",
        )
    return key


def _queues_of(body: JsonObject, name: str) -> tuple[str, ...] | Refusal:
    queues = body.get(name)
    if not isinstance(queues, list):
        return Refusal(
            Code.INVALID_BODY, f"'{name}' must be a list of names, not {_given(body, name)}"
        )
    if len(queues) > MAX_QUEUES_PER_CLAIM:
        return _too_many(name, len(queues), MAX_QUEUES_PER_CLAIM)
    names: list[str] = []
    for queue in queues:
        if not (isinstance(queue, str) and 1 <= len(queue) <= MAX_QUEUE_NAME):
            return Refusal(
                Code.INVALID_BODY,
                f"'{name}' holds {shown(queue)}, which is no text of 1 to "
                f"{MAX_QUEUE_NAME} characters",
            )
        names.append(queue)
    return tuple(names)


def _given(body: JsonObject, name: str) -> str:
    return shown(body[name]) if name in body else "left out"


def _bad_argument(name: str, wanted: str, value: Json) -> Refusal:
    return Refusal(Code.INVALID_ARGUMENT, f"'{name}' must be {wanted}, not {shown(value)}")


def _too_many(name: str, count: int, most: int) -> Refusal:
    return Refusal(
        Code.INVALID_ARGUMENT, f"'{name}' has {count} items, and may have at most {most}"
    )
