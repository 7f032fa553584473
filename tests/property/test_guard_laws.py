"""Laws of the guard language that hold for every text and every JSON value."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from stateous.errors import GuardError
from stateous.guards import Guard, Scope, parse_guard

WORDS = (
    "ctx", "payload", "context", "branches", "all", "any", "count", "true", "false", "null", "not",
    "and", "or", "in", "is", "lambda", "if", "else", "for", "status", "workflow", "'a'", "\"b\"",
    "1", "-1.5", "1e999", "0x1F", "(", ")", "[", "]", "{", "}", ".", ",", ":", "==", "!=", "<",
    "<=", "+", "~", "*", "**", ":=", "f'{x}'", "b'x'", "\\", "\n", "#", "\0", "\ud800", "é", "'",
)  # fmt: skip

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**308, max_value=10**320)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "b", "ab"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), json_values, max_size=3)
branch_entries = st.fixed_dictionaries(
    {
        "workflow": st.sampled_from("ab"),
        "token": st.just("T.s.1.a"),
        "status": st.sampled_from(["completed", "failed"]),
        "final": st.sampled_from("ab"),
        "payload": st.none() | objects,
        "context": objects,
    }
)
scopes = st.builds(
    Scope,
    context=objects,
    payload=st.none() | objects,
    counts=st.dictionaries(st.sampled_from("abc"), st.integers(min_value=0), max_size=3),
    branches=st.lists(branch_entries, max_size=3),
)

literals = st.sampled_from(
    ["true", "false", "null", "0", "1", "-1", "1.0", "2.5", "1e308", "''", "'a'", "'ab'"]
)
lists = st.lists(literals, max_size=3).map(lambda items: f"[{', '.join(items)}]")
keys = st.sampled_from("abc")
accessors = (
    keys.map("ctx['{}']".format) | keys.map("payload.{}".format) | keys.map("count('{}')".format)
)
in_branches = st.sampled_from(
    ["workflow", "token", "status", "final", "context.a", "context.b", "payload.c", "['a', final]"]
)
orders = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])


def compounds(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.builds("({} {} {})".format, inner, orders, inner)
        | st.builds("({} {} {} {} {})".format, inner, orders, inner, orders, inner)
        | st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
        | st.builds(
            "({} {} {})".format, inner, st.sampled_from(["in", "not in"]), accessors | lists
        )
        | inner.map("(not {})".format)
    )


operands = literals | lists | accessors
quantified = st.builds(
    "branches.{}({})".format,
    st.sampled_from(["all", "any"]),
    st.recursive(operands | in_branches, compounds, max_leaves=4),
)
guards = st.recursive(operands | quantified, compounds, max_leaves=8)


@given(
    st.text()
    | st.lists(st.sampled_from(WORDS)).map(" ".join)
    | st.lists(st.sampled_from(WORDS)).map("".join)
)
@example("not " * 3000 + "true")
def test_any_text_is_a_guard_or_a_guard_error(text: str) -> None:
    try:
        guard = parse_guard(text)
    except GuardError as error:
        assert str(error).startswith(f"guard {text!r}: ")  # noqa: PT017 - most texts are guards of nothing
    else:
        assert guard.text == text


@given(guards, scopes)
def test_every_guard_is_true_or_false_on_every_scope(text: str, scope: Scope) -> None:
    guard = parse_guard(text)
    assert guard.holds(scope) in (True, False)
    assert isinstance(guard.holds(scope), bool)


@given(guards, scopes)
def test_a_guard_or_its_negation_holds(text: str, scope: Scope) -> None:
    assert parse_guard(f"not ({text})").holds(scope) is not parse_guard(text).holds(scope)


@given(json_values, json_values, json_values)
def test_the_operators_agree_with_python_where_python_has_an_answer(
    left: Any, right: Any, other: Any
) -> None:
    scope = Scope({"l": left, "r": right, "o": other})
    assert _of("ctx['l'] == ctx['r']").holds(scope) is (left == right)
    assert _of("ctx['l'] != ctx['r']").holds(scope) is (left != right)
    try:
        less, most = left < right, left <= right
    except TypeError:
        less = most = False
    assert _of("ctx['l'] < ctx['r']").holds(scope) is less
    assert _of("ctx['r'] > ctx['l']").holds(scope) is less
    assert _of("ctx['l'] <= ctx['r']").holds(scope) is most
    assert _of("ctx['r'] >= ctx['l']").holds(scope) is most
    assert _of("ctx['l'] < ctx['r'] < ctx['o']").holds(scope) is (
        less and _of("ctx['r'] < ctx['o']").holds(scope)
    )


def _of(text: str) -> Guard:
    return parse_guard(text)
