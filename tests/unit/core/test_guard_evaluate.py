"""What guards are worth, row by row of the table (`docs/spec/authoring.md` 3.3)."""

from __future__ import annotations

from typing import Any

import pytest

from stateous.guards import Scope, parse_guard

BIG = 10**400  # no float is that large


def nested(depth: int, core: Any) -> Any:
    for _ in range(depth):
        core = [core]
    return core


@pytest.mark.parametrize(
    ("text", "context", "holds"),
    [
        # Missing is null; truthiness.
        ("ctx['a']", {}, False),
        ("ctx['a'] == null", {}, True),
        ("ctx['a'] != 3", {}, True),
        ("ctx['a']", {"a": 0}, False),
        ("ctx['a']", {"a": 0.0}, False),
        ("ctx['a']", {"a": ""}, False),
        ("ctx['a']", {"a": []}, False),
        ("ctx['a']", {"a": {}}, False),
        ("ctx['a']", {"a": "false"}, True),
        ("ctx['a']", {"a": [0]}, True),
        ("not ctx['a']", {"a": []}, True),
        ("[]", {}, False),
        ("[null]", {}, True),
        # and, or: results are booleans, never operands.
        ("(ctx['a'] and ctx['b']) == true", {"a": 5, "b": "x"}, True),
        ("(ctx['a'] or ctx['b']) == 'x'", {"b": "x"}, False),
        ("(not ctx['a']) == 1", {}, True),
        # Equality.
        ("ctx['a'] == 1", {"a": 1.0}, True),
        ("ctx['a'] == 1", {"a": True}, True),
        ("ctx['a'] == '1'", {"a": 1}, False),
        ("ctx['a'] == 0", {"a": None}, False),
        ("ctx['a'] == false", {"a": None}, False),
        ("ctx['a'] == [true, 2.0]", {"a": [1, 2]}, True),
        ("ctx['a'] == ctx['b']", {"a": {"x": [1, {"y": 0}]}, "b": {"x": [True, {"y": False}]}}, True),
        ("ctx['a'] == ctx['b']", {"a": {"x": 1}, "b": {"x": 1, "y": None}}, False),
        ("ctx['a'] == ctx['b']", {"a": BIG, "b": 1e308}, False),
        ("ctx['a'] == ctx['b']", {"a": 2**53 + 1, "b": float(2**53)}, False),
        # Order.
        ("ctx['a'] < 3", {"a": True}, True),
        ("ctx['a'] < ctx['b']", {"a": 1e308, "b": BIG}, True),
        ("ctx['a'] >= ctx['b']", {"a": BIG, "b": -1.5}, True),
        ("ctx['a'] < ctx['b']", {"a": "Z", "b": "a"}, True),
        ("ctx['a'] < ctx['b']", {"a": "\uffff", "b": "\U00010000"}, True),
        ("ctx['a'] < '2'", {"a": 1}, False),
        ("ctx['a'] >= '2'", {"a": 1}, False),
        ("ctx['a'] <= null", {}, False),
        ("ctx['a'] >= ctx['a']", {"a": {}}, False),
        ("ctx['a'] < [1, 3]", {"a": [1, 2]}, True),
        ("ctx['a'] < [1, 2, 0]", {"a": [1, 2]}, True),
        ("ctx['a'] <= [null]", {"a": [None]}, True),
        ("ctx['a'] < [null, 1]", {"a": [None]}, True),
        ("ctx['a'] < [2]", {"a": [1, None]}, True),
        ("ctx['a'] < ['x']", {"a": [1]}, False),
        ("ctx['a'] > ['x']", {"a": [1]}, False),
        ("ctx['a'] < ctx['b']", {"a": [[1], 5], "b": [[1, 1], 0]}, True),
        ("ctx['a'] < ctx['b']", {"a": [{}], "b": [{"x": 1}]}, False),
        ("ctx['a'] >= ctx['b']", {"a": [{}], "b": [{}]}, True),
        ("ctx['a'] < ctx['b']", {"a": [1], "b": 5}, False),
        # Membership.
        ("1 in ctx['a']", {"a": [True]}, True),
        ("[1] in ctx['a']", {"a": [[1.0]]}, True),
        ("1 not in ctx['a']", {"a": [2]}, True),
        ("1 in ctx['a']", {"a": {"1": 0}}, False),
        ("1 not in ctx['a']", {"a": {"1": 0}}, True),
        ("[] not in ctx['a']", {"a": {}}, True),
        ("'x' in ctx['a']", {"a": {"x": None}}, True),
        ("'b' in ctx['a']", {"a": "abc"}, True),
        ("'d' not in ctx['a']", {"a": "abc"}, True),
        ("'' in ctx['a']", {"a": ""}, True),
        ("null in ctx['a']", {"a": "abc"}, False),
        ("null not in ctx['a']", {"a": "abc"}, False),
        ("1 in ctx['a']", {"a": 1}, False),
        ("1 not in ctx['a']", {"a": 1}, False),
        ("1 not in ctx['a']", {"a": True}, False),
        ("null in [ctx, 1]".replace("ctx", "null"), {}, True),
        # Chains.
        ("1 < ctx['a'] < 5 > 2 == 2", {"a": 3}, True),
        ("1 < ctx['a'] < 5", {"a": 5}, False),
        ("1 == ctx['a'] in [1, 2]", {"a": 1}, True),
        ("1 < 2 == true", {}, False),
        ("(1 < 2) == true", {}, True),
    ],
)  # fmt: skip
def test_values(text: str, context: dict[str, Any], holds: bool) -> None:
    assert parse_guard(text).holds(Scope(context)) is holds


@pytest.mark.parametrize(
    ("text", "scope", "holds"),
    [
        ("payload.x == null", Scope({}), True),
        ("payload.x == 1", Scope({}, payload={"x": 1}), True),
        ("count('e') == 0", Scope({}), True),
        ("count('e') == 2", Scope({}, counts={"e": 2}), True),
        ("1 in count('e')", Scope({}, counts={"e": 1}), False),
        ("branches.all(false)", Scope({}), True),
        ("branches.any(true)", Scope({}), False),
        ("branches.any(payload.x == null)", Scope({}, branches=[{"payload": None}]), True),
        ("branches.any(payload.x == 1)", Scope({}, payload={"x": 1}, branches=[{}]), False),
        (
            "branches.all(ctx['k'] == 1 and context.k == 2)",
            Scope({"k": 1}, branches=[{"context": {"k": 2}}]),
            True,
        ),
        (
            "branches.any(status in [final, 'x'])",
            Scope({}, branches=[{"status": "a", "final": "a"}]),
            True,
        ),
        (
            "branches.any(final == 'a') and not branches.all(final == 'a')",
            Scope({}, branches=[{"final": "a"}, {"final": "b"}]),
            True,
        ),
        ("branches.any(workflow)", Scope({}, branches=[{"workflow": "w"}]), True),
    ],
)
def test_accessors(text: str, scope: Scope, holds: bool) -> None:
    assert parse_guard(text).holds(scope) is holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("ctx['a'] == ctx['b']", True),
        ("ctx['a'] == ctx['c']", False),
        ("ctx['a'] != ctx['c']", True),
        ("ctx['a'] < ctx['c']", True),
        ("ctx['a'] >= ctx['c']", False),
        ("ctx['o'] == ctx['p']", True),
        ("ctx['o'] == ctx['a']", False),
        ("ctx['a'] in ctx['l']", True),
    ],
)
def test_values_deeper_than_python_compares(text: str, holds: bool) -> None:
    depth = 20_000
    context = {
        "a": nested(depth, 1),
        "b": nested(depth, 1.0),
        "c": nested(depth, 2),
        "o": nested(depth, {"x": nested(depth, 1)}),
        "p": nested(depth, {"x": nested(depth, True)}),
        "l": [nested(depth, 1)],
    }
    assert parse_guard(text).holds(Scope(context)) is holds
