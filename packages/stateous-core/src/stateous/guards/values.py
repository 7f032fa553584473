"""What the operators of a guard mean on JSON values (`docs/spec/authoring.md` 3.3).

Every function here is total: whatever JSON comes in, also deeper than Python's own comparison can
follow, a boolean comes out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from stateous.guards.nodes import Operator

# A JSON value. Nothing here trusts its shape.
Value = Any


def equal(left: Value, right: Value) -> bool:
    """Deep equality in which ``1``, ``1.0`` and ``true`` are one value; null equals only null."""
    try:
        return bool(left == right)
    except RecursionError:
        return _equal_without_recursion(left, right)


def _equal_without_recursion(left: Value, right: Value) -> bool:
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pairs.extend((member, other[key]) for key, member in one.items())
        elif isinstance(one, list | dict) or isinstance(other, list | dict) or one != other:
            return False
    return True


def _ordered(holds: Callable[[Any, Any], bool]) -> Callable[[Value, Value], bool]:
    """An order of numbers among themselves, texts among themselves, lists element by element."""

    def compare(left: Value, right: Value) -> bool:
        if isinstance(left, list) and isinstance(right, list):
            left, right = _first_difference(left, right)
        if isinstance(left, int | float):
            return isinstance(right, int | float) and holds(left, right)
        return isinstance(left, str) and isinstance(right, str) and holds(left, right)

    return compare


def _first_difference(left: list[Value], right: list[Value]) -> tuple[Value, Value]:
    """The members, however deep, that decide how two lists are ordered.

    Where one list ends first these are the lengths; of equal lists any two equal numbers.
    """
    pairs: list[tuple[Value, Value]] = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, list) and isinstance(other, list):
            pairs.append((len(one), len(other)))
            pairs.extend(reversed(list(zip(one, other, strict=False))))
        elif not equal(one, other):
            return one, other
    return 0, 0


def _among(left: Value, right: Value) -> bool | None:
    """Whether ``left`` is in ``right``; None where both ``in`` and ``not in`` are false."""
    if isinstance(right, list):
        return any(equal(left, member) for member in right)
    if isinstance(right, Mapping):
        return isinstance(left, str) and left in right
    if isinstance(right, str) and isinstance(left, str):
        return left in right
    return None


def _unequal(left: Value, right: Value) -> bool:
    return not equal(left, right)


def _within(left: Value, right: Value) -> bool:
    return _among(left, right) is True


def _not_within(left: Value, right: Value) -> bool:
    return _among(left, right) is False


#: Each operator of the language as a total function of two JSON values.
OPERATIONS: Final[Mapping[Operator, Callable[[Value, Value], bool]]] = {
    "==": equal,
    "!=": _unequal,
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "in": _within,
    "not in": _not_within,
}
