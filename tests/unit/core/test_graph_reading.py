"""Reading a graph document: what is refused, with which words, and what is let through."""

import copy
import json
from typing import Any

import pytest

from stateous.errors import GraphError
from stateous.graph.reading import read_graph
from stateous.graph.schemas import compile_schemas

KETTLE: dict[str, Any] = {
    "stateous": 1,
    "workflow": "kettle",
    "states": {"boil": {"emits": ["ready"]}},
    "events": {"ready": {}},
    "transitions": [
        {"from": "__start__", "to": "boil"},
        {"from": "boil", "on": "ready", "to": "__end__"},
    ],
    "schemas": {},
}
SHOP: dict[str, Any] = {
    "stateous": 1,
    "workflow": "shop",
    "context": "Cart",
    "states": {
        "pack": {"timeout": "2d", "retries": 1, "emits": ["packed"]},
        "checks": {"parallel": ["tax"], "join": "any", "inputs": ["sum"], "into": "found"},
    },
    "events": {"packed": {"payload": "Box", "into": "box"}},
    "transitions": [
        {"from": "__start__", "to": "pack", "when": "ctx['sum'] > 0"},
        {"from": "__start__", "to": "checks", "otherwise": True},
        {"from": "pack", "to": "checks", "on": "packed", "when": "payload.kg < 10"},
        {"from": "pack", "to": "__end__", "on": "packed", "otherwise": True},
        {"from": "checks", "to": "pack", "on": "joined", "when": "branches.all(final == 'ask')"},
        {"from": "checks", "to": "__end__", "on": "joined", "otherwise": True},
    ],
    "workflows": {
        "tax": {
            "states": {"ask": {"emits": ["quoted"]}},
            "events": {"quoted": {}},
            "transitions": [
                {"from": "__start__", "to": "ask"},
                {"from": "ask", "to": "__end__", "on": "quoted"},
            ],
        }
    },
    "schemas": {
        "Box": {"type": "object", "properties": {"kg": {"type": "integer"}}},
        "Cart": {"type": "object", "properties": {"box": {"$ref": "#/schemas/Box"}}},
    },
}


def read(document: object) -> Any:
    return read_graph(json.dumps(document).encode())


def edited(document: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy of ``document`` in which the value at the dotted ``path`` is ``value``."""
    made = copy.deepcopy(document)
    *steps, last = path.split(".")
    place: Any = made
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    if isinstance(place, list):
        place[int(last)] = value
    elif value is ...:
        del place[last]
    else:
        place[last] = value
    return made


def test_a_document_is_read_as_values() -> None:
    document = read(SHOP)
    assert (document.workflow, document.context) == ("shop", "Cart")
    assert document.states["pack"].timeout.days == 2
    assert document.states["pack"].emits == ("packed",)
    assert document.states["checks"].parallel == ("tax",)
    assert document.states["checks"].join == "any"
    assert document.states["checks"].into == "found"
    assert document.events["packed"].payload == "Box"
    assert [transition.event for transition in document.transitions[:3]] == [None, None, "packed"]
    assert document.transitions[2].guard.payload_fields == ("kg",)
    assert [flow.name for flow in document.flows] == ["shop", "tax"]
    assert list(document.raw) == list(SHOP)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "not strict JSON"),
        (b'{"stateous": 1, "stateous": 1}', "not strict JSON"),
        (b'{"stateous": NaN}', "not strict JSON"),
        (b"\xff", "not strict JSON"),
        (b"[" * 150 + b"]" * 150, "must be an object, not a list"),
        (b"[" * 300 + b"]" * 300, "JSON"),
        (b'"text"', "must be an object, not 'text'"),
        (b"null", "must be an object, not null"),
        (b'{"workflow": "\\u0000"}', "U+0000"),
    ],
)
def test_what_is_no_json_object_is_no_graph(data: bytes, words: str) -> None:
    with pytest.raises(GraphError, match=words.replace("+", r"\+")):
        read_graph(data)


@pytest.mark.parametrize("key", ["stateous", "workflow", "states", "events", "transitions"])
def test_each_key_is_needed(key: str) -> None:
    with pytest.raises(GraphError, match=f"the graph file has no '{key}'"):
        read(edited(KETTLE, key, ...))


def test_another_format_names_the_command_that_helps() -> None:
    with pytest.raises(GraphError) as refusal:
        read({"stateous": 2})
    assert str(refusal.value) == (
        "the graph file has format 2, but this Stateous reads format 1;"
        " run `stateous compile` again"
    )


REFUSED = [
    ("stateous", True, "format true"),
    ("stateous", 1.0, "format 1.0"),
    ("stateous", "1", "format '1'"),
    ("workflow", "Shop", "'Shop'"),
    ("workflow", "shop\n", "named"),
    ("workflow", None, "null"),
    ("workflow", "tax", "its own name"),
    ("context", "Nope", "'Nope'"),
    ("context", None, "null"),
    ("context", [], "a list"),
    ("workflows", [], "'workflows' must be an object"),
    ("workflows", None, "'workflows' must be an object"),
    ("workflows.tax", 5, "must be an object, not 5"),
    ("workflows.tax.states", ..., "has no 'states'"),
    ("workflows.tax.events", ..., "has no 'events'"),
    ("workflows.tax.transitions", ..., "has no 'transitions'"),
    ("workflows.tax.context", "Nope", "'Nope'"),
    ("workflows.Tax", {}, "'Tax'"),
    ("states", [], "'states'"),
    ("states.pack", "x", "must be an object, not 'x'"),
    ("states.Pack", {}, "'Pack'"),
    ("states.__start__", {}, "'__start__'"),
    ("states.pack.timeout", "1w", "'1w'"),
    ("states.pack.timeout", 60, "60"),
    ("states.pack.timeout", "3651d", "3650 days"),
    ("states.pack.retries", -1, "-1"),
    ("states.pack.retries", True, "true"),
    ("states.pack.retries", 1.0, "1.0"),
    ("states.pack.retries", None, "null"),
    ("states.pack.emits", "packed", "must be a list"),
    ("states.pack.emits", [5], "names only"),
    ("states.pack.emits", ["nope"], "'nope'"),
    ("states.pack.emits", ["timeout"], "'timeout'"),
    ("states.checks.emits", ["nope"], "'nope'"),
    ("states.checks.retries", 1, "no task"),
    ("states.checks.parallel", [], "empty"),
    ("states.checks.parallel", "tax", "must be a list"),
    ("states.checks.parallel", ["nope"], "'nope'"),
    ("states.checks.parallel", ["tax", "tax"], "twice"),
    ("states.checks.parallel", [{}], "an object"),
    ("states.checks.parallel", False, "must be a list"),
    ("states.checks.join", "some", "'some'"),
    ("states.checks.join", ["all"], "a list"),
    ("states.checks.inputs", "sum", "must be a list"),
    ("states.checks.inputs", [1], "names only"),
    ("states.checks.inputs", None, "must be a list"),
    ("states.checks.into", "", "''"),
    ("states.checks.into", 5, "5"),
    ("states.checks.into", None, "null"),
    ("events", [], "'events'"),
    ("events.packed", None, "must be an object"),
    ("events.Packed", {}, "'Packed'"),
    ("events.timeout", {}, "Stateous's own"),
    ("events.joined", {}, "Stateous's own"),
    ("events.packed.payload", "Nope", "'Nope'"),
    ("events.packed.payload", {"type": "object"}, "an object"),
    ("events.packed.into", "", "''"),
    ("transitions", {}, "must be a list"),
    ("transitions.2", "x", "transition 3"),
    ("transitions.2.from", ..., "has no 'from'"),
    ("transitions.2.to", ..., "has no 'to'"),
    ("transitions.2.from", "nope", "'nope'"),
    ("transitions.2.from", "__end__", "'__end__'"),
    ("transitions.2.from", ["pack"], "a list"),
    ("transitions.2.to", "__start__", "'__start__'"),
    ("transitions.2.to", 5, "5"),
    ("transitions.0.to", "__end__", "past every state"),
    ("transitions.0.on", "packed", "no 'on'"),
    ("transitions.2.on", ..., "has no 'on'"),
    ("transitions.2.on", None, "null"),
    ("transitions.2.on", "nope", "'nope'"),
    ("transitions.2.on", "__started__", "'__started__'"),
    ("transitions.2.on", {}, "an object"),
    ("transitions.2.when", "payload.kg <", "does not parse"),
    ("transitions.2.when", 5, "must be a text"),
    ("transitions.2.when", None, "must be a text"),
    ("transitions.2.when", "branches.any(true)", "branches"),
    ("transitions.0.when", "count('packed') > 1", "START"),
    ("transitions.0.when", "payload.kg > 1", "START"),
    ("transitions.4.when", "payload.kg > 1", "carries none"),
    ("transitions.2.otherwise", True, "both a guard"),
    ("transitions.3.otherwise", 1, "1"),
    ("transitions.3.otherwise", None, "null"),
    ("transitions.2.when", ..., "two transitions without a guard"),
    ("transitions.0.when", ..., "two transitions without a guard for START"),
    ("schemas", [], "'schemas'"),
    ("schemas.Box", 5, "'Box'"),
    ("schemas.Cart.properties.box.$ref", "#/schemas/Nope", "leads nowhere"),
    ("schemas.Cart.properties.box.$ref", "#/states/pack", "leads nowhere"),
    ("schemas.Cart.properties.box.$ref", "https://example.org/box", "leads nowhere"),
    ("schemas.Cart.properties.box.$ref", "file:///etc/passwd", "leads nowhere"),
    ("schemas.Cart.properties.box.$ref", "#/schemas/Box/properties/cm", "leads nowhere"),
    ("schemas.Cart.properties.box.$ref", 5, "leads nowhere"),
]


@pytest.mark.parametrize(("path", "value", "words"), REFUSED)
def test_a_wrong_document_is_refused_in_one_sentence(path: str, value: object, words: str) -> None:
    with pytest.raises(GraphError) as refusal:
        read(edited(SHOP, path, value))
    sentence = str(refusal.value)
    assert words in sentence
    assert "\n" not in sentence
    assert len(sentence) < 400


def test_joined_belongs_to_parallel_states() -> None:
    wrong = copy.deepcopy(KETTLE)
    wrong["transitions"].append({"from": "boil", "on": "joined", "to": "__end__"})
    with pytest.raises(GraphError, match="not a parallel state"):
        read(wrong)


@pytest.mark.parametrize("circle", [["tax"], ["duty"]])
def test_a_workflow_that_runs_itself_is_refused(circle: list[str]) -> None:
    wrong = copy.deepcopy(SHOP)
    duty = copy.deepcopy(wrong["workflows"]["tax"])
    wrong["workflows"]["duty"] = duty
    wrong["workflows"]["tax"]["states"]["again"] = {"parallel": circle}
    duty["states"]["again"] = {"parallel": ["tax"]}
    with pytest.raises(GraphError, match="runs itself"):
        read(wrong)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("states.pack.timeout", None),
        ("states.pack.parallel", None),
        ("states.pack.emits", ...),
        ("states.checks.join", ...),
        ("states.checks.inputs", ...),
        ("states.pack.colour", "red"),
        ("extra", [[]]),
        ("transitions.3.otherwise", False),
        ("transitions.2.when", "'a' in payload.kg"),
        ("transitions.2.when", "ctx['nobody'] == 1 and count('ghost') > 2"),
        ("schemas.Box", True),
        ("schemas.Cart.default", {"$ref": "#/nowhere"}),
        ("schemas.Cart.properties.$ref", {"type": "string"}),
        ("schemas.Cart.properties.box.$ref", "#/schemas/Box/properties/kg"),
        ("transitions", []),
    ],
)
def test_what_the_engine_can_live_with_is_let_through(path: str, value: object) -> None:
    document = read(edited(SHOP, path, value))
    assert compile_schemas(document).keys() == {"Box", "Cart"}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "nope"}, "nope"),
        ({"properties": 5}, "5"),
        ({"properties": {"kg": {"minimum": "x"}}}, '"x"'),
        ({"required": "kg"}, "array"),
        ({"pattern": "("}, "regex"),
        ({"pattern": "(a{1000}){1000}"}, "regex"),
        ({"multipleOf": 0}, "0"),
        ({"items": [{}]}, "boolean"),
        ({"$dynamicRef": "#nope"}, "nope"),
    ],
)
def test_what_is_no_json_schema_is_refused(schema: object, words: str) -> None:
    document = read(edited(SHOP, "schemas.Box", schema))
    with pytest.raises(GraphError, match=r"the schema '(Box|Cart)'") as refusal:
        compile_schemas(document)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_schema_that_nothing_uses_is_checked_too() -> None:
    document = read(edited(KETTLE, "schemas", {"Spare": {"type": "nope"}}))
    with pytest.raises(GraphError, match="'Spare'"):
        compile_schemas(document)
