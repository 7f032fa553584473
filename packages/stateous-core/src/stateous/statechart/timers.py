"""Timers of a chart in their normal form (`docs/spec/statechart.md` 2), written and read."""

from __future__ import annotations

from typing import assert_never

from stateous.json import Json, JsonObject, same_json
from stateous.statechart.document import Computed, Path, TimerSpec
from stateous.statechart.expressions import ExpressionError
from stateous.statechart.facts import Facts, Findings, Named, Value
from stateous.statechart.fields import TIMER, event_name, mapping, shown, text, unknown_fields
from stateous.statechart.templates import has_expression, sole_expression
from stateous.statechart.times import BadTime, Clock, Length, Time, read_time


def timer_entry(name: str, time: str) -> JsonObject:
    """A timer in normal form; ``time`` is its text in the chart.

    Raises:
        BadTime: the text is no time.
        ExpressionError: a ``${`` in it is not closed.
    """
    return {"timer": name, "text": time, **_written(_time_of(time))}


def _text(value: Json, path: Path, findings: Findings) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        findings.add("bad-time", path, f"{value} is no time: a length has a unit, as '90s'")
        return None
    return text(value, path, "a timer's time", findings)


def _time_of(time: str) -> Time | Computed:
    expression = sole_expression(time)
    if expression is not None:
        return Computed(expression)
    if has_expression(time):
        raise BadTime(f"{shown(time)} must be one expression, or a fixed time")
    return read_time(time)


def _written(time: Time | Computed) -> JsonObject:
    match time:
        case Length(seconds):
            return {"after": seconds}
        case Clock():
            day: JsonObject = {} if time.day is None else {"day": time.day}
            return {"at": f"{time.hour:02}:{time.minute:02}", **day, "zone": time.zone}
        case Computed(expression):
            return {"from": expression}
        case _:
            assert_never(time)


def read_timer(
    value: Json, path: Path, state: Path, facts: Facts, findings: Findings
) -> TimerSpec | None:
    """One entry of ``timers``; None when it cannot be used."""
    raw = mapping(value, path, "a timer", findings)
    if raw is None:
        return None
    unknown_fields(raw, TIMER, path, "a timer", findings)
    name = event_name(raw.get("timer"), path, "a timer", findings)
    if name is not None:
        facts.timers.append(Named(name, path, state))
    time = _text(raw.get("text"), path, findings)
    if name is None or time is None:
        return None
    try:
        expected, meant = timer_entry(name, time), _time_of(time)
    except BadTime as error:
        findings.add("bad-time", path, str(error))
        return None
    except ExpressionError as error:
        findings.add("expression", path, str(error))
        return None
    if isinstance(meant, Computed):
        facts.values.append(Value(meant.expression, path, state, bare=True, entered=False))
    if not same_json({key: raw[key] for key in TIMER if key in raw}, expected):
        findings.add("bad-value", path, f"the timer is not what its text {shown(time)} means")
        return None
    return TimerSpec(name, path, time, meant)
