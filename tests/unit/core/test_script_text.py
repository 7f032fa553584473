"""Which texts are the body of a function, as the script engine sees them, and what their lines are."""

import _quickjs
import pytest

from stateous.statechart.script_text import (
    LINES_ABOVE,
    function_text,
    line_in,
    line_with,
    message_of,
    script_problem,
)


def evaluate(text):
    context = _quickjs.Context()
    try:
        context.eval(text)
    except _quickjs.JSException as error:
        return str(error)
    return None


def problem(source):
    found = script_problem(source, evaluate)
    return None if found is None else (found.line, found.message)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "return 1",
        "// draft.js\n\nreturn 'A draft of ' + input.document\n",
        "'use strict'; return this",
        "// no line end",
        "/* } */ return '}'",
        "return `}); ${'evil('}`",
        "return /}\\)/.test('})')",
        "if (input) return 1",
        "var x; function x() {}",
        "var yield_ = 1, await = 2; return await",
        "return () => ({})",
        "class A { #b = 1; static { } }",
        "label: for (;;) break label",
        "let emit_ = emit; return arguments.length",
        "return function (input, emit, require) {}",
        "\r\n\r\nreturn 1\r\n",
        "x => {}",
    ],
)
def test_bodies_of_functions(source):
    assert problem(source) is None


CLOSES = "the script closes the function that it is the body of"


@pytest.mark.parametrize(
    "source",
    [
        "}); evil(function () {",
        "}); evil(); (function () {",
        "}[evil()] = function () {",
        "}, evil(), function () {",
        "}, {",
        "}).call(evil(), {",
        "return 1\n}); emit('done'); (() => {",
        "} ? 1 : function () {",
        "}), (class { static {",
        "}`${{",
    ],
)
def test_a_text_that_closes_its_function_is_none(source):
    assert problem(source) is not None


def test_the_classic_way_out_is_named():
    assert problem("return 1\n}\nevil()\nfunction more() {") == (3, CLOSES)


def test_nothing_of_a_text_runs_while_it_is_looked_at():
    context = _quickjs.Context()

    def shared(text):
        try:
            context.eval(text)
        except _quickjs.JSException as error:
            return str(error)
        return None

    for source in ("}); globalThis.ran = 1; (function () {", "globalThis.ran = 1; return"):
        script_problem(source, shared)
    assert context.eval("typeof globalThis.ran") == "undefined"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("foo(", 1),
        ("\n\nfoo(\n", 3),
        ("return 1\nlet a = ;\nreturn 2", 2),
        ("let input = 1", 1),
        ("}", 1),
        ("\n{", 2),
        ("/* never closed", 1),
        ("\n'never closed\n'", 2),
        ("import fs from 'fs'", 1),
        ("export default 1", 1),
        ("\nreturn return", 2),
        ("await x", 1),
        ("a\x00b", 1),
        ("a\n\x00", 2),
        ("#!/usr/bin/env node", 1),
        ("super.x()", 1),
        ("(" * 100_000, 1),
    ],
)
def test_a_text_that_does_not_parse(source, line):
    found = problem(source)

    assert found is not None
    assert found[0] == line
    assert found[1] != CLOSES
    assert "SyntaxError" not in found[1]


def test_the_function_has_the_three_parameters():
    context = _quickjs.Context()
    call = context.eval(function_text("return [input, emit, require].join()"))

    assert call(1, 2, 3) == "1,2,3"


@pytest.mark.parametrize(
    ("stack", "line"),
    [
        (f"    at <anonymous> (<input>:{LINES_ABOVE + 3}:7)\n", 3),
        (f"    at stringify (native)\n    at f (<input>:{LINES_ABOVE + 2}:1)\n", 2),
        (f"    at emit (<input>:40:7)\n    at <anonymous> (<input>:{LINES_ABOVE + 1}:7)\n", 1),
        (f"    at <anonymous> (<input>:{LINES_ABOVE + 9}:7)\n", 5),
        ("    at emit (<input>:40:7)\n", None),
        ("nothing of the kind", None),
        ("", None),
    ],
)
def test_the_line_of_a_stack(stack, line):
    assert line_in(stack, "1\n2\n3\n4\n5") == line


def test_an_error_is_where_it_is_made_and_not_where_its_class_is():
    stack = (
        f"    at Own (<input>:{LINES_ABOVE + 1}:7)\n    at Two (<input>:{LINES_ABOVE + 2}:7)\n"
        f"    at <anonymous> (<input>:{LINES_ABOVE + 4}:7)\n"
    )

    assert line_in(stack, "1\n2\n3\n4") == 1
    assert line_in(stack, "1\n2\n3\n4", made_by=("Two", "Own")) == 4
    assert line_in(stack, "1\n2\n3\n4", made_by=("Two", "Own", "<anonymous>")) == 1


@pytest.mark.parametrize(
    ("source", "word", "line"),
    [
        ("a\nthrow 1\nthrow 2", "throw", 2),
        ("return 1\nreturn 2\n", "return", 2),
        ("rethrow()\nx", "throw", 1),
        ("", "return", 1),
    ],
)
def test_the_line_of_a_word(source, word, line):
    assert line_with(source, word) == line


def test_the_message_of_an_error():
    assert (
        message_of("TypeError: not\na function\n    at f (native)\n")
        == "TypeError: not\na function"
    )
    assert message_of("5\nundefined") == "5\nundefined"
