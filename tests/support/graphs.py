"""Graph documents in short form, for tests of what runs them.

::

    graph('''
        START -> coding
        coding -> testing on done
        testing -> END on passed
        testing -> coding on failed if count('failed') < 3
        testing -> END on failed otherwise
    ''')
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stateous.graph.machine import Machine, freeze
from stateous.graph.reading import check_graph
from stateous.names import END, OWN_EVENTS, START

_LINE = re.compile(
    r"(?P<source>\S+) -> (?P<target>\S+)"
    r"(?: on (?P<on>\S+))?(?: if (?P<when>.+?)| (?P<otherwise>otherwise))?"
)
_ENDS = {"START": START, "END": END}


def flow(
    text: str,
    *,
    context: str | None = None,
    states: Mapping[str, Mapping[str, Any]] = {},
    events: Mapping[str, Mapping[str, Any]] = {},
) -> dict[str, Any]:
    """One workflow of a document. States and events are those that ``text`` names, and more."""
    transitions: list[dict[str, Any]] = []
    found_states: dict[str, dict[str, Any]] = {}
    found_events: dict[str, dict[str, Any]] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        match = _LINE.fullmatch(line)
        assert match is not None, f"not a transition: {line}"
        transition: dict[str, Any] = {}
        for key, end in (("from", match["source"]), ("to", match["target"])):
            transition[key] = _ENDS.get(end, end)
            if end not in _ENDS:
                found_states.setdefault(end, {"emits": []})
        if match["on"]:
            transition["on"] = match["on"]
            if match["on"] not in OWN_EVENTS:
                found_events.setdefault(match["on"], {})
                emits = found_states[match["source"]]["emits"]
                if match["on"] not in emits:
                    emits.append(match["on"])
        if match["when"]:
            transition["when"] = match["when"]
        if match["otherwise"]:
            transition["otherwise"] = True
        transitions.append(transition)
    for name, more in states.items():
        found_states.setdefault(name, {"emits": []}).update(more)
    for name, more in events.items():
        found_events.setdefault(name, {}).update(more)
    made: dict[str, Any] = {
        "states": found_states,
        "events": found_events,
        "transitions": transitions,
    }
    return made if context is None else {"context": context, **made}


def graph(
    text: str,
    *,
    workflow: str = "ticket",
    context: str | None = None,
    states: Mapping[str, Mapping[str, Any]] = {},
    events: Mapping[str, Mapping[str, Any]] = {},
    schemas: Mapping[str, Any] = {},
    workflows: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """A whole document; ``workflows`` are its children, made by :func:`flow`."""
    made = {
        "stateous": 1,
        "workflow": workflow,
        **flow(text, context=context, states=states, events=events),
        "schemas": dict(schemas),
    }
    if workflows:
        made["workflows"] = dict(workflows)
    return made


def machine(text: str, **more: Any) -> Machine:
    """The machine of :func:`graph`."""
    return freeze(check_graph(graph(text, **more)))


#: The workflow that most tests run: two states, a payload, a timeout, retries, counts, defaults.
TICKET = graph(
    """
    START -> coding
    coding -> testing on done
    coding -> END on stuck
    testing -> END on passed
    testing -> coding on failed if count('failed') < 3
    testing -> END on failed otherwise
    """,
    context="Ticket",
    states={"coding": {"timeout": "1h", "retries": 1}},
    events={"failed": {"payload": "Failure"}},
    schemas={
        "Ticket": {
            "type": "object",
            "properties": {
                "tries": {"type": "integer", "default": 0},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                "repo": {"type": "string"},
            },
        },
        "Failure": {
            "type": "object",
            "properties": {"failed": {"type": "integer"}},
            "required": ["failed"],
        },
    },
)
