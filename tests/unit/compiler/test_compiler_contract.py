"""contract.py: types and defaults, the order of models, and names that it cannot carry."""

import ast
from typing import Any

import pytest

from stateous.errors import GraphError
from stateous.graph.reading import check_graph
from stateous_compiler.contract import contract_text
from stateous_compiler.contract_names import contract_problems
from stateous_compiler.python_types import Types, literal


def document(
    schemas: dict[str, Any] | None = None,
    *,
    states: dict[str, Any] | None = None,
    events: dict[str, Any] | None = None,
    workflows: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    return {
        "stateous": 1,
        "workflow": "shelf",
        "states": states or {},
        "events": events or {},
        "transitions": [],
        "workflows": workflows or {},
        "schemas": schemas or {},
        **more,
    }


def child(states: tuple[str, ...] = (), events: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "states": {name: {} for name in states},
        "events": {name: {} for name in events},
        "transitions": [],
    }


SCHEMAS: dict[str, Any] = {
    "Box": {"type": "object", "properties": {"kg": {"type": "integer"}}},
    "Rank": {"enum": [1, 2], "type": "integer"},
    "Nothing": {"type": "null"},
}

TYPES = [
    ({"$ref": "#/schemas/Box"}, "Box"),
    ({"$ref": "#/schemas/Box/properties/kg"}, "Any"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "str | None"),
    ({"oneOf": [{"$ref": "#/schemas/Box"}, {"type": "null"}], "discriminator": {}}, "Box | None"),
    ({"anyOf": [{"type": "string"}, {"anyOf": [{"type": "string"}, {}]}]}, "str | Any"),
    ({"type": ["integer", "null", "integer"]}, "int | None"),
    ({"allOf": [{"$ref": "#/schemas/Box"}]}, "Box"),
    ({"allOf": [{"$ref": "#/schemas/Box"}, {}]}, "Any"),
    ({"enum": ["a", 1, True, None]}, 'Literal["a", 1, True, None]'),
    ({"const": "ä\n"}, 'Literal["ä\\n"]'),
    ({"enum": [0.5, 1.5], "type": "number"}, "float"),
    ({"enum": [[1]]}, "Any"),
    ({"enum": []}, "Any"),
    ({"type": "string", "format": "date", "maxLength": 3}, "str"),
    ({"type": "integer"}, "int"),
    ({"type": "number"}, "float"),
    ({"type": "boolean"}, "bool"),
    ({"type": "null"}, "None"),
    ({"type": "array"}, "list[Any]"),
    ({"type": "array", "items": {"type": "string"}}, "list[str]"),
    ({"type": "array", "items": {"type": "string"}, "prefixItems": [{}]}, "list[Any]"),
    ({"type": "array", "items": False}, "list[Any]"),
    ({"type": "object"}, "dict[str, Any]"),
    ({"type": "object", "additionalProperties": True}, "dict[str, Any]"),
    ({"type": "object", "additionalProperties": {"$ref": "#/schemas/Rank"}}, "dict[str, Rank]"),
    ({"type": "object", "properties": {"a": {}}}, "dict[str, Any]"),
    ({"type": "something"}, "Any"),
    ({}, "Any"),
    (True, "Any"),
    ({"anyOf": [{"$ref": "#/schemas/Nothing"}, {"type": "null"}]}, "None"),
]


@pytest.mark.parametrize(("schema", "text"), TYPES)
def test_a_schema_as_a_type(schema: Any, text: str) -> None:
    assert str(Types(SCHEMAS).of(schema)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("fin — klar", '"fin — klar"'),
        ('"\\\n\t\x1f', '"\\"\\\\\\n\\t\\u001f"'),
        ([1, 2.5, None, True], "[1, 2.5, None, True]"),
        ({"a": {"b": []}}, '{"a": {"b": []}}'),
        (-3, "-3"),
    ],
)
def test_a_value_as_a_literal(value: Any, text: str) -> None:
    assert literal(value) == text
    assert ast.literal_eval(text) == value


FIELDS = [
    ({"type": "integer"}, True, "int"),
    ({"type": "integer", "default": 3}, True, "int"),
    ({"type": "integer", "default": 3}, False, "int = 3"),
    ({"type": "integer"}, False, "int | None = None"),
    ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, False, "None | int = None"),
    ({}, False, "Any | None = None"),
    ({"default": None}, False, "Any = None"),
    ({"$ref": "#/schemas/Box", "default": {"kg": 1}}, False, 'Box = Box.model_validate({"kg": 1})'),
    (
        {"anyOf": [{"$ref": "#/schemas/Box"}, {"type": "null"}], "default": {"kg": 1}},
        False,
        'Box | None = Box.model_validate({"kg": 1})',
    ),
    ({"$ref": "#/schemas/Box", "default": {"kg": "much"}}, False, 'Box = {"kg": "much"}'),
    ({"type": "object", "default": {"kg": 1}}, False, 'dict[str, Any] = {"kg": 1}'),
    ({"$ref": "#/schemas/Rank", "default": 1}, False, "Rank = 1"),
]


@pytest.mark.parametrize(("schema", "required", "text"), FIELDS)
def test_a_property_as_a_field(schema: Any, required: bool, text: str) -> None:
    made = {"type": "object", "properties": {"x": schema}, "required": ["x"] if required else []}
    assert f"    x: {text}\n" in contract_text(check_graph(document({**SCHEMAS, "Made": made})))


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "object", "properties": {}}, "class Made(BaseModel):\n    pass\n"),
        ({"type": "object"}, "class Made(BaseModel):\n    pass\n"),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            "Made = dict[str, str]\n",
        ),
        ({"type": "array", "items": {"type": "integer"}}, "Made = list[int]\n"),
        ({"enum": ["a"]}, 'Made = Literal["a"]\n'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "Made = int | None\n"),
        (True, "Made = Any\n"),
    ],
)
def test_a_schema_is_a_class_or_an_alias(schema: Any, text: str) -> None:
    assert text in contract_text(check_graph(document({"Made": schema})))


def test_models_stand_behind_those_they_refer_to() -> None:
    schemas = {
        "A": {"type": "object", "properties": {"x": {"$ref": "#/schemas/Z"}}},
        "B": {"type": "object", "properties": {"x": {"$ref": "#/schemas/D"}}},
        "C": {"type": "object", "properties": {}},
        "D": {"type": "array", "items": {"$ref": "#/schemas/C"}},
        "Z": {"enum": [1]},
    }
    tree = ast.parse(contract_text(check_graph(document(schemas))))
    order = [
        node.name if isinstance(node, ast.ClassDef) else ast.unparse(node.targets[0])
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.Assign)
    ]
    assert order[3:] == ["Z", "A", "C", "D", "B", "events", "states"]


def test_the_layout() -> None:
    made = check_graph(
        document(
            {"Box": SCHEMAS["Box"]},
            context="Box",
            states={
                "pack-it": {"emits": ["packed"]},
                "both": {"parallel": ["tax-check", "empty"]},
                "stuck": {"emits": []},
            },
            events={"packed": {"payload": "Box"}},
            workflows={
                "tax-check": {
                    "context": "Box",
                    "states": {"ask": {"emits": ["yes", "no"]}},
                    "events": {"yes": {}, "no": {}},
                    "transitions": [],
                },
                "empty": child(),
            },
        )
    )
    text = contract_text(made)
    head, body = text.split('__contract__ = "')
    assert head == (
        "# Generated from the workflow 'shelf'. Do not edit:"
        " `stateous init supervisor` writes this file again.\n"
        "from __future__ import annotations\n\n"
        "from typing import Never\n\n"
        "from pydantic import BaseModel\n\n"
        "from stateous import Context, Occurrence, StateRef\n\n"
        '__workflow__ = "shelf"\n'
        f'__checksum__ = "{made.checksum}"\n'
    )
    assert body == (
        f'{made.contract}"\n\n\n'
        "class Box(BaseModel):\n    kg: int | None = None\n\n\n"
        "BoxContext = Context[Box]\n\n\n"
        "class events:\n"
        "    class packed(Occurrence[Box]):\n"
        '        name = "packed"\n\n'
        "    class tax_check:\n"
        "        class yes(Occurrence[None]):\n"
        '            name = "yes"\n\n'
        "        class no(Occurrence[None]):\n"
        '            name = "no"\n\n\n'
        "class states:\n"
        '    pack_it = StateRef("pack-it", emits=(events.packed,))\n'
        '    stuck = StateRef[Never]("stuck", emits=())\n\n'
        "    class tax_check:\n"
        '        ask = StateRef("tax-check/ask",'
        " emits=(events.tax_check.yes, events.tax_check.no))\n"
    )


def test_nothing_at_all() -> None:
    text = contract_text(check_graph(document()))
    assert text.endswith("class events:\n    pass\n\n\nclass states:\n    pass\n")
    assert "from stateous import StateRef\n" in text


REFUSED = [
    (document(states={"class": {}}), "keyword"),
    (document(events={"events": {}}), "needs the name 'events'"),
    (document(states={"states": {}}), "needs the name 'states'"),
    (document(workflows={"import": child()}), "keyword"),
    (document(workflows={"states": child()}), "needs the name 'states'"),
    (document(events={"a-b": {}, "a_b": {}}), "both 'a_b'"),
    (document(states={"a_b": {}, "a-b": {}}), "both 'a_b'"),
    (document(workflows={"a-b": child(), "a_b": child()}), "both 'a_b'"),
    (document(events={"a-b": {}}, workflows={"a_b": child()}), "the event 'a-b'"),
    (document(states={"a-b": {}}, workflows={"a_b": child()}), "the state 'a-b'"),
    (document(workflows={"tax": child(states=("in",))}), "keyword"),
    (document(workflows={"tax": child(events=("a-b", "a_b"))}), "both 'a_b'"),
    *(
        (document({name: {"type": "integer"}}), name)
        for name in ("Any", "BaseModel", "Literal", "StateRef", "annotations", "events", "str")
    ),
    *(
        (document({name: {"type": "integer"}}), "Python")
        for name in (
            "a-b",
            "class",
            "",
            "1a",
            "a.b",
            "a\nb",
            "__name__",
            "__builtins__",
            "ﬁ",
            "x;y",
        )
    ),
    (document({"A": {"type": "object"}, "AContext": {}}, context="A"), "context type"),
    *(
        (document({"A": {"type": "object", "properties": {name: {}}}}), repr(name))
        for name in (
            "a-b",
            "class",
            "",
            "_x",
            "model_config",
            "model_dump",
            "ﬁ",
            "a: int = 0\n    b",
        )
    ),
    (
        document({"A": {"type": "object", "properties": {"list": {"type": "array"}}}}),
        "'list'",
    ),
    (
        document(
            {
                "A": {"type": "object", "properties": {"x": {"$ref": "#/schemas/x"}}},
                "x": {"enum": [1]},
            }
        ),
        "'x'",
    ),
    (document({"A": {"type": "array", "items": {"$ref": "#/schemas/A"}}}), "refers to itself"),
    (
        document(
            {
                "A": {"type": "object", "properties": {"b": {"$ref": "#/schemas/B"}}},
                "B": {"type": "object", "properties": {"a": {"$ref": "#/schemas/A"}}},
            }
        ),
        "refers to itself",
    ),
    (
        document(
            {"quote": {"type": "object"}},
            events={"quote": {"payload": "quote"}, "other": {"payload": "quote"}},
        ),
        "'quote'",
    ),
]


@pytest.mark.parametrize(("raw", "words"), REFUSED)
def test_a_name_that_cannot_be_carried(raw: dict[str, Any], words: str) -> None:
    with pytest.raises(GraphError) as refusal:
        contract_text(check_graph(raw))
    assert words in str(refusal.value)


def test_only_what_is_in_a_circle_is_told() -> None:
    def refers(*keys: str) -> dict[str, Any]:
        return {"anyOf": [{"$ref": f"#/schemas/{key}"} for key in keys]}

    raw = document(
        {
            "A": refers("A"),
            "B": refers("C"),
            "C": refers("D", "F"),
            "D": refers("B"),
            "E": refers("A", "B"),
            "F": refers("A"),
            "G": {},
        }
    )
    told = [subject.name for subject, _ in contract_problems(raw)]
    assert told == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    "raw",
    [
        document(states={"json": {}, "match": {}, "type": {}}),
        document(states={"both": {"parallel": ["tax"]}}, workflows={"tax": child()}),
        document({"A": {"type": "object", "properties": {"json": {}, "x_": {}, "ä": {}}}}),
        document({"_A": {}, "Ä": {}, "Box_int_": {}}),
        document(events={"draft": {}}, states={"draft": {}}),
        document(workflows={"shelf-2": child(states=("a",)), "b": child(states=("a",))}),
    ],
)
def test_names_that_can_be_carried(raw: dict[str, Any]) -> None:
    ast.parse(contract_text(check_graph(raw)))
