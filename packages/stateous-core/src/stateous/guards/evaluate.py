"""Guards as closures, made once: evaluating walks no tree (`docs/spec/authoring.md` 3.3).

Two forms are made of a node: what it is worth (:func:`_value`), and whether it counts as true
(:func:`compile_condition`). Both are functions of the scope and of the child's entry that a
quantifier is looking at; the latter is empty outside of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, assert_never

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
)
from stateous.guards.values import OPERATIONS

Entry: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class Scope:
    """What guards are evaluated on.

    ``counts`` has the event that is being routed counted already. ``branches`` are the entries of
    a ``joined`` (2.7), and empty for every other event.
    """

    context: Mapping[str, Any]
    payload: Mapping[str, Any] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    branches: Sequence[Entry] = ()


Condition: TypeAlias = Callable[[Scope, Entry], bool]
_Worth: TypeAlias = Callable[[Scope, Entry], Any]

NO_ENTRY: Final[Entry] = {}


def compile_condition(node: Expression) -> Condition:
    """Whether ``node`` counts as true: null, 0, empty texts, lists and objects do not."""
    match node:
        case Not(operand):
            refuted = compile_condition(operand)
            return lambda scope, entry: not refuted(scope, entry)
        case And(operands):
            return _conjunction(tuple(map(compile_condition, operands)))
        case Or(operands):
            return _disjunction(tuple(map(compile_condition, operands)))
        case Compare():
            return _comparison(node)
        case Quantifier("all", condition):
            each = compile_condition(condition)
            return lambda scope, _: all(each(scope, entry) for entry in scope.branches)
        case Quantifier(_, condition):
            some = compile_condition(condition)
            return lambda scope, _: any(some(scope, entry) for entry in scope.branches)
        case _:
            worth = _value(node)
            return lambda scope, entry: bool(worth(scope, entry))


def _conjunction(conditions: tuple[Condition, ...]) -> Condition:
    def holds(scope: Scope, entry: Entry) -> bool:
        for condition in conditions:  # noqa: SIM110 - a generator costs more than the loop
            if not condition(scope, entry):
                return False
        return True

    return holds


def _disjunction(conditions: tuple[Condition, ...]) -> Condition:
    def holds(scope: Scope, entry: Entry) -> bool:
        for condition in conditions:  # noqa: SIM110 - a generator costs more than the loop
            if condition(scope, entry):
                return True
        return False

    return holds


def _comparison(node: Compare) -> Condition:
    operands = tuple(map(_value, node.operands))
    operations = tuple(OPERATIONS[operator] for operator in node.operators)
    first = operands[0]
    if len(operations) == 1:
        holds, second = operations[0], operands[1]
        return lambda scope, entry: holds(first(scope, entry), second(scope, entry))
    rest = tuple(zip(operations, operands[1:], strict=True))

    def chain(scope: Scope, entry: Entry) -> bool:
        left = first(scope, entry)
        for holds, operand in rest:
            right = operand(scope, entry)
            if not holds(left, right):
                return False
            left = right
        return True

    return chain


def _value(node: Expression) -> _Worth:
    """What ``node`` is worth: a JSON value, null where there is nothing to read."""
    match node:
        case Constant(value):
            return lambda scope, entry: value
        case ListOf(elements) if all(isinstance(element, Constant) for element in elements):
            fixed = [element.value for element in elements if isinstance(element, Constant)]
            return lambda scope, entry: fixed
        case ListOf(elements):
            members = tuple(map(_value, elements))
            return lambda scope, entry: [member(scope, entry) for member in members]
        case ContextKey(key):
            return lambda scope, entry: scope.context.get(key)
        case PayloadField(name):
            return lambda scope, entry: None if scope.payload is None else scope.payload.get(name)
        case Count(event):
            return lambda scope, entry: scope.counts.get(event, 0)
        case BranchName(name):
            return lambda scope, entry: entry.get(name)
        case BranchContext(name):
            return lambda scope, entry: _member(entry.get("context"), name)
        case BranchPayload(name):
            return lambda scope, entry: _member(entry.get("payload"), name)
        case Not() | And() | Or() | Compare() | Quantifier():
            return compile_condition(node)
        case _:
            assert_never(node)


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None
