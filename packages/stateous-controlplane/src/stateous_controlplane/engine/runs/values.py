"""Values that a run builds: from expressions, within the limits (`docs/spec/statechart.md` 12, 19).

A value that cannot be built undoes its step as a whole, so a step is planned before it is done.
"""

from __future__ import annotations

from stateous.graph.machine import Value
from stateous.json import Json, JsonText, depth_of
from stateous.limits import MAX_JSON_DEPTH, MAX_RUN_VALUE_BYTES
from stateous.statechart.expressions import EvaluationError
from stateous_controlplane.engine.rows import Failure
from stateous_controlplane.engine.runs.scope import Scope

NULL = JsonText("null")


class StepFailed(Exception):
    """The step cannot be done: nothing of it happens, and the run fails."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(code, message)


def evaluate(value: Value, scope: Scope) -> Json:
    """What ``value`` is in ``scope``.

    Raises:
        StepFailed: an expression has no value.
    """
    try:
        return value.template.evaluate(scope)
    except EvaluationError as error:
        raise StepFailed("expression", f"{value.place}: {error}") from None


def build(value: Value | None, scope: Scope) -> JsonText:
    """What ``value`` is in ``scope``, as text; null when there is none.

    Raises:
        StepFailed: an expression has no value, or the value is over a limit.
    """
    if value is None:
        return NULL
    built = JsonText.of(evaluate(value, scope))
    excess = over_limit(built)
    if excess is not None:
        raise StepFailed("too_large", f"{value.place}: the value {excess}")
    return built


def over_limit(value: JsonText) -> str | None:
    """Which limit of a run's values ``value`` is over, as the end of a sentence."""
    text = value.text
    size = len(text) if text.isascii() else len(text.encode())
    if size > MAX_RUN_VALUE_BYTES:
        return f"has {size} bytes, which is more than {MAX_RUN_VALUE_BYTES}"
    # Most values have so few brackets that they need no walk.
    if (
        text.count("{") + text.count("[") > MAX_JSON_DEPTH
        and depth_of(value.value) > MAX_JSON_DEPTH
    ):
        return f"nests more than {MAX_JSON_DEPTH} levels deep"
    return None
