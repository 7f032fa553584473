"""The text of ``contract.py``: a document's models, events and states for routines (7.1).

It is made from the document alone, and never executed here. Names have passed
:mod:`stateous_compiler.contract_names`, everything else is written as a literal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stateous.errors import GraphError
from stateous.graph.document import EventSpec, FlowSpec, GraphDocument, StateSpec
from stateous.graph.references import in_definition_order
from stateous.json import Json
from stateous.names import python_name
from stateous_compiler.contract_names import contract_problems
from stateous_compiler.python_types import PythonType, Types, is_class, literal

_INDENT: Final = "    "


def contract_text(document: GraphDocument) -> str:
    """The whole file.

    Raises:
        GraphError: a name of the document cannot be carried (`docs/spec/authoring.md` 7.2).
    """
    for _, text in contract_problems(document.raw):
        raise GraphError(text)
    return _Contract(document).text()


def context_type(flow: FlowSpec) -> str:
    """The name of the type of ``ctx`` in a workflow's routines."""
    return "Context" if flow.context is None else f"{flow.context}Context"


def event_path(document: GraphDocument, flow: FlowSpec, event: str) -> str:
    """How the class of an event is reached: ``events.paid`` or ``events.tax_check.quoted``."""
    return ".".join(["events", *_inside(document, flow), python_name(event)])


def state_path(document: GraphDocument, flow: FlowSpec, state: str) -> str:
    """How the reference of a state is reached, as :func:`event_path`."""
    return ".".join(["states", *_inside(document, flow), python_name(state)])


def queue_of(document: GraphDocument, flow: FlowSpec, state: str) -> str:
    """The state as claims name it: ``<state>``, of a child ``<workflow>/<state>``."""
    return state if flow is document.top else f"{flow.name}/{state}"


def with_routine(flow: FlowSpec) -> list[StateSpec]:
    """The states that have a routine: those that are not parallel."""
    return [state for state in flow.states.values() if not state.parallel]


def _inside(document: GraphDocument, flow: FlowSpec) -> list[str]:
    return [] if flow is document.top else [python_name(flow.name)]


class _Contract:
    """One file on its way: the blocks of the text, and the names that they need."""

    def __init__(self, document: GraphDocument) -> None:
        self._document = document
        self._types = Types(document.schemas)
        self._used: set[str] = set()

    def text(self) -> str:
        document = self._document
        keys = in_definition_order(document.schemas)
        blocks = [self._model(key, document.schemas[key]) for key in keys]
        blocks.append(self._contexts())
        blocks.append(self._class_of_events())
        blocks.append(self._class_of_states())
        return "\n\n\n".join([self._head(), *filter(None, blocks)]) + "\n"

    def _head(self) -> str:
        document = self._document
        imports = [
            "from __future__ import annotations",
            self._import("typing", "Any", "Literal", "Never"),
            self._import("pydantic", "BaseModel"),
            self._import("stateous", "Context", "Occurrence", "StateRef"),
        ]
        named = {
            "__workflow__": document.workflow,
            "__checksum__": document.checksum,
            "__contract__": document.contract,
        }
        return (
            f"# Generated from the workflow {document.workflow!r}. Do not edit:"
            " `stateous init supervisor` writes this file again.\n"
            + "\n\n".join(filter(None, imports))
            + "\n\n"
            + "\n".join(f"{name} = {literal(value)}" for name, value in named.items())
        )

    def _import(self, module: str, *names: str) -> str:
        used = [name for name in names if name in self._used or name == "StateRef"]
        return f"from {module} import {', '.join(used)}" if used else ""

    def _model(self, key: str, schema: Json) -> str:
        if not is_class(schema):
            return f"{key} = {self._type(schema)}"
        self._used.add("BaseModel")
        properties = schema.get("properties")
        required = schema.get("required")
        lines = [
            f"{_INDENT}{name}: {self._field(field, isinstance(required, list) and name in required)}"
            for name, field in (properties.items() if isinstance(properties, dict) else ())
        ]
        return "\n".join([f"class {key}(BaseModel):", *(lines or [f"{_INDENT}pass"])])

    def _field(self, schema: Json, required: bool) -> str:
        if required:
            return str(self._type(schema))
        if isinstance(schema, dict) and "default" in schema:
            return f"{self._type(schema)} = {self._default(schema, schema['default'])}"
        return f"{self._type(schema).or_none()} = None"

    def _default(self, schema: Json, value: Json) -> str:
        members = [name for name in self._types.of(schema).members if name != "None"]
        if (
            isinstance(value, dict)
            and len(members) == 1
            and is_class(self._document.schemas.get(members[0]))
            and self._types.fits(schema, value)
        ):
            return f"{members[0]}.model_validate({literal(value)})"
        return literal(value)

    def _type(self, schema: Json) -> PythonType:
        found = self._types.of(schema)
        self._used |= found.names
        return found

    def _contexts(self) -> str:
        keys = dict.fromkeys(flow.context for flow in self._document.flows if flow.context)
        if keys:
            self._used.add("Context")
        return "\n".join(f"{key}Context = Context[{key}]" for key in keys)

    def _class_of_events(self) -> str:
        blocks = [self._event(event) for event in self._document.events.values()]
        for child in self._document.workflows.values():
            if child.events:
                inner = [self._event(event) for event in child.events.values()]
                blocks.append(_class(python_name(child.name), "\n\n".join(inner)))
        return _class("events", "\n\n".join(blocks))

    def _event(self, event: EventSpec) -> str:
        self._used.add("Occurrence")
        base = f"Occurrence[{event.payload}]"
        return _class(f"{python_name(event.name)}({base})", f"name = {literal(event.name)}")

    def _class_of_states(self) -> str:
        document = self._document
        blocks = ["\n".join(self._states(document.top))]
        blocks += [
            _class(python_name(child.name), "\n".join(self._states(child)))
            for child in document.workflows.values()
            if with_routine(child)
        ]
        return _class("states", "\n\n".join(filter(None, blocks)))

    def _states(self, flow: FlowSpec) -> Iterator[str]:
        document = self._document
        for state in with_routine(flow):
            paths = [event_path(document, flow, event) for event in state.emits]
            emits = f"({', '.join(paths)}{',' if len(paths) == 1 else ''})"
            reference = "StateRef" if paths else "StateRef[Never]"
            if not paths:
                self._used.add("Never")
            queue = literal(queue_of(document, flow, state.name))
            yield f"{python_name(state.name)} = {reference}({queue}, emits={emits})"


def _class(head: str, body: str) -> str:
    lines = (f"{_INDENT}{line}" if line else "" for line in (body or "pass").split("\n"))
    return "\n".join([f"class {head}:", *lines])
