"""The door to z3, which has no types of its own: formulas, unknowns, and what a model says of them.

A formula is a z3 term or a Python boolean. The connectives fold what is already known, so that
what a schema or a literal settles never reaches the solver.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from fractions import Fraction
from typing import Any, Final, TypeAlias

import z3  # type: ignore[import-untyped]

from stateous_compiler.exclusive.digits import decimal, whole

#: A z3 formula, or a boolean.
Formula: TypeAlias = Any
#: A z3 term that stands for a number.
Number: TypeAlias = Any

_SEED: Final = 0


def both(*parts: Formula) -> Formula:
    """Whether all of ``parts`` hold."""
    return _joined(parts, z3.And, settling=False)


def either(*parts: Formula) -> Formula:
    """Whether at least one of ``parts`` holds."""
    return _joined(parts, z3.Or, settling=True)


def _joined(parts: Iterable[Formula], connective: Any, *, settling: bool) -> Formula:
    open_parts = []
    for part in parts:
        if part is settling:
            return settling
        if part is not (not settling):
            open_parts.append(part)
    if not open_parts:
        return not settling
    return open_parts[0] if len(open_parts) == 1 else connective(open_parts)


def negation(formula: Formula) -> Formula:
    """Whether ``formula`` does not hold."""
    return not formula if isinstance(formula, bool) else z3.Not(formula)


def implies(premise: Formula, conclusion: Formula) -> Formula:
    """Whether ``conclusion`` holds wherever ``premise`` does."""
    return either(negation(premise), conclusion)


def alike(left: Formula, right: Formula) -> Formula:
    """Whether both formulas hold, or neither."""
    if isinstance(left, bool):
        return right if left else negation(right)
    if isinstance(right, bool):
        return left if right else negation(left)
    return left == right


def one_of(parts: Iterable[Formula]) -> Formula:
    """Whether exactly one of ``parts`` holds."""
    return z3.PbEq([(part, 1) for part in parts], 1)


def if_else(condition: Formula, then: Number, otherwise: Number) -> Number:
    """The number ``then`` where ``condition`` holds, else ``otherwise``."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    return z3.If(condition, then, otherwise)


def number(value: int | float | Fraction) -> Number:
    """Exactly ``value``, a float as the binary fraction that it is."""
    exact = Fraction(value)
    return z3.RealVal(f"{decimal(exact.numerator)}/{decimal(exact.denominator)}")


def is_whole(value: Number) -> Formula:
    """Whether a number has no fraction."""
    return z3.IsInt(value)


class Unknowns:
    """Makes the unknowns of one question. Their names are counted, so that runs are alike."""

    def __init__(self) -> None:
        self._made = 0

    def truth(self) -> Formula:
        """A new unknown formula."""
        return z3.Bool(self._name("b"))

    def rational(self) -> Number:
        """A new unknown number."""
        return z3.Real(self._name("r"))

    def integer(self) -> Number:
        """A new unknown whole number."""
        return z3.Int(self._name("i"))

    def _name(self, prefix: str) -> str:
        self._made += 1
        return f"{prefix}{self._made}"


#: How deep a list or object is, by its identity.
depth_of: Final = z3.Function("depth", z3.IntSort(), z3.IntSort())
#: How many keys an object has, by its identity.
size_of: Final = z3.Function("size", z3.IntSort(), z3.IntSort())
#: Whether an object has a key, by its identity and the rank of the key.
has_key: Final = z3.Function("has_key", z3.IntSort(), z3.RealSort(), z3.BoolSort())


class Model:
    """Values that make all formulas of a solver true."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def holds(self, formula: Formula) -> bool:
        """Whether ``formula`` is true in it."""
        if isinstance(formula, bool):
            return formula
        return bool(z3.is_true(self._model.eval(formula, model_completion=True)))

    def number(self, value: Number) -> Fraction:
        """What ``value`` is in it."""
        found = self._model.eval(value, model_completion=True)
        if z3.is_int_value(found):
            return Fraction(whole(found.as_string()))
        numerator, _, denominator = found.as_string().partition("/")
        return Fraction(whole(numerator), whole(denominator or "1"))

    def integer(self, value: Number) -> int:
        """What the whole number ``value`` is in it."""
        return int(self.number(value))


class No(Enum):
    """Why there is no model."""

    #: There is none, whatever is assumed.
    NEVER = auto()
    #: There is none in which what is assumed holds.
    NOT_SO = auto()
    #: The solver does not know.
    ANSWER = auto()


class Solver:
    """z3 with fixed seeds."""

    def __init__(self) -> None:
        self._solver = z3.SimpleSolver()
        self._solver.set("random_seed", _SEED)

    def require(self, formula: Formula) -> None:
        """Ask from now on for models of ``formula`` only."""
        self._solver.add(formula)

    def model(self, *assumed: Formula, seconds: float) -> Model | No:
        """A model in which what is ``assumed`` holds too, or why there is none."""
        self._solver.set("timeout", max(1, int(seconds * 1000)))
        verdict = self._solver.check(*assumed)
        if verdict == z3.sat:
            return Model(self._solver.model())
        if verdict == z3.unsat:
            return No.NOT_SO if len(self._solver.unsat_core()) else No.NEVER
        return No.ANSWER
