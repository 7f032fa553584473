"""Names that ``contract.py`` cannot carry (`docs/spec/authoring.md` 7.2).

A document may come from the network, so no name reaches the text of ``contract.py`` before it has
passed here. Besides the list of the spec, keys of schemas that begin with two underscores are
refused (Python keeps such names to itself), and names that Python would normalize to others.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel

from stateous.graph.references import in_circles
from stateous.json import Json
from stateous.names import python_name
from stateous_compiler.python_types import Types, is_class

_CLASSES: Final = frozenset({"events", "states"})
_TAKEN: Final = frozenset(
    {
        *("Any", "BaseModel", "Context", "Literal", "Never", "Occurrence", "StateRef"),
        *("annotations", "bool", "dict", "events", "float", "int", "list", "states", "str"),
    }
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a name belongs to; ``workflow`` is empty for a schema."""

    kind: Literal["workflow", "state", "event", "schema"]
    workflow: str
    name: str


def contract_problems(document: Mapping[str, Any]) -> Iterator[tuple[Subject, str]]:
    """What in ``document`` has no name in Python, each with the reason."""
    children = document.get("workflows", {})
    yield from _flow_problems(document["workflow"], document)
    taken = {
        python_name(name): f"the event {name!r} of the top workflow" for name in document["events"]
    }
    for name, state in document["states"].items():
        if not state.get("parallel"):
            taken.setdefault(python_name(name), f"the state {name!r} of the top workflow")
    for child, flow in children.items():
        subject = Subject("workflow", child, child)
        if (why := _reserved(python_name(child))) is not None:
            yield subject, f"the child workflow {child!r}: {why}"
        if python_name(child) in taken:
            yield subject, _same(f"the child workflow {child!r}", taken[python_name(child)], child)
        taken[python_name(child)] = f"the child workflow {child!r}"
        yield from _flow_problems(child, flow)
    contexts = [flow["context"] for flow in (document, *children.values()) if "context" in flow]
    yield from _schema_problems(document["schemas"], {f"{key}Context": key for key in contexts})


def _flow_problems(workflow: str, flow: Mapping[str, Any]) -> Iterator[tuple[Subject, str]]:
    kind: Literal["state", "event"]
    for kind in ("state", "event"):
        seen: dict[str, str] = {}
        for name in flow[f"{kind}s"]:
            subject, shown = Subject(kind, workflow, name), f"the {kind} {name!r}"
            if (why := _reserved(python_name(name))) is not None:
                yield subject, f"{shown}: {why}"
            if python_name(name) in seen:
                yield subject, _same(shown, f"the {kind} {seen[python_name(name)]!r}", name)
            seen.setdefault(python_name(name), name)
    hidden: dict[str, str] = {}
    for name, event in flow["events"].items():
        model = event.get("payload")
        if model in hidden:
            text = f"the event {hidden[model]!r} has the name of the model that {name!r} carries"
            yield Subject("event", workflow, hidden[model]), text
        hidden[python_name(name)] = name


def _schema_problems(
    schemas: Mapping[str, Json], aliases: Mapping[str, str]
) -> Iterator[tuple[Subject, str]]:
    circular = in_circles(schemas)
    types = Types(schemas)
    for key, schema in schemas.items():
        subject = Subject("schema", "", key)
        if not _is_identifier(key) or key.startswith("__"):
            yield subject, f"the model {key!r} has no name that Python takes"
        elif key in _TAKEN:
            yield subject, f"the model {key!r} has a name that contract.py needs for itself"
        elif key in aliases:
            text = f"the model {key!r} has the name of the context type of {aliases[key]!r}"
            yield subject, text
        if key in circular:
            yield subject, f"the model {key!r} refers to itself"
        elif is_class(schema):
            yield from ((subject, f"{key}: {text}") for text in _field_problems(types, schema))


def _field_problems(types: Types, schema: dict[str, Json]) -> Iterator[str]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    used: set[str] = set().union(*(types.of(field).names for field in properties.values()))
    for name in properties:
        if not _is_identifier(name):
            yield f"the property {name!r} has no name that Python takes"
        elif name.startswith("_"):
            yield f"the property {name!r} begins with '_', which pydantic keeps out of a model"
        elif name.startswith("model_") and hasattr(BaseModel, name):
            yield f"the property {name!r} is an attribute of pydantic's models"
        elif name in used:
            yield f"the property {name!r} has the name of a type that the model uses"


def _reserved(name: str) -> str | None:
    if keyword.iskeyword(name):
        return f"{name!r} is a keyword of Python"
    return f"contract.py needs the name {name!r} for itself" if name in _CLASSES else None


def _same(this: str, other: str, name: str) -> str:
    return f"{this} and {other} are both {python_name(name)!r} in Python"


def _is_identifier(name: str) -> bool:
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and unicodedata.normalize("NFKC", name) == name
    )
