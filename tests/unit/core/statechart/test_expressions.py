"""Expressions and templates (`docs/spec/statechart.md` 1.4, 12)."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import pytest

from stateous.json import Json
from stateous.statechart.expressions import (
    EvaluationError,
    ExpressionError,
    compile_expression,
)
from stateous.statechart.templates import (
    FailedTemplate,
    Source,
    compile_value,
    has_expression,
    sole_expression,
    split_text,
)

SCOPE: dict[str, Json] = {
    "input": {"n": 3, "half": 0.5, "text": "a", "none": None, "list": [1, {"z": 1, "b": 2}]},
    "run": {"id": "run-1", "key": None},
    "states": {"my-name": {"output": {"ok": True}}, "later": {"output": None}},
    "tickets": {"verdict": "tk_x"},
    "event": {"name": "go", "data": {"ok": False}, "from": "client"},
}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("input.n", 3),
        ("input.n + 1", 4),
        ("double(input.n) * 1.5", 4.5),
        ("input.n == 3.0", True),
        ("input.none", None),
        ("run.key == null", True),
        ('states["my-name"].output.ok', True),
        ("states.later.output", None),
        ("tickets.verdict", "tk_x"),
        ("event.from + '/' + event.name", "client/go"),
        ("has(input.x)", False),
        ("input.list[1]", {"b": 2, "z": 1}),
        ("[1, 2.5, 'x', null, true]", [1, 2.5, "x", None, True]),
        ("{'b': 1, 'a': [2]}", {"a": [2], "b": 1}),
        ("[1, 2].map(x, x * 2)", [2, 4]),
        ("input.text.matches('^a$')", True),
        ("size('héé')", 3),
        (" input.n ", 3),
    ],
)
def test_an_expression_has_a_value(source: str, value: Json) -> None:
    found = compile_expression(source).evaluate(SCOPE)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("input.x", "Key not found"),
        ("input.n + 0.5", "No matching overloads"),
        ("input.n / 0", "divi"),
        ("9223372036854775807 + input.n", "overflow"),
        ("event.data.ok.more", "non-message"),
        ("b'abc'", "a value of bytes has no form in JSON"),
        ("timestamp('2027-01-01T00:00:00Z')", "a time has no form in JSON"),
        ("duration('1s')", "a length of time has no form in JSON"),
        ("type(1)", "a type has no form in JSON"),
        ("[b'a']", "a value of bytes has no form in JSON"),
        ("{1: 2}", "the key 1 is no text"),
        ("1.0 / (input.half - 0.5)", "inf has no form in JSON"),
        ("'a\\u0000'", "U+0000"),
        ("{'a\\u0000': 1}", "U+0000"),
        (
            "[0,1,2,3,4,5,6,7,8,9].map(a, [0,1,2,3,4,5,6,7,8,9].map(b, [0,1,2,3,4,5,6,7,8,9]"
            ".map(c, [0,1,2,3,4,5,6,7,8,9].map(d, [0,1,2,3,4,5,6,7,8,9].map(e, 1)))))",
            "budget",
        ),
    ],
)
def test_an_expression_without_a_value_says_why(source: str, reason: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        compile_expression(source).evaluate(SCOPE)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "Syntax error"),
        ("1 +", "Syntax error"),
        ("1 +", "mismatched input '<EOF>', at column 4; it ends too early"),
        ("event.data.ok = true", "recognition error at: '= ', at column 15; equality is =="),
        ("event.data.ok and true", "input 'and', at column 15; and is &&"),
        ("event.data.ok or true", "input 'or', at column 15; or is ||"),
        ("not event.data.ok", "input 'event', at column 5; not is !"),
        ("foo", "undeclared reference to 'foo', at column 1"),
        ("input.a &&\n foo", "undeclared reference to 'foo', at line 2, column 2"),
        ("shout(input)", "undeclared reference to 'shout'"),
        ("'a'.format([1])", "undeclared reference to 'format'"),
        ("1 + 'a'", "no matching overload"),
        ("[" * 100 + "]" * 100, "recursion limit"),
        ("'" + "a" * 5000 + "'", "longer than 4096 bytes"),
    ],
)
def test_a_text_that_is_no_expression_is_refused(source: str, reason: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("number", "kind"),
    [(2**63 - 1, "int"), (-(2**63), "int"), (2**63, "double"), (2**70, "double"), (0.5, "double")],
)
def test_whole_numbers_of_64_bits_are_ints_and_others_doubles(number: float, kind: str) -> None:
    assert compile_expression(f"type(input) == {kind}").evaluate({"input": number}) is True


def test_a_whole_number_that_no_double_holds_fails() -> None:
    with pytest.raises(EvaluationError, match="too large"):
        compile_expression("input").evaluate({"input": 10**400})


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("1", set()),
        ("input", {("input",)}),
        ("input.a.b", {("input", "a", "b")}),
        ("input['a'].b", {("input", "a", "b")}),
        ("input[event.name].b", {("input",), ("event", "name")}),
        ('states["my-name"].output', {("states", "my-name", "output")}),
        ("has(input.a)", {("input", "a")}),
        ("size(input.a)", {("input", "a")}),
        ("input.a.size()", {("input", "a")}),
        (
            "run.id == '' ? tickets.t : event.data",
            {("run", "id"), ("tickets", "t"), ("event", "data")},
        ),
        ("[input.a, {'k': input.b}]", {("input", "a"), ("input", "b")}),
        ("{input.a: 1}", {("input", "a")}),
        ("input.list.map(x, x.y + input.z)", {("input", "list"), ("input", "z")}),
        ("input.list.map(event, event.data)", {("input", "list")}),
        (
            "input.list.exists(x, states.a.output == x)",
            {("input", "list"), ("states", "a", "output")},
        ),
        (".input.a", {("input", "a")}),
    ],
)
def test_the_names_of_an_expression(source: str, names: set[tuple[str, ...]]) -> None:
    assert compile_expression(source).names == names


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        ("plain", ("plain",)),
        ("${a}", (Source("a"),)),
        ("a ${ b } c", ("a ", Source("b"), " c")),
        ("${a}${b}", (Source("a"), Source("b"))),
        ("$${a}", ("${a}",)),
        ("$$${a}", ("$${a}",)),
        ("$ {a} $", ("$ {a} $",)),
        ("5$", ("5$",)),
        ("${ {'a': {'b': 1}}.a }!", (Source("{'a': {'b': 1}}.a"), "!")),
        ("${'}'}", (Source("'}'"),)),
        ('${"\\"}"}', (Source('"\\"}"'),)),
        ("${r'\\'}}", (Source("r'\\'"), "}")),
        ("${bar'\\'}'}", (Source("bar'\\'}'"),)),
        ("${'''a'}'''}", (Source("'''a'}'''"),)),
        ("${a // } '\n}", (Source("a // } '"),)),
    ],
)
def test_a_text_and_its_parts(text: str, parts: tuple[Any, ...]) -> None:
    assert split_text(text) == parts


@pytest.mark.parametrize("text", ["${", "a ${b", "${'}", "${{}", "x $${ ${"])
def test_an_expression_that_is_not_closed_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="is not closed"):
        split_text(text)


def test_what_an_expression_alone_is() -> None:
    assert sole_expression("${ event.data.ok }") == "event.data.ok"
    assert sole_expression("a ${event}") is None
    assert sole_expression("event") is None
    assert sole_expression("${a}${b}") is None
    assert has_expression("x ${")
    assert not has_expression("$${a}")


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (None, None),
        (1.5, 1.5),
        ("a ${input.n}", "a 3"),
        ("${input.n}", 3),
        ("$${input.n}", "${input.n}"),
        ({"$${k}": ["$${a}", {"b": "$${"}]}, {"$${k}": ["${a}", {"b": "${"}]}),
        (
            {"a": ["${input.n}", {"b": "${input.half}"}], "${k}": 1},
            {"a": [3, {"b": 0.5}], "${k}": 1},
        ),
        ("${input.text}${input.text}", "aa"),
        ("<${input.list}>", '<[1,{"b":2,"z":1}]>'),
        ("<${input.half}|${true}>", "<0.5|true>"),
        ("${input.none}", None),
        ("${'é'}: ${['é']}", 'é: ["é"]'),
    ],
)
def test_a_template_makes_a_value(value: Json, made: Json) -> None:
    assert compile_value(value).evaluate(SCOPE) == made


def test_null_inside_a_text_is_an_error_that_names_the_expression() -> None:
    with pytest.raises(FailedTemplate) as caught:
        compile_value({"a": ["x${input.none}"]}).evaluate(SCOPE)
    assert caught.value.source == "input.none"
    assert str(caught.value) == "${input.none}: null has no form inside a text"


def test_a_template_lists_its_expressions_in_order() -> None:
    template = compile_value({"a": "${input.n} ${run.id}", "b": ["${event.data}"]})
    assert [each.source for each in template.expressions] == ["input.n", "run.id", "event.data"]
    assert template.reads("event")
    assert not template.reads("tickets")


@pytest.mark.parametrize(
    ("source", "scope"),
    [
        ("input", {"input": None}),
        ("input.a", {"input": {"a": None}}),
        ("[null, {'a': null}]", {}),
        ("input", {"input": [None, {"a": [None]}]}),
        ("[b'no JSON', null]", {}),
    ],
)
def test_nulls_cost_the_process_no_reference(source: str, scope: Any) -> None:
    # Before Python 3.12 a process aborts that gives up None more often than it takes it.
    expression = compile_expression(source)

    def evaluate(times: int) -> int:
        for _ in range(times):
            with contextlib.suppress(EvaluationError):
                expression.evaluate(scope)
        return sys.getrefcount(None)

    assert abs(evaluate(1000) - evaluate(1000)) < 500
