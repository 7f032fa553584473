"""Properties of contract.py: it imports whatever the document, and its payloads fit the schemas."""

import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from stateous.errors import GraphError
from stateous.graph.reading import read_graph
from stateous.graph.schemas import compile_schemas
from stateous.routine.payload import payload_of
from stateous_compiler.contract import contract_text

KEYS = ("Alpha", "Beta", "Gamma", "Delta", "eps", "Zeta_int_")
NAMES = ("kg", "label", "Alpha", "str", "json", "copy", "type", "ä", "eps", "name", "id")

_numbers = itertools.count()


@contextmanager
def imported(text: str) -> Iterator[Any]:
    """The module that ``text`` makes."""
    module = ModuleType(f"contract_{next(_numbers)}")
    sys.modules[module.__name__] = module
    try:
        with warnings.catch_warnings():
            # pydantic warns of fields such as `json`; it lets them be.
            warnings.filterwarnings("ignore", message="Field name", category=UserWarning)
            exec(compile(text, module.__name__, "exec"), module.__dict__)
        yield module
    finally:
        del sys.modules[module.__name__]


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=6,
)
types = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])


def with_default(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda schema, default: {**schema, "default": default} if isinstance(schema, dict) else {},
        schemas,
        values,
    )


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"type": st.just("array"), "prefixItems": some}),
        st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner}),
        st.builds(lambda word, members: {word: members}, st.sampled_from(["anyOf", "oneOf"]), some),
        st.builds(lambda members: {"allOf": members}, some),
        with_default(inner),
        st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
                "required": st.lists(st.sampled_from(NAMES), unique=True, max_size=2),
            }
        ),
    )


any_schema = st.recursive(
    st.one_of(
        st.booleans(),
        st.builds(lambda name: {"type": name}, types),
        st.builds(lambda names: {"type": names}, st.lists(types, min_size=1, unique=True)),
        st.builds(lambda members: {"enum": members}, st.lists(scalars, min_size=1, max_size=3)),
        st.builds(lambda value: {"const": value}, values),
        st.builds(lambda key: {"$ref": f"#/schemas/{key}"}, st.sampled_from(KEYS)),
    ),
    containers,
    max_leaves=8,
)
some_documents = st.builds(
    lambda schemas, payloads: {
        "stateous": 1,
        "workflow": "random",
        "context": "Alpha",
        "states": {"s": {"emits": list(payloads)}},
        "events": {name: {"payload": key} for name, key in payloads.items()},
        "transitions": [],
        "schemas": schemas,
    },
    st.fixed_dictionaries(dict.fromkeys(KEYS, any_schema)),
    st.dictionaries(st.sampled_from(["a", "b-c", "eps"]), st.sampled_from(KEYS)),
)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(some_documents)
def test_the_contract_of_any_document_imports(raw: dict[str, Any]) -> None:
    try:
        text = contract_text(read_graph(json.dumps(raw).encode()))
    except GraphError:
        assume(False)
    with imported(text) as module:
        assert module.__workflow__ == "random"
        assert [event.name for event in module.states.s.emits] == list(raw["events"])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "default": json.loads("[" * 150 + "]" * 150)},
        {"anyOf": [{"const": number} for number in range(3000)]},
        {"anyOf": [{"type": "array", "items": {"const": number}} for number in range(3000)]},
        {"const": 10**4000},
        {"type": "string", "default": "\u2028\u2029\x85\x0c\x7f'\"\\"},
        {"type": "object", "default": {"\n": "}", "__import__('os')": 1}},
    ],
)
def test_large_and_odd_schemas_import(schema: Any) -> None:
    for _ in range(12):
        schema = {"type": "object", "additionalProperties": schema}
    made = {"type": "object", "properties": {"x": schema}}
    raw = {
        "stateous": 1,
        "workflow": "odd",
        "states": {},
        "events": {},
        "transitions": [],
        "schemas": {"Made": made, "Alias": schema},
    }
    deep: Any = {"type": "integer"}
    for _ in range(90):
        deep = {"type": "array", "items": deep}
    raw["schemas"]["Deep"] = deep
    with imported(contract_text(read_graph(json.dumps(raw).encode()))) as module:
        module.Made()


#: What JSON can carry to the control plane.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=4)


def fitting(schemas: dict[str, Any], schema: Any) -> st.SearchStrategy[Any]:
    """Values that a plain schema admits."""
    if "$ref" in schema:
        return fitting(schemas, schemas[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return st.one_of([fitting(schemas, member) for member in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "string":
            return texts
        case "integer":
            return st.integers(-1000, 1000)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            return st.lists(fitting(schemas, schema["items"]), max_size=2)
    if "properties" not in schema:
        members = fitting(schemas, schema["additionalProperties"])
        return st.dictionaries(texts, members, max_size=2)
    fields = {name: fitting(schemas, member) for name, member in schema["properties"].items()}
    required = {name: member for name, member in fields.items() if name in schema["required"]}
    return st.fixed_dictionaries(
        required, optional={name: fields[name] for name in fields if name not in required}
    )


def plain(references: list[str]) -> st.SearchStrategy[Any]:
    """Schemas as models have them, which may refer to ``references``."""
    leaves = [st.builds(lambda name: {"type": name}, st.sampled_from(["string", "integer"]))]
    leaves.append(st.just({"type": "boolean"}))
    leaves.append(st.just({"enum": ["low", "high"], "type": "string"}))
    if references:
        leaves.append(
            st.builds(lambda key: {"$ref": f"#/schemas/{key}"}, st.sampled_from(references))
        )
    return st.recursive(
        st.one_of(leaves),
        lambda inner: st.one_of(
            st.builds(lambda one: {"anyOf": [one, {"type": "null"}]}, inner),
            st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
            st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner}),
        ),
        max_leaves=3,
    )


def model(references: list[str]) -> st.SearchStrategy[Any]:
    fields = st.dictionaries(
        st.sampled_from(["kg", "label", "parts", "rank"]), plain(references), min_size=1
    )
    return fields.flatmap(
        lambda properties: st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.just(properties),
                "required": st.lists(st.sampled_from(sorted(properties)), unique=True),
            }
        )
    )


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_payload_of_the_contract_fits_the_document(data: st.DataObject) -> None:
    schemas: dict[str, Any] = {}
    for key in ("Alpha", "Beta", "Gamma"):
        schemas[key] = data.draw(model(list(schemas)))
    raw = {
        "stateous": 1,
        "workflow": "random",
        "states": {"s": {"emits": ["made"]}},
        "events": {"made": {"payload": "Gamma"}},
        "transitions": [],
        "schemas": schemas,
    }
    document = read_graph(json.dumps(raw).encode())
    value = data.draw(fitting(schemas, schemas["Gamma"]))
    with imported(contract_text(document)) as module:
        dumped = payload_of(module.events.made(module.Gamma.model_validate(value)))
    assert compile_schemas(document)["Gamma"].problems(dumped) == []
