"""Building the graph document, and its file (`docs/spec/authoring.md` 6.1, 6.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from stateous.graph.document import FORMAT
from stateous.graph.references import keys_below
from stateous.json import Json
from stateous.workflow import Event, State, Transition, Workflow
from stateous_compiler.compilation import leaves_start


def build_graph(
    flows: Sequence[Workflow],
    keys: Mapping[type[BaseModel], str],
    schemas: Mapping[str, Json],
) -> dict[str, Any]:
    """The graph document of ``flows``, the top one first.

    ``keys`` holds the models that take part; of ``schemas`` those are kept that they need. Of two
    workflows with one name, which no valid tree has, the first takes part.
    """
    top, *children = flows
    document: dict[str, Any] = {"stateous": FORMAT, "workflow": top.name, **_flow(top, keys)}
    named: dict[str, Workflow] = {}
    for child in children:
        named.setdefault(child.name, child)
    if named:
        document["workflows"] = {name: _flow(child, keys) for name, child in named.items()}
    used = {name for key in keys.values() for name in keys_below(schemas, key)}
    document["schemas"] = {key: schemas[key] for key in sorted(used)}
    return document


def file_text(document: Mapping[str, Any]) -> str:
    """The text of a graph file."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _flow(flow: Workflow, keys: Mapping[type[BaseModel], str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if flow.context is not None and flow.context in keys:
        made["context"] = keys[flow.context]
    made["states"] = {name: _state(state) for name, state in flow.states.items()}
    made["events"] = {name: _event(event, keys) for name, event in flow.events.items()}
    made["transitions"] = [_transition(transition) for transition in flow.transitions]
    return made


def _state(state: State) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if state.timeout is not None:
        made["timeout"] = state.timeout
    if state.retries:
        made["retries"] = int(state.retries)
    if not state.parallel:
        made["emits"] = [event.name for event in state.emits]
        return made
    made["parallel"] = [child.name for child in state.parallel]
    made["join"] = state.join
    if state.inputs:
        made["inputs"] = list(state.inputs)
    if state.into is not None:
        made["into"] = state.into
    return made


def _event(event: Event, keys: Mapping[type[BaseModel], str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if event.payload is not None and event.payload in keys:
        made["payload"] = keys[event.payload]
    if event.into is not None:
        made["into"] = event.into
    return made


def _transition(transition: Transition) -> dict[str, Any]:
    made: dict[str, Any] = {"from": transition.source.name, "to": transition.target.name}
    if not leaves_start(transition):
        made["on"] = transition.event
    if transition.when is not None:
        made["when"] = transition.when.text
    if transition.otherwise:
        made["otherwise"] = True
    return made
