"""Reading a graph document: every refusal is one sentence (`docs/spec/authoring.md` 6.4).

Besides the list there, what `Workflow` refuses at the call (2.4, 2.5) is refused here too: such a
document was not compiled, and the engine relies on it. What only `compile` finds in a whole graph
(a state that nobody reaches, guards that overlap) is let through: the engine has an answer to it.
Whether each schema is a JSON Schema is asked by :mod:`stateous.graph.schemas`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from graphlib import CycleError, TopologicalSorter
from typing import Any, cast

from stateous.durations import parse_duration
from stateous.errors import GraphError, GuardError, JsonError
from stateous.graph.document import (
    FORMAT,
    EventSpec,
    FlowSpec,
    GraphDocument,
    Join,
    StateSpec,
    TransitionSpec,
)
from stateous.graph.positions import every_schema, resolve
from stateous.graph.references import levels_of
from stateous.guards import Guard, parse_guard
from stateous.json import Json, read_json
from stateous.limits import MAX_GRAPH_DEPTH, MAX_SCHEMA_LEVELS
from stateous.names import END, JOINED, OWN_EVENTS, ROUTABLE_OWN_EVENTS, START, is_name

_FLOW_KEYS = ("states", "events", "transitions")
_TOP_KEYS = ("stateous", "workflow", *_FLOW_KEYS, "schemas")


def read_graph(data: bytes) -> GraphDocument:
    """The document that ``data`` holds.

    Raises:
        GraphError: it is no graph document, or one that could not have been compiled. The sentence
            has no place in front of it: the caller knows the file or the URL.
    """
    try:
        value = read_json(data, max_depth=MAX_GRAPH_DEPTH)
    except JsonError as error:
        raise GraphError(str(error).removeprefix("the body is ")) from None
    return check_graph(value)


def check_graph(value: Json) -> GraphDocument:
    """The document that ``value`` is, which must come out of strict JSON.

    Raises:
        GraphError: as :func:`read_graph`.
    """
    raw = _object(value, "the graph file")
    found = raw.get("stateous", FORMAT)
    if type(found) is not int or found != FORMAT:
        raise GraphError(
            f"the graph file has format {_shown(found)}, but this Stateous reads format {FORMAT};"
            " run `stateous compile` again"
        )
    _has(raw, _TOP_KEYS, "the graph file")
    schemas = _schemas(raw["schemas"])
    children = _object(raw.get("workflows", {}), "'workflows'")
    name = _name(raw["workflow"], "the workflow")
    if name in children:
        raise GraphError(f"the workflow {name!r} has a child workflow of its own name")
    top = _Flow(f"the workflow {name!r}", schemas, children).read(name, raw)
    workflows = {}
    for child, value in children.items():
        where = f"the child workflow {_name(child, 'a child workflow')!r}"
        flow = _object(value, where)
        _has(flow, _FLOW_KEYS, where)
        workflows[child] = _Flow(where, schemas, children).read(child, flow)
    _no_circle((top, *workflows.values()))
    return GraphDocument(raw, top, workflows)


def _schemas(value: Json) -> Mapping[str, Json]:
    schemas = _object(value, "'schemas'")
    for key, schema in schemas.items():
        if not isinstance(schema, dict | bool):
            raise GraphError(f"the schema {key!r} must be an object, not {_shown(schema)}")
        for part in every_schema(schema):
            if "$ref" in part and resolve(schemas, part["$ref"]) is None:
                shown = _shown(part["$ref"])
                raise GraphError(f"the schema {key!r} has the $ref {shown}, which leads nowhere")
    if levels_of(schemas) > MAX_SCHEMA_LEVELS:
        raise GraphError("the schemas refer to one another in too long a chain")
    return schemas


def _no_circle(flows: Iterable[FlowSpec]) -> None:
    runs = {
        flow.name: {child for state in flow.states.values() for child in state.parallel}
        for flow in flows
    }
    try:
        TopologicalSorter(runs).prepare()
    except CycleError as error:
        name = error.args[1][0]
        raise GraphError(f"the workflow {name!r} runs itself, by way of its children") from None


class _Flow:
    """The reader of one workflow of a document; ``where`` names it in sentences."""

    def __init__(
        self, where: str, schemas: Mapping[str, Json], children: Mapping[str, Json]
    ) -> None:
        self._where = where
        self._schemas = schemas
        self._children = children
        self._states: dict[str, StateSpec] = {}
        self._events: dict[str, EventSpec] = {}

    def read(self, name: str, raw: Mapping[str, Json]) -> FlowSpec:
        context = None
        if "context" in raw:
            context = self._key(raw["context"], f"the context of {self._where}")
        # Events first: what states emit are events.
        for event, value in _object(raw["events"], f"'events' of {self._where}").items():
            self._events[event] = self._event(event, value)
        for state, value in _object(raw["states"], f"'states' of {self._where}").items():
            self._states[state] = self._state(state, value)
        listed = _list(raw["transitions"], f"'transitions' of {self._where}")
        transitions = tuple(
            self._transition(f"transition {number} of {self._where}", value)
            for number, value in enumerate(listed, start=1)
        )
        self._one_fallback(transitions)
        return FlowSpec(name, context, self._states, self._events, transitions)

    def _event(self, name: str, value: Json) -> EventSpec:
        where = f"the event {_name(name, f'an event of {self._where}')!r} of {self._where}"
        if name in OWN_EVENTS:
            raise GraphError(f"{where} is Stateous's own, and cannot be declared")
        raw = _object(value, where)
        payload = self._key(raw["payload"], f"the payload of {where}") if "payload" in raw else None
        return EventSpec(name, payload, _into(raw, where))

    def _state(self, name: str, value: Json) -> StateSpec:
        where = f"the state {_name(name, f'a state of {self._where}')!r} of {self._where}"
        raw = _object(value, where)
        parallel = self._parallel(raw, where)
        retries = raw.get("retries", 0)
        if type(retries) is not int or retries < 0:
            raise GraphError(f"the retries of {where} must be 0 or more, not {_shown(retries)}")
        if parallel and retries:
            raise GraphError(f"{where} is parallel and has no task, so it cannot have retries")
        join = raw.get("join", "all")
        if join not in ("all", "any"):
            raise GraphError(f"the join of {where} must be 'all' or 'any', not {_shown(join)}")
        emits = _texts(raw.get("emits", []), f"'emits' of {where}")
        for event in emits:
            if event not in self._events:
                raise GraphError(f"{where} emits {_shown(event)}, which is not an event")
        return StateSpec(
            name=name,
            timeout=_timeout(raw, where),
            retries=retries,
            emits=() if parallel else emits,
            parallel=parallel,
            join=cast(Join, join),
            inputs=_texts(raw.get("inputs", []), f"'inputs' of {where}"),
            into=_into(raw, where),
        )

    def _parallel(self, raw: Mapping[str, Json], where: str) -> tuple[str, ...]:
        if raw.get("parallel") is None:
            return ()
        names = _texts(raw["parallel"], f"'parallel' of {where}")
        if not names:
            raise GraphError(f"'parallel' of {where} is empty")
        for name in names:
            if name not in self._children:
                raise GraphError(f"{where} runs {_shown(name)}, which 'workflows' does not have")
        if len(set(names)) < len(names):
            raise GraphError(f"{where} runs one child workflow twice")
        return names

    def _transition(self, where: str, value: Json) -> TransitionSpec:
        raw = _object(value, where)
        _has(raw, ("from", "to"), where)
        source = self._end(raw["from"], START, f"the 'from' of {where}")
        target = self._end(raw["to"], END, f"the 'to' of {where}")
        if source == START and target == END:
            raise GraphError(f"{where} leads from START to END, past every state")
        event = self._trigger(raw, source, where)
        otherwise = raw.get("otherwise", False)
        if not isinstance(otherwise, bool):
            raise GraphError(f"'otherwise' of {where} must be true, not {_shown(otherwise)}")
        if "when" not in raw:
            return TransitionSpec(source, target, event, None, None, otherwise)
        when = raw["when"]
        if not isinstance(when, str):
            raise GraphError(f"the guard of {where} must be a text, not {_shown(when)}")
        if otherwise:
            raise GraphError(f"{where} has both a guard and 'otherwise'")
        return TransitionSpec(source, target, event, when, self._guard(when, event, where), False)

    def _end(self, value: Json, own: str, where: str) -> str:
        if isinstance(value, str) and (value == own or value in self._states):
            return value
        raise GraphError(f"{where} is {_shown(value)}, which is not a state")

    def _trigger(self, raw: Mapping[str, Json], source: str, where: str) -> str | None:
        if source == START:
            if "on" in raw:
                raise GraphError(f"{where} leads out of START, so it has no 'on'")
            return None
        _has(raw, ("on",), where)
        event = raw["on"]
        if not isinstance(event, str) or not (
            event in self._events or event in ROUTABLE_OWN_EVENTS
        ):
            raise GraphError(f"{where} is on {_shown(event)}, which is not an event")
        if event == JOINED and not self._states[source].parallel:
            raise GraphError(f"{where} is on 'joined', but {source!r} is not a parallel state")
        return event

    def _guard(self, when: str, event: str | None, where: str) -> Guard:
        try:
            guard = parse_guard(when)
        except GuardError as error:
            raise GraphError(f"{where}: {error}") from None
        if guard.branches and event != JOINED:
            raise GraphError(f"the guard of {where} reads branches, which only 'joined' has")
        if event is None and (guard.payload_fields or guard.events):
            raise GraphError(f"the guard of {where}, out of START, can read nothing but ctx")
        spec = self._events.get(event) if event is not None else None
        if guard.payload_fields and (spec is None or spec.payload is None):
            raise GraphError(f"the guard of {where} reads a payload, but {event!r} carries none")
        return guard

    def _one_fallback(self, transitions: Iterable[TransitionSpec]) -> None:
        seen = set()
        for transition in transitions:
            if transition.guard is not None:
                continue
            if transition.group in seen:
                source, event = transition.group
                name = "START" if event is None else f"{event!r} from {source!r}"
                raise GraphError(f"{self._where} has two transitions without a guard for {name}")
            seen.add(transition.group)

    def _key(self, value: Json, where: str) -> str:
        if isinstance(value, str) and value in self._schemas:
            return value
        raise GraphError(f"{where} is {_shown(value)}, which 'schemas' does not have")


def _timeout(raw: Mapping[str, Json], where: str) -> timedelta | None:
    if raw.get("timeout") is None:
        return None
    try:
        return parse_duration(raw["timeout"])
    except ValueError as error:
        raise GraphError(f"the timeout of {where}: {error}") from None


def _into(raw: Mapping[str, Json], where: str) -> str | None:
    if "into" not in raw:
        return None
    into = raw["into"]
    if isinstance(into, str) and into:
        return into
    raise GraphError(f"'into' of {where} must be the name of a context key, not {_shown(into)}")


def _name(value: Json, what: str) -> str:
    if isinstance(value, str) and is_name(value):
        return value
    raise GraphError(
        f"{what} is named {_shown(value)}: a name is a small letter and at most 63 more"
        " letters, digits, '-' and '_'"
    )


def _object(value: Json, what: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise GraphError(f"{what} must be an object, not {_shown(value)}")


def _list(value: Json, what: str) -> list[Json]:
    if isinstance(value, list):
        return value
    raise GraphError(f"{what} must be a list, not {_shown(value)}")


def _texts(value: Json, what: str) -> tuple[str, ...]:
    members = _list(value, what)
    for member in members:
        if not isinstance(member, str):
            raise GraphError(f"{what} must hold names only, not {_shown(member)}")
    return tuple(cast("list[str]", members))


def _has(raw: Mapping[str, Json], keys: Iterable[str], what: str) -> None:
    for key in keys:
        if key not in raw:
            raise GraphError(f"{what} has no {key!r}")


def _shown(value: Json) -> str:
    # The start of a large value tells enough, and keeps the refusal one readable sentence.
    match value:
        case None | bool():
            text = {None: "null", True: "true", False: "false"}[value]
        case dict():
            text = "an object"
        case list():
            text = "a list"
        case _:
            text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
