"""Guards as formulas about what they read (`docs/spec/authoring.md` 3.3, 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, assert_never

from stateous.guards import Guard
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
    Operator,
    Or,
    PayloadField,
    Quantifier,
    walk,
)
from stateous.json import Json
from stateous_compiler.exclusive.admission import Admission, longest_lists
from stateous_compiler.exclusive.logic import Formula, both, either, negation
from stateous_compiler.exclusive.terms import Sizes, Term, Terms
from stateous_compiler.exclusive.world import Reading, World, readings_of

#: Of a list that a schema wants long, so many members are told from one another.
MOST_SPOKEN_OF: Final = 8


class Encoding:
    """Some guards of one group, and unknown values for all that they read."""

    def __init__(
        self, world: World, guards: Sequence[Guard], in_time: Callable[[], object] = bool
    ) -> None:
        readings = readings_of(*guards)
        self.terms = Terms(_sizes(world, guards, readings), in_time)
        admission = Admission(self.terms, world.schemas)
        #: What is read, in the order of examples.
        self.values: dict[Reading, Term] = {
            reading: admission.value(
                world.schema_of(reading), may_be_missing=world.may_be_missing(reading)
            )
            for reading in readings
        }

    def holds(self, guard: Guard) -> Formula:
        """Whether ``guard`` is true."""
        return self._condition(guard.tree)

    def _condition(self, node: Expression) -> Formula:
        match node:
            case Not(operand):
                return negation(self._condition(operand))
            case And(operands):
                return both(*map(self._condition, operands))
            case Or(operands):
                return either(*map(self._condition, operands))
            case Compare():
                terms = list(map(self._term, node.operands))
                pairs = zip(terms, node.operators, terms[1:], strict=False)
                return both(*(self._compared(*pair) for pair in pairs))
            case _:
                return self.terms.is_true(self._term(node))

    def _compared(self, left: Term, operator: Operator, right: Term) -> Formula:
        match operator:
            case "==":
                return self.terms.equal(left, right)
            case "!=":
                return negation(self.terms.equal(left, right))
            case "<" | "<=" | ">" | ">=":
                return self.terms.ordered(operator, left, right)
            case "in":
                return self.terms.among(left, right)[0]
            case "not in":
                return self.terms.among(left, right)[1]
            case _:
                assert_never(operator)

    def _term(self, node: Expression) -> Term:
        match node:
            case Constant(value):
                return self.terms.written(value)
            case ListOf():
                return self.terms.written(_constants(node))
            case Count() | ContextKey() | PayloadField():
                return self.values[node]
            case Not() | And() | Or() | Compare():
                return self.terms.condition(self._condition(node))
            case Quantifier() | BranchName() | BranchContext() | BranchPayload():
                raise ValueError("what is read of branches has no formula")
            case _:
                assert_never(node)


def _sizes(world: World, guards: Sequence[Guard], readings: Sequence[Reading]) -> Sizes:
    """So many slots that lists which must differ, equal or hold something can do so in them."""
    searches = differences = longest = 0
    for left, operator, right in _comparisons(guards):
        if operator not in {"in", "not in"}:
            written = [len(side.elements) for side in (left, right) if isinstance(side, ListOf)]
            longest = max([longest, *written])
            differences += not any(isinstance(side, Constant | ListOf) for side in (left, right))
        else:
            longest = max(longest, len(left.elements) if isinstance(left, ListOf) else 0)
            searches += not isinstance(right, ListOf)
    least = max(
        (longest_lists(world.schemas, world.schema_of(each)) for each in readings), default=0
    )
    slots = max(1, longest, searches + differences, min(least, MOST_SPOKEN_OF))
    return Sizes(slots, searches)


def _comparisons(guards: Sequence[Guard]) -> Iterator[tuple[Expression, Operator, Expression]]:
    for guard in guards:
        for node in walk(guard.tree):
            if isinstance(node, Compare):
                yield from node.pairs()


def _constants(node: ListOf) -> list[Json]:
    return [element.value for element in node.elements if isinstance(element, Constant)]
