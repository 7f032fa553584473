"""The typed tree of a guard: a closed union of frozen nodes (`docs/spec/authoring.md` 3.1).

The parser makes it, :mod:`stateous.guards.evaluate` compiles it, and the compiler's type checks and
proofs walk it. A walker ends its ``match`` with ``assert_never``, so that a new node is an error
of types everywhere at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

Operator: TypeAlias = Literal["<", "<=", ">", ">=", "==", "!=", "in", "not in"]
BranchNameText: TypeAlias = Literal["workflow", "token", "status", "final"]

#: The names that stand for a child's entry inside a quantifier.
BRANCH_NAMES: Final[tuple[BranchNameText, ...]] = ("workflow", "token", "status", "final")


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal: text, a number (``-1`` is one constant), ``true``, ``false`` or ``null``."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class BranchName:
    """``workflow``, ``token``, ``status`` or ``final`` of the child's entry."""

    name: BranchNameText


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list literal. Its elements are never lists or accessors."""

    elements: tuple[Constant | BranchName, ...]


@dataclass(frozen=True, slots=True)
class ContextKey:
    """``ctx['key']``."""

    key: str


@dataclass(frozen=True, slots=True)
class PayloadField:
    """``payload.field`` outside a quantifier: of the event that is routed."""

    field: str


@dataclass(frozen=True, slots=True)
class Count:
    """``count('event')``."""

    event: str


@dataclass(frozen=True, slots=True)
class BranchContext:
    """``context.field`` inside a quantifier: of the child."""

    field: str


@dataclass(frozen=True, slots=True)
class BranchPayload:
    """``payload.field`` inside a quantifier: of the event that brought the child to its end."""

    field: str


@dataclass(frozen=True, slots=True)
class Not:
    """``not operand``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And:
    """Two operands or more, joined by ``and``."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Two operands or more, joined by ``or``."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """A chain: ``operators[i]`` stands between ``operands[i]`` and ``operands[i + 1]``."""

    operands: tuple[Expression, ...]
    operators: tuple[Operator, ...]

    def pairs(self) -> Iterator[tuple[Expression, Operator, Expression]]:
        """The adjacent pairs, each of which must hold."""
        return zip(self.operands, self.operators, self.operands[1:], strict=False)


@dataclass(frozen=True, slots=True)
class Quantifier:
    """``branches.all(condition)`` or ``branches.any(condition)``."""

    kind: Literal["all", "any"]
    condition: Expression


Accessor: TypeAlias = ContextKey | PayloadField | Count | BranchContext | BranchPayload
Expression: TypeAlias = (
    Constant | ListOf | Accessor | BranchName | Not | And | Or | Compare | Quantifier
)


def children(node: Expression) -> tuple[Expression, ...]:
    """The nodes directly inside ``node``, in the order of the text."""
    match node:
        case (
            Constant()
            | BranchName()
            | ContextKey()
            | PayloadField()
            | Count()
            | BranchContext()
            | BranchPayload()
        ):
            return ()
        case ListOf(elements):
            return elements
        case Not(operand):
            return (operand,)
        case And(operands) | Or(operands) | Compare(operands, _):
            return operands
        case Quantifier(_, condition):
            return (condition,)
        case _:
            assert_never(node)


def walk(node: Expression) -> Iterator[Expression]:
    """``node`` and everything inside it, in the order of the text."""
    yield node
    for child in children(node):
        yield from walk(child)
