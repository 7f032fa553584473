"""Contexts and payloads against a document's schemas: problems as they are told, and defaults."""

import json
from typing import Any

import pytest

from stateous.errors import GraphError
from stateous.graph.reading import check_graph
from stateous.graph.schemas import SchemaValidator, compile_schemas

SCHEMAS: dict[str, Any] = {
    "Ticket": {
        "type": "object",
        "properties": {
            "repo": {"type": "string"},
            "tries": {"type": "integer", "default": 0},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "opened": {"type": "string", "format": "date"},
            "author": {"$ref": "#/schemas/Person"},
            "kind": {"enum": ["bug", "task"]},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["repo"],
    },
    "Person": {
        "type": "object",
        "properties": {"name": {"type": "string", "default": "nobody", "maxLength": 5}},
        "additionalProperties": False,
    },
    "a/b~c%d e": {"type": "object"},
}


def validators(schemas: dict[str, Any], context: str) -> Any:
    document = {
        "stateous": 1,
        "workflow": "w",
        "context": context,
        "states": {},
        "events": {},
        "transitions": [],
        "schemas": schemas,
    }
    return compile_schemas(check_graph(document))


@pytest.fixture(scope="module")
def ticket() -> SchemaValidator:
    validator: SchemaValidator = validators(SCHEMAS, "Ticket")["Ticket"]
    return validator


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ({"repo": "a"}, []),
        ({"repo": "a", "opened": "not a date", "unknown": 1}, []),
        ({"repo": "a", "tries": 3.0}, []),
        ({"repo": "a", "tries": 10**400}, []),
        ({"repo": 5}, ["repo: 5 is not of type 'string'"]),
        ({}, ["Ticket: 'repo' is a required property"]),
        (5, ["Ticket: 5 is not of type 'object'"]),
        ({"repo": "a", "tries": True}, ["tries: true is not of type 'integer'"]),
        ({"repo": "a", "tags": ["x", 1]}, ["tags.1: 1 is not of type 'string'"]),
        ({"repo": "a", "author": {"name": 5}}, ["author.name: 5 is not of type 'string'"]),
        ({"repo": "a", "kind": "epic"}, ['kind: "epic" is not one of "bug" or "task"']),
        (
            {"repo": None, "tries": "x"},
            ["repo: null is not of type 'string'", "tries: \"x\" is not of type 'integer'"],
        ),
    ],
)
def test_problems_name_the_path_and_the_value(
    ticket: SchemaValidator, value: Any, problems: list[str]
) -> None:
    assert ticket.problems(value) == problems


def test_long_values_are_cut(ticket: SchemaValidator) -> None:
    big = {"key" * 100: "x" * 100_000}
    (problem,) = ticket.problems({"repo": big})
    assert problem.startswith('repo: {"keykey')
    assert problem.endswith("… is not of type 'string'")
    assert len(problem) < 200
    (problem,) = ticket.problems({"repo": "a", "author": {"y" * 10_000: 1}})
    assert len(problem) < 500


def test_many_problems_are_not_all_told(ticket: SchemaValidator) -> None:
    problems = ticket.problems({"repo": "a", "tags": [1] * 100})
    assert len(problems) == 21
    assert problems[-1] == "Ticket: there are more problems"


def test_of_a_large_value_the_first_problem_is_told(ticket: SchemaValidator) -> None:
    problems = ticket.problems({"repo": "a", "tags": [1] * 100_000})
    assert problems == ["tags.0: 1 is not of type 'string'"]


def test_defaults_fill_in_what_is_missing_at_the_top(ticket: SchemaValidator) -> None:
    filled = ticket.with_defaults({"repo": "a", "note": "n", "author": {}})
    assert filled == {"repo": "a", "tries": 0, "tags": [], "note": "n", "author": {}}


def test_defaults_are_not_shared(ticket: SchemaValidator) -> None:
    first: Any = ticket.with_defaults({})
    first["tags"].append("mine")
    assert ticket.with_defaults({})["tags"] == []


def test_a_reference_at_the_top_is_followed_for_defaults() -> None:
    schemas = {**SCHEMAS, "Alias": {"$ref": "#/schemas/Person"}}
    assert validators(schemas, "Alias")["Alias"].with_defaults({}) == {"name": "nobody"}


def test_any_key_can_be_referred_to() -> None:
    name = "a/b~c%d e"
    assert validators(SCHEMAS, name)[name].problems(1) == [f"{name}: 1 is not of type 'object'"]


@pytest.mark.parametrize(
    "circle",
    [
        {"A": {"$ref": "#/schemas/A"}},
        {"A": {"$ref": "#/schemas/B"}, "B": {"allOf": [{"$ref": "#/schemas/A"}]}},
        {"A": {"anyOf": [{"$ref": "#/schemas/A"}, {"type": "null"}]}},
        {"A": {"not": {"$ref": "#/schemas/A"}}},
    ],
)
def test_circles_of_references_end(circle: dict[str, Any]) -> None:
    validator = validators(circle, "A")["A"]
    assert isinstance(validator.problems({}), list)
    assert validator.with_defaults({}) == {}


def test_a_pattern_that_backtracks_for_ever_is_given_up() -> None:
    schemas = {"A": {"properties": {"x": {"pattern": r"^(?=a)(a|a)*\1b$"}}}}
    (problem,) = validators(schemas, "A")["A"].problems({"x": "a" * 60})
    assert problem.startswith("x: ")


def test_boolean_schemas_are_schemas() -> None:
    assert validators({"A": True}, "A")["A"].problems({"x": 1}) == []
    assert len(validators({"A": False}, "A")["A"].problems({"x": 1})) == 1


def test_a_deep_schema_is_compiled() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(90):
        schema = {"type": "array", "items": schema}
    value: Any = "x"
    for _ in range(90):
        value = [value]
    validator = validators({"A": schema}, "A")["A"]
    assert json.dumps(validator.problems(value)) == "[]"


def chain(length: int) -> dict[str, Any]:
    schemas: dict[str, Any] = {f"K{i}": {"$ref": f"#/schemas/K{i + 1}"} for i in range(length)}
    return {**schemas, f"K{length}": {"type": "string"}}


def test_a_chain_of_references_that_a_validator_could_not_go_down_is_refused() -> None:
    assert len(validators(chain(990), "K0")["K0"].problems(1)) == 1
    with pytest.raises(GraphError, match="too long a chain"):
        validators(chain(1000), "K0")


@pytest.mark.parametrize(("nested", "fine"), [(3, True), (30, False)])
def test_a_circle_counts_once_per_level_of_json(nested: int, fine: bool) -> None:
    schema: dict[str, Any] = {"properties": {"next": {"$ref": "#/schemas/A"}}}
    for _ in range(nested):
        schema = {"allOf": [schema]}
    if fine:
        assert validators({"A": schema}, "A")["A"].problems({"next": {}}) == []
    else:
        with pytest.raises(GraphError, match="too long a chain"):
            validators({"A": schema}, "A")
