"""Verdicts on guards, kind of value by kind of value, and how examples are written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

from stateous.guards import parse_guard
from stateous_compiler.exclusive import search as searching
from stateous_compiler.exclusive.answers import Answer, Example, Never, Question, Undecided
from stateous_compiler.exclusive.decide import decide
from stateous_compiler.exclusive.examples import written
from stateous_compiler.exclusive.world import Record, World

NAMED: dict[str, Any] = {
    "Point": {
        "type": "object",
        "properties": {
            "x": {"type": "integer"},
            "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        },
        "required": ["x", "code"],
    },
    "Closed": {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
        "additionalProperties": False,
    },
    "Tree": {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/schemas/Tree"}}},
        "required": ["kids"],
    },
    "Cat": {"type": "object", "properties": {"is": {"const": "cat"}}, "required": ["is"]},
    "Dog": {"type": "object", "properties": {"is": {"const": "dog"}}, "required": ["is"]},
    "Circle": {"anyOf": [{"$ref": "#/schemas/Circle"}, {"type": "integer"}]},
}
WHOLE = {"type": "integer"}
NUMBER = {"type": "number"}
TEXT = {"type": "string"}
PROPERTIES: dict[str, Any] = {
    "n": WHOLE,
    "m": WHOLE,
    "f": NUMBER,
    "g": NUMBER,
    "b": {"type": "boolean"},
    "s": TEXT,
    "t": TEXT,
    "maybe": {"anyOf": [WHOLE, {"type": "null"}]},
    "mixed": {"enum": [1, True, "1", None]},
    "one": {"const": 1},
    "letter": {"type": "string", "minLength": 1, "maxLength": 1},
    "pair": {"type": "string", "maxLength": 2},
    "long": {"type": "string", "minLength": 500},
    "endless": {"type": "string", "minLength": 10**9},
    "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
    "thousands": {"type": "integer", "multipleOf": 1000},
    "cents": {"type": "number", "multipleOf": 0.01},
    "decimal": {"anyOf": [NUMBER, {"type": "string", "pattern": r"^\d+$"}]},
    "l": {"type": "array", "items": TEXT},
    "wholes": {"type": "array", "items": WHOLE},
    "flags": {"type": "array", "items": {"type": "boolean"}},
    "lists": {"type": "array", "items": {"type": "array", "items": WHOLE}},
    "ab": {"type": "array", "items": {"enum": ["a", "b"]}},
    "aa": {"type": "array", "items": {"enum": ["a"]}, "minItems": 2, "maxItems": 2},
    "set": {"type": "array", "items": TEXT, "uniqueItems": True, "minItems": 2},
    "hundred": {"type": "array", "items": TEXT, "minItems": 100},
    "couple": {"type": "array", "prefixItems": [WHOLE, TEXT], "minItems": 2, "maxItems": 2},
    "hollow": {"type": "array", "items": False},
    "points": {"type": "array", "items": {"$ref": "#/schemas/Closed"}},
    "d": {"type": "object"},
    "numbers": {"type": "object", "additionalProperties": WHOLE},
    "three": {"type": "object", "minProperties": 3},
    "point": {"$ref": "#/schemas/Point"},
    "closed": {"$ref": "#/schemas/Closed"},
    "tree": {"$ref": "#/schemas/Tree"},
    "pet": {"oneOf": [{"$ref": "#/schemas/Cat"}, {"$ref": "#/schemas/Dog"}]},
    "circle": {"$ref": "#/schemas/Circle"},
    "nothing": {"not": {}},
    "impossible": {"type": "integer", "minimum": 3, "maximum": 2},
    "false": False,
    "any": True,
    "defaulted": {"type": "integer", "default": 1},
}
RECORD = Record(NAMED, PROPERTIES, frozenset(PROPERTIES) - {"defaulted"})
LOOSE = Record(NAMED, PROPERTIES, frozenset())
WORLD = World(NAMED, "e", RECORD, LOOSE)
NO_MODEL = World(NAMED, "e")


def ask(*guards: str, world: World = WORLD) -> Answer:
    return decide(Question(tuple(map(parse_guard, guards))), world)


def shown(answer: Answer) -> str:
    assert isinstance(answer, Example), answer
    return written(answer)


NEVER: list[tuple[str, ...]] = [
    # numbers: exact, and only such as a double or a whole number can be
    ("ctx['n'] < 3", "ctx['n'] > 2"),
    ("ctx['f'] > 0.1", "ctx['f'] < 0.10000000000000002"),
    ("0 < ctx['f'] < 5e-324",),
    ("0.1 < ctx['f'] < ctx['g'] < 0.10000000000000003",),
    ("9007199254740992 < ctx['f'] < 9007199254740993",),
    ("ctx['n'] > 0x" + "f" * 5000, "ctx['n'] < 1"),
    # chains and comparisons as operands
    ("1 < ctx['n'] < ctx['m'] < 4", "ctx['m'] != 3"),
    ("(ctx['n'] > 1) == (ctx['m'] > 1)", "(ctx['n'] > 1) != (ctx['m'] > 1)"),
    ("(ctx['n'] > 1) < ctx['b']", "ctx['n'] > 1"),
    ("(not ctx['b']) == 2",),
    ("not " * 90 + "ctx['b']", "not ctx['b']"),
    # booleans are 0 and 1 in a guard, not in a schema
    ("ctx['b'] == ctx['n']", "ctx['n'] > 1"),
    ("ctx['b'] < ctx['n']", "ctx['n'] < 1"),
    ("ctx['mixed'] == 1", "ctx['mixed'] != true"),
    ("ctx['one'] != 1",),
    # null
    ("ctx['maybe'] < 3", "ctx['maybe'] == null"),
    ("ctx['maybe'] < 3", "ctx['maybe'] >= 3"),
    ("payload.n == null", "payload.n < 3"),
    ("ctx['n'] == null",),
    ("ctx['defaulted'] == null",),
    # texts
    ("ctx['s'] < ctx['t']", "ctx['t'] < ctx['s']"),
    ("ctx['s'] == 'a'", "ctx['s'] == 'A'"),
    ("'a' < ctx['letter'] < 'c'", "ctx['letter'] != 'b'"),
    ("ctx['letter'] == 'ab'",),
    ("ctx['s'] == '\\x00'",),
    ("ctx['s'] == '\\ud800'",),
    ("'a' < ctx['s'] < 'a\\x01'",),
    ("'\\ud800' < ctx['s'] < '\\ud801'",),
    ("ctx['s'] == '\\\\u{61}'", "ctx['s'] == 'a'"),
    # lists
    ("ctx['l'] == ['a']", "'b' in ctx['l']"),
    ("1 in ctx['l']",),
    ("ctx['ab'] and 'a' not in ctx['ab']", "'b' not in ctx['ab']"),
    ("ctx['aa'] != ['a', 'a']",),
    ("'a' in ctx['l']", "ctx['l'] == payload.l", "payload.l == ['b']"),
    ("ctx['wholes'] == ctx['flags']", "2 in ctx['wholes']"),
    ("[1] in ctx['lists']", "['a'] in ctx['lists']"),
    ("ctx['hundred'] == ['a']",),
    ("not ctx['hundred']",),
    ("ctx['hollow']",),
    ("ctx['l'] in ctx['l']",),
    ("ctx['l'] in ['a', 'b']",),
    ("ctx['l'] < payload.l", "payload.l < ctx['l']"),
    ("ctx['l'] < ['b']", "ctx['l'] > ['c']"),
    ("ctx['l'] < 3",),
    # objects
    ("not ctx['point']",),
    ("'x' not in ctx['point']",),
    ("1 in ctx['d']",),
    ("'y' in ctx['closed']",),
    ("ctx['d'] == payload.d", "'k' in ctx['d']", "'k' not in payload.d"),
    ("ctx['d'] == payload.d", "ctx['d']", "not payload.d"),
    ("ctx['d'] == []",),
    ("'\\ud800' in ctx['d']",),
    ("'a\\x00' in ctx['d']",),
    # schemas that nothing fits
    ("ctx['impossible'] == ctx['impossible']",),
    ("ctx['false'] == ctx['false']",),
    # counts
    ("count('e') < 1",),
    ("count('o') < 0",),
    ("0 < count('o') < 1",),
]  # fmt: skip


@pytest.mark.parametrize("guards", NEVER, ids=lambda guards: " | ".join(guards)[:80])
def test_nothing_makes_these_true_together(guards: tuple[str, ...]) -> None:
    assert ask(*guards) == Never()


# `*` stands for what the solver may choose.
EXAMPLES: list[tuple[tuple[str, ...], str]] = [
    (("true", "1 < 2"), "always"),
    (("8 < ctx['n'] < 10",), "ctx['n'] = 9"),
    (("ctx['f'] < 3", "ctx['f'] > 2"), "ctx['f'] = 2.*"),
    (("0.1 < ctx['f'] < 0.10000000000000003",), "ctx['f'] = 0.10000000000000002"),
    (("ctx['n'] == 1_000_000_000_000_000_000_000",), "ctx['n'] = 1000000000000000000000"),
    (("ctx['n'] == -0x10",), "ctx['n'] = -16"),
    (("ctx['b']",), "ctx['b'] = true"),
    (("not ctx['b']",), "ctx['b'] = false"),
    (("ctx['mixed'] == 1", "ctx['one'] == true", "ctx['mixed'] != '1'"), "ctx['mixed'] = *"),
    (("payload.n == null", "payload.n != 3"), "payload.n is missing"),
    (("ctx['maybe'] == null",), "ctx['maybe'] = null"),
    (("payload.maybe == null",), "payload.maybe = null"),
    (("ctx['s'] < 'm'", "ctx['s'] > 'k'"), "ctx['s'] = 'l'"),
    (('ctx[\'s\'] == "it\'s"',), "ctx['s'] = 'it\\'s'"),
    (("ctx['s'] == 'a\\n\\\\'",), "ctx['s'] = 'a\\n\\\\'"),
    (("ctx['s'] == '\\\\u{61}'",), "ctx['s'] = '\\\\u{61}'"),
    (("ctx['s'] > '\\U0002fefe'", "ctx['s'] < '\\U0002feff'"), "ctx['s'] = '\\U0002fefea'"),
    (("'a' < ctx['letter'] < 'd'", "ctx['letter'] != 'b'"), "ctx['letter'] = 'c'"),
    (("'\\ud7ff' < ctx['letter'] < '\\ue001'",), "ctx['letter'] = '\\ue000'"),
    (("'a' < ctx['s'] < 'a\\x01\\x01'",), "ctx['s'] = 'a\\x01'"),
    (("ctx['long'] < 'b'",), f"ctx['long'] = '{'a' * 500}'"),
    (("ctx['code'] != 'ABC'",), "ctx['code'] = '*'"),
    (("ctx['thousands'] > 3",), "ctx['thousands'] = *000"),
    (("3.5 < ctx['cents'] < 4",), "ctx['cents'] = 3.75"),
    (("ctx['decimal'] == '5'",), "ctx['decimal'] = '5'"),
    (("ctx['l'] == []",), "ctx['l'] = []"),
    (("ctx['l']",), "ctx['l'] = […]"),
    (("'a' in ctx['l']", "ctx['l'] != ['a']"), "ctx['l'] = [*'a'*]"),
    (("ctx['l'] == ['b', 'a']",), "ctx['l'] = ['b', 'a']"),
    (("ctx['wholes'] == [1]", "ctx['flags'] == ctx['wholes']"), "ctx['flags'] = [true], ctx['wholes'] = [1]"),
    (("ctx['wholes'] == [7]", "ctx['wholes'] in ctx['lists']"), "ctx['lists'] = [[7]], ctx['wholes'] = [7]"),
    (("'a' in ctx['hundred']", "'b' not in ctx['hundred']"), "ctx['hundred'] = [*'a'*]"),
    (("ctx['set']",), "ctx['set'] = […]"),
    (("ctx['couple']",), "ctx['couple'] = […]"),
    (("ctx['points']",), "ctx['points'] = […]"),
    (("ctx['l'] <= payload.l", "payload.l <= ctx['l']"), "ctx['l'] = [*], payload.l = [*]"),
    (("not ctx['d']",), "ctx['d'] = {}"),
    (("ctx['point']",), "ctx['point'] = {…}"),
    (("'k' in ctx['numbers']",), "ctx['numbers'] = {'k': …}"),
    (("'y' in ctx['point']",), "ctx['point'] = {'y': …, …}"),
    (("ctx['three']",), "ctx['three'] = {…}"),
    (("ctx['tree']",), "ctx['tree'] = {…}"),
    (("ctx['pet'] != payload.pet", "payload.pet"), "ctx['pet'] = {…}, payload.pet = {…}"),
    (("ctx['closed'] != payload.closed", "payload.closed"), "ctx['closed'] = {…}, payload.closed = {…}"),
    (("ctx['closed'] in ctx['points']",), "ctx['closed'] = {…}, ctx['points'] = […]"),
    (("ctx['circle'] == 4",), "ctx['circle'] = 4"),
    (("ctx['any'] == [1, 'a']",), "ctx['any'] = [*, 'a']"),
    (("count('o') == 0",), "count('o') = 0"),
    (("count('e') < 2",), "count('e') = 1"),
    (
        ("payload.n == 1", "ctx['n'] == 2", "ctx['m'] == 3", "count('z') == 4", "count('a') == 5"),
        "count('a') = 5, count('z') = 4, ctx['m'] = 3, ctx['n'] = 2, payload.n = 1",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("guards", "text"), EXAMPLES, ids=[" | ".join(guards)[:80] for guards, _ in EXAMPLES]
)
def test_an_example_is_found_and_written(guards: tuple[str, ...], text: str) -> None:
    assert fnmatchcase(shown(ask(*guards)), text.replace("[", "[[]"))


@pytest.mark.parametrize(
    ("guards", "reason"),
    [
        (("branches.all(status == 'failed')", "false"), "branches"),
        (("ctx['s'] == '\\U0002ff00'", "ctx['s'] == 'a'"), "U+2FF00"),
        (("ctx['endless'] < 'b'",), "very long texts"),
        (("ctx['nothing'] == ctx['nothing']",), "no example was confirmed"),
    ],
)
def test_what_is_not_decided_has_a_reason(guards: tuple[str, ...], reason: str) -> None:
    answer = ask(*guards)
    assert isinstance(answer, Undecided)
    assert reason in answer.reason


@pytest.mark.parametrize(
    ("guards", "text"),
    [
        (("ctx['x'] == 1", "ctx['x'] == true"), "ctx['x'] = *"),
        (("ctx['x'] == null",), "ctx['x'] = null"),
        (("ctx['x'] == ''",), "ctx['x'] = ''"),
        (("not (ctx['x'] < 3)", "not (ctx['x'] >= 3)"), "ctx['x'] = *"),
        (("ctx['x'] == ctx['y']", "ctx['y'] == ['a']"), "ctx['x'] = ['a'], ctx['y'] = ['a']"),
    ],
)
def test_without_a_model_every_value_is_possible(guards: tuple[str, ...], text: str) -> None:
    assert fnmatchcase(shown(ask(*guards, world=NO_MODEL)), text.replace("[", "[[]"))


def test_what_a_model_says_of_a_key_counts_where_the_key_is_read() -> None:
    """Context and payload differ in what a default means."""
    assert ask("payload.defaulted == null") == ask("payload.defaulted == null", world=WORLD)
    assert shown(ask("payload.defaulted == null")) == "payload.defaulted is missing"


def test_guards_that_must_be_false() -> None:
    question = Question((), (parse_guard("ctx['n'] < 3"), parse_guard("ctx['n'] > 3")))
    assert shown(decide(question, WORLD)) == "ctx['n'] = 3"
    question = Question((), (parse_guard("ctx['n'] < 3"), parse_guard("ctx['n'] >= 3")))
    assert decide(question, WORLD) == Never()


def test_the_time_for_a_question_is_limited() -> None:
    ticks: Iterator[float] = iter([0.0, 6.0, 6.0, 6.0])
    question = Question((parse_guard("ctx['n'] > 3"),))
    answer = searching.search(question, WORLD, 5.0, lambda: next(ticks) + 5)
    assert answer == Undecided("it takes too long to tell")


def test_the_time_to_write_the_formulas_counts() -> None:
    ticks: Iterator[float] = iter([0.0, 1.0, 6.0])
    question = Question((parse_guard("'a' in ctx['l'] and 'b' in ctx['l'] and 'c' in ctx['l']"),))
    answer = searching.search(question, WORLD, 5.0, lambda: next(ticks))
    assert answer == Undecided("it takes too long to tell")


def test_many_literals_take_no_time_to_speak_of() -> None:
    unequal = " and ".join(f"ctx['n'] != {number}" for number in range(200))
    assert shown(ask(unequal, "0 <= ctx['n'] < 201")) == "ctx['n'] = 200"
    words = ", ".join(f"'w{number}'" for number in range(100))
    assert ask(f"ctx['l'] == [{words}]", "'x' in ctx['l']") == Never()


def test_long_lists_of_texts_are_told_apart_in_time() -> None:
    one = [f"item{number}" for number in range(150)]
    other = [f"thing{number}" for number in range(150)]
    assert isinstance(ask(f"ctx['l'] == {one}", f"ctx['l'] == {other}"), Never)


def test_z3_is_imported_only_to_decide() -> None:
    code = (
        "import sys\n"
        "from stateous.guards import parse_guard\n"
        "from stateous_compiler import compile\n"
        "from stateous_compiler.exclusive.answers import Question\n"
        "from stateous_compiler.exclusive.decide import decide\n"
        "from stateous_compiler.exclusive.world import World\n"
        "decide(Question((parse_guard('true'), parse_guard('1 < 2'))), World({}, 'e'))\n"
        "assert 'z3' not in sys.modules\n"
        "decide(Question((parse_guard('count(\"e\") > 2'),)), World({}, 'e'))\n"
        "assert 'z3' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
