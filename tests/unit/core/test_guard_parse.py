"""The white list of the guard language, rule by rule (`docs/spec/authoring.md` 3.1, 3.2)."""

from __future__ import annotations

import warnings

import pytest

from stateous.errors import GuardError
from stateous.guards import parse_guard
from stateous.guards.nodes import (
    And,
    BranchContext,
    BranchName,
    BranchPayload,
    Compare,
    Constant,
    ContextKey,
    Count,
    Expression,
    ListOf,
    Not,
    Or,
    PayloadField,
    Quantifier,
    walk,
)

K = ContextKey("k")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("true", Constant(True)),
        ("null", Constant(None)),
        ("- 1.5", Constant(-1.5)),
        ("-(1)", Constant(-1)),
        ("0x10", Constant(16)),
        ("1_000", Constant(1000)),
        ("'a' \"b\"", Constant("ab")),
        (r"'\u00e9\''", Constant("é'")),
        (r"r'\d'", Constant(r"\d")),
        ("[]", ListOf(())),
        ("[1, 'a', null,]", ListOf((Constant(1), Constant("a"), Constant(None)))),
        ("ctx [ 'k' ]", K),
        ("payload . total", PayloadField("total")),
        ("count('e')", Count("e")),
        ("not ctx['k']", Not(K)),
        ("true and ctx['k'] and 1", And((Constant(True), K, Constant(1)))),
        ("true or ctx['k'] and 1", Or((Constant(True), And((K, Constant(1)))))),
        ("1 < ctx['k'] <= 5", Compare((Constant(1), K, Constant(5)), ("<", "<="))),
        ("not ctx['k'] in ['a']", Not(Compare((K, ListOf((Constant("a"),))), ("in",)))),
        ("'a' not in ctx['k']", Compare((Constant("a"), K), ("not in",))),
        ("(ctx['k'] == 1) == true", Compare(
            (Compare((K, Constant(1)), ("==",)), Constant(True)), ("==",)
        )),
        ("(true\n or # why\n false)", Or((Constant(True), Constant(False)))),
        ("branches.any(payload.p)", Quantifier("any", BranchPayload("p"))),
        ("branches.all(context.c)", Quantifier("all", BranchContext("c"))),
        ("branches.all(final in [status, 'x'])", Quantifier("all", Compare(
            (BranchName("final"), ListOf((BranchName("status"), Constant("x")))), ("in",)
        ))),
        ("branches.all('x' in workflow)", Quantifier("all", Compare(
            (Constant("x"), BranchName("workflow")), ("in",)
        ))),
    ],
)  # fmt: skip
def test_text_becomes_a_tree(text: str, tree: Expression) -> None:
    assert repr(parse_guard(text).tree) == repr(tree)


@pytest.mark.parametrize(
    "text",
    [
        # 1: does not parse
        "", "   ", "# only a comment", "!true", "true && false", "1 <> 2", "x := 1", "a\0b",
        "true\nand false", "'open", "true true", "'\ud800'", "1 +", "'\\N{NO SUCH NAME}'",
        # 2: literals that JSON does not have
        "True", "not None", "[False]", "b'x'", "1j", "-1j", "...", "1e999", "-1e999", "[1e999]",
        # 3, 4: names and what they are read with
        "foo", "none", "inf", "branches", "count", "ctx", "payload", "context", "ctx.x", "ctx[0]",
        "ctx[k]", "ctx['a']['b']", "ctx['a'].b", "ctx['a', 'b']", "payload['x']", "payload.a.b",
        "x.y", "'a'.upper", "ctx['a':'b']",
        # 5: children's names
        "workflow", "status == 'x'", "[final]", "context.x", "branches.all(true) and token",
        # 6: arithmetic
        "1 + 1", "2 * ctx['k']", "1 | 2", "+1", "~1", "- ctx['k']", "-'a'", "- -1", "-true",
        "-(1 < 2)",
        # 7: is, and what cannot hold anything
        "ctx['a'] is null", "ctx['a'] is not null", "1 in 'abc'", "1 in 2", "1 in (1, 2)",
        "1 in (ctx['a'] == 1)", "1 in not true", "1 not in null", "1 in branches.all(true)",
        "1 in ctx['a'] in true",
        # 8: list elements
        "[[1]]", "[ctx['a']]", "[payload.x]", "[count('a')]", "[1 < 2]", "[x]", "[*ctx['a']]", "[not true]", "[+1]",
        # 9: calls
        "foo()", "len(ctx['a'])", "ctx.get('a')", "branches.none(true)", "count()", "count(1)",
        "count(a)", "count('a', 'b')", "count(event='a')", "count(f'a')", "branches.all()",
        "branches.all(true, true)", "branches.all(c=true)", "branches.all(true, c=true)",
        "branches.all(branches.any(true))", "branches.all(*[true])", "branches.all(x for x in y)",
        "branches.all", "(count)('a', *['b'])",
        # 10: everything else
        "lambda: true", "true if true else false", "(x := 1)", "[x for x in ctx['a']]", "(1, 2)",
        "1,", "()", "{1}", "{}", "{'a': 1}", "f'x'", "await x", "(yield)", "{**ctx['a']}",
    ],
)  # fmt: skip
def test_what_is_not_of_the_language_is_refused(text: str) -> None:
    with pytest.raises(GuardError) as refusal:
        parse_guard(text)
    assert str(refusal.value).startswith(f"guard {text!r}: ")
    assert refusal.value.reason
    assert isinstance(refusal.value, ValueError)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("ctx['a'] && payload.b", "; for && write and"),
        ("ctx['a'] || !payload.b", "; for || write or; for ! write not"),
        ("ctx['a'] = 1", "; for = write =="),
        ("ctx['a'] === 1", "; for === write =="),
        ("ctx['a'] != '&& || ! =' 1", "invalid syntax"),
        ("payload['x'] > 1", "write payload.x, not payload['x']"),
    ],
)
def test_who_writes_another_language_is_told_how_it_is_spelt(text: str, advice: str) -> None:
    with pytest.raises(GuardError) as refusal:
        parse_guard(text)
    assert refusal.value.reason.endswith(advice)


def test_a_guard_is_text() -> None:
    with pytest.raises(GuardError, match=r"^guard 5: "):
        parse_guard(5)  # type: ignore[arg-type]


def test_blanks_at_both_ends_stay_in_the_text_only() -> None:
    guard = parse_guard("\n  true\t")
    assert guard.text == "\n  true\t"
    assert guard.tree == Constant(True)


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        ("not " * 99 + "true", False),
        ("not " * 100 + "true", True),
        ("not " * 98 + "[1]", False),
        ("not " * 99 + "[1]", True),
        ("(" * 150 + "true" + ")" * 150, False),
        ("not (" * 99 + "true" + ")" * 99, False),
        ("true" + " and true" * 5000, False),
        ("1" + " < 2" * 5000, False),
        ("[" + "1," * 5000 + "]", False),
        ("0x" + "f" * 20_000, False),
    ],
)
def test_nesting_is_limited_to_a_hundred_levels(text: str, deep: bool) -> None:
    if deep:
        with pytest.raises(GuardError, match="100 levels"):
            parse_guard(text)
    else:
        assert parse_guard(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "not " * 100_000 + "true",
        "-" * 100_000 + "1",
        "(" * 100_000,
        "(" * 5000 + "true" + ")" * 5000,
        "x" + ".y" * 100_000,
        "1" + "+1" * 100_000,
        "ctx" + "['a']" * 100_000,
        "branches.all(" * 1000 + "true" + ")" * 1000,
        "9" * 5000,
        "ctx[0x" + "f" * 20_000 + "]",
    ],
    ids=lambda text: f"{text[:12]}..{len(text)}",
)
def test_deep_and_huge_texts_are_refused_like_any_other(text: str) -> None:
    with pytest.raises(GuardError):
        parse_guard(text)


@pytest.mark.parametrize("text", [r"'\d' == 'a'", "ctx['a'] == 1or true"])
def test_warnings_of_the_parser_of_python_are_not_shown(text: str) -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        parse_guard(text)
    assert shown == []


def test_names_read_stand_in_the_order_of_the_text_each_once() -> None:
    guard = parse_guard(
        "ctx['b'] == count('y') and ctx['a'] != payload.q or ctx['b'] > payload.p "
        "or branches.any(payload.z == ctx['c'] or context.w in [status] or count('x') == 1)"
    )
    assert guard.context_keys == ("b", "a", "c")
    assert guard.payload_fields == ("q", "p")
    assert guard.events == ("y", "x")
    assert guard.branches
    assert guard.branch_payload_fields == ("z",)
    assert guard.branch_context_fields == ("w",)


def test_walk_meets_every_node() -> None:
    tree = parse_guard("not (1 in [2] or branches.all(context.a == token and payload.b))").tree
    assert [type(node).__name__ for node in walk(tree)] == [
        "Not", "Or", "Compare", "Constant", "ListOf", "Constant", "Quantifier", "And", "Compare",
        "BranchContext", "BranchName", "BranchPayload",
    ]  # fmt: skip


def test_guards_of_one_text_are_equal() -> None:
    assert parse_guard("ctx['a'] == 1") == parse_guard("ctx['a'] == 1")
    assert parse_guard("ctx['a'] == 1") != parse_guard("ctx['a'] == 2")
