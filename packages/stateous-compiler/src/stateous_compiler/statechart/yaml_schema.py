"""The JSON Schema of the form that charts are written in, for editors.

It says of one file what can be said without looking at the whole: fields, kinds of values, forms of
texts. It is published as ``chart.schema.json`` beside this module and in ``docs/reference``; print
it with ``python -m stateous_compiler.statechart.yaml_schema``. A property test holds it against
the reader.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, Final

from stateous.statechart import fields

_CHART_NAME: Final = "^[a-z][a-z0-9_-]{0,63}$"
_NAME: Final = f"^{fields.PART_NAME}$"
_LENGTH: Final = "^(?=[0-9])([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
_CLOCK: Final = r"^((mon|tue|wed|thu|fri|sat|sun) )?([01][0-9]|2[0-3]):[0-5][0-9]( \S+)?$"
_EXPRESSION: Final = r"^\$\{[\s\S]*\}$"
_WITH_EXPRESSION: Final = r"(^|[^$])\$\{"

_Schema = dict[str, Any]


def _ref(name: str) -> _Schema:
    return {"$ref": f"#/$defs/{name}"}


def _closed(names: tuple[str, ...], known: Mapping[str, _Schema], **more: Any) -> _Schema:
    """A mapping with the fields ``names`` and no others."""
    return {
        "type": "object",
        "properties": {name: known[name] for name in names},
        "additionalProperties": False,
        **more,
    }


def _by_name(names: _Schema, values: _Schema, **more: Any) -> _Schema:
    return {"type": "object", "propertyNames": names, "additionalProperties": values, **more}


def _one_or_list(of: _Schema, **more: Any) -> _Schema:
    return {"anyOf": [of, {"type": "array", "items": of, **more}]}


def _any(description: str) -> _Schema:
    return {"description": description}


#: With two states or more, one has to be named as the first.
_INITIAL: Final[_Schema] = {
    "if": {"properties": {"states": {"minProperties": 2}}, "required": ["states"]},
    "then": {"required": ["initial"]},
}

_CHART: Final[dict[str, _Schema]] = {
    "statechart": {"type": "string", "pattern": _CHART_NAME, "description": "The chart's name."},
    "input": {
        "type": "object",
        "additionalProperties": {
            "enum": [f"{word}{end}" for word in fields.INPUT_TYPES for end in ("", "?")]
        },
        "description": "The input's names and types; with ? it may be absent or null.",
    },
    "events": _by_name(
        _ref("eventName"),
        {
            "anyOf": [
                {"$ref": "https://json-schema.org/draft/2020-12/schema"},
                {"type": "null"},
            ]
        },
        description="The events that are taken, each with the JSON Schema of its data.",
    ),
    "initial": {**_ref("name"), "description": "The state that is entered first."},
    "states": _by_name(_ref("name"), _ref("state"), minProperties=1),
}

_STATE: Final[dict[str, _Schema]] = {
    "job": {**_ref("job"), "description": "Started on entry, cancelled on leaving."},
    "jobs": _by_name(
        _ref("name"),
        _ref("job"),
        minProperties=1,
        description="Several jobs, by name; the state is done when all are.",
    ),
    "initial": _CHART["initial"],
    "states": {**_CHART["states"], "description": "States inside this one."},
    "ticket": {**_ref("eventName"), "description": "A ticket that is issued on entry."},
    "timers": _by_name(
        _ref("eventName"), _ref("time"), description="Timers, started on entry, by name."
    ),
    "defer": {
        "type": "array",
        "items": _ref("eventName"),
        "description": "Events that are kept while no rule takes them.",
    },
    "entry": {**_ref("sends"), "description": "Sent on entering the state."},
    "exit": {**_ref("sends"), "description": "Sent on leaving the state."},
    "on": _by_name(
        {**_ref("name"), "not": {"enum": sorted(fields.NO_RULE)}},
        _ref("transitions"),
        description="Where to go on each event.",
    ),
}

_FINAL: Final[dict[str, _Schema]] = {
    "end": {"enum": list(fields.ENDS), "description": "How the chart, or the state around, ends."},
    "output": _any("The result; texts may hold ${…}."),
}

_JOB: Final[dict[str, _Schema]] = {
    "script": {**_ref("fixed"), "description": "The path of a JavaScript file."},
    "machine": {
        "anyOf": [_ref("fixed"), _ref("chart")],
        "description": "Another chart: its path, or itself.",
    },
    "routine": {**_ref("name"), "description": "The name of a Python routine."},
    "input": _any("The job's input; texts may hold ${…}."),
    "retries": {"type": "integer", "minimum": 0, "description": "Attempts after a failed one."},
    "timeout": {
        "type": "string",
        "pattern": _LENGTH,
        "description": "A length, for each attempt; 5m when it is not given.",
    },
    "allow": {"type": "array", "items": {"const": fields.NO_GRANT}},
}

_TRANSITION: Final[dict[str, _Schema]] = {
    "go": {**_ref("name"), "description": "The state to go to; without it the state stays."},
    "when": {
        "type": "string",
        "pattern": _EXPRESSION,
        "description": "A condition: one ${…}, in quotes.",
    },
    "send": _one_or_list(_ref("send")),
}

_SEND: Final[dict[str, _Schema]] = {
    "to": {
        "anyOf": [_ref("name"), _ref("keyed")],
        "description": "parent, a machine job by name, or the key of a run.",
    },
    "event": _ref("eventName"),
    "data": _any("The event's data; texts may hold ${…}."),
}

_TO: Final[dict[str, _Schema]] = {
    "key": {"type": "string", "minLength": 1, "description": "The key of a run."},
    "machine": {
        "anyOf": [_ref("fixed"), _ref("chart")],
        "description": "What a new run is of when none has the key.",
    },
}

_DEFINITIONS: Final[dict[str, _Schema]] = {
    "chart": _closed(fields.CHART, _CHART, required=["statechart", "states"], **_INITIAL),
    "name": {"type": "string", "pattern": _NAME},
    "eventName": {"type": "string", "pattern": _NAME, "not": {"enum": sorted(fields.RESERVED)}},
    "fixed": {"type": "string", "minLength": 1, "not": {"pattern": _WITH_EXPRESSION}},
    "state": {
        "if": {"anyOf": [{"required": [name]} for name in fields.FINAL]},
        "then": _closed(fields.FINAL, _FINAL, required=["end"]),
        "else": _closed(
            fields.STATE,
            _STATE,
            dependentRequired={"initial": ["states"]},
            allOf=[
                {"not": {"required": [one, other]}}
                for at, one in enumerate(fields.WORK)
                for other in fields.WORK[at + 1 :]
            ],
            **_INITIAL,
        ),
    },
    "job": _closed(
        fields.JOB,
        _JOB,
        oneOf=[{"required": [kind]} for kind in fields.WHAT_JOBS_DO],
        dependentSchemas={
            "machine": {"properties": {"retries": False, "timeout": False}},
            "allow": {"required": ["script"]},
        },
    ),
    "time": {
        "type": "string",
        "anyOf": [{"pattern": _LENGTH}, {"pattern": _CLOCK}, {"pattern": _EXPRESSION}],
        "description": "A length as 48h, a clock time as mon 09:00 Europe/London, or one ${…}.",
    },
    "sends": _closed(("send",), _TRANSITION, required=["send"]),
    "transitions": _one_or_list({"anyOf": [_ref("name"), _ref("transition")]}, minItems=1),
    "transition": _closed(fields.TRANSITION, _TRANSITION),
    "send": _closed(fields.SEND, _SEND, required=["to", "event"]),
    "keyed": _closed(fields.TO, _TO, required=["key"]),
}


def yaml_schema() -> _Schema:
    """The whole schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A statechart of Stateous",
        **_ref("chart"),
        "$defs": _DEFINITIONS,
    }


def schema_text() -> str:
    """The text of the published file."""
    return json.dumps(yaml_schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
