"""A solver's model as JSON values."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from stateous.json import Json
from stateous_compiler.exclusive.logic import (
    Formula,
    Model,
    alike,
    both,
    either,
    has_key,
    is_whole,
    negation,
    number,
    size_of,
)
from stateous_compiler.exclusive.terms import Term, Terms
from stateous_compiler.kinds import Kind

_MOST_MEMBERS: Final = 10_000


class NotMadeError(Exception):
    """No JSON value was found for a model; ``law`` is what to require instead, if anything is."""

    def __init__(self, law: Formula = None) -> None:
        self.law = law


class Readback:
    """The values of one model.

    ``compose(kind, schemas, keys, others)`` makes a list or an object that fits all ``schemas``
    and equals none of ``others``; an object has exactly those ``keys`` of theirs that are true.
    """

    def __init__(
        self,
        terms: Terms,
        model: Model,
        compose: Callable[[Kind, list[Json], dict[str, bool], list[Json]], Json],
    ) -> None:
        self._terms = terms
        self._model = model
        self._compose = compose
        self._texts = terms.texts.read(model)
        self._made: dict[tuple[Kind, int], Json] = {}
        #: What has to hold from now on because of texts that :meth:`exactly` told of.
        self.laws: list[Formula] = []

    def kind(self, term: Term) -> Kind:
        """The kind of ``term``."""
        return next(kind for kind, has in term.kinds.items() if self._model.holds(has))

    def value(self, term: Term) -> Json:
        """The value of ``term``.

        Raises:
            NotMadeError: there is none that could be made.
        """
        match kind := self.kind(term):
            case "null":
                return None
            case "boolean":
                return self._model.number(term.number) == 1
            case "number":
                return self._number(term)
            case "string":
                return self._texts[self._model.number(term.text)]
            case _:
                if kind == "list" and term.slots:
                    return self._list(term)
                return self._composite(kind, self._model.integer(term.identity))

    def exactly(self, term: Term, value: Json) -> tuple[Formula, bool]:
        """A formula that ``term`` is ``value``, which was read of it; whether no other value is."""
        kind = self.kind(term)
        is_kind = term.is_(kind)
        match value:
            case None:
                return is_kind, True
            case bool() | int() | float():
                return both(is_kind, term.number == number(value)), True
            case str():
                rank, laws = self._terms.texts.found(value)
                self.laws += laws
                return both(is_kind, term.text == rank), True
            case list() if term.slots:
                parts = [self.exactly(*pair) for pair in zip(term.slots, value, strict=False)]
                whole = len(value) <= len(term.slots) and all(exact for _, exact in parts)
                same = both(is_kind, term.length == len(value), *(part for part, _ in parts))
                return same, whole
            case dict() if not value:
                return both(is_kind, size_of(term.identity) == 0), True
            case _:
                asked = [rank for other, rank in self._terms.keys if other is term]
                keys = [has_key(term.identity, rank) for rank in asked]
                same = (alike(has, self._model.holds(has)) for has in keys)
                filled = size_of(term.identity) > 0 if kind == "object" else True
                return both(is_kind, filled, *same), False

    def _number(self, term: Term) -> int | float:
        exact = self._model.number(term.number)
        if exact.denominator == 1:
            return exact.numerator
        low, high = doubles_around(exact)
        if low is not None and low == high:
            return low
        above = True if low is None else term.number > number(low)
        below = True if high is None else term.number < number(high)
        raise NotMadeError(either(negation(both(above, below)), is_whole(term.number)))

    def _list(self, term: Term) -> Json:
        length = self._model.integer(term.length)
        if length > _MOST_MEMBERS:
            raise NotMadeError
        members = [self.value(slot) for slot in term.slots[:length]]
        for witness in term.witnesses:
            if len(members) < length and (member := self.value(witness)) not in members:
                members.append(member)
        members += members[-1:] * (length - len(members))
        self._made["list", self._model.integer(term.identity)] = members
        return members

    def _composite(self, kind: Kind, identity: int) -> Json:
        if (kind, identity) not in self._made:
            self._made[kind, identity] = self._make(kind, identity)
        return self._made[kind, identity]

    def _make(self, kind: Kind, identity: int) -> Json:
        written = {
            term.identity: term.schema for term in self._terms.composites if kind in term.kinds
        }
        match written.get(identity):
            case {"const": value}:
                return value
        same = [
            term
            for term in self._terms.wanted
            if term.identity is not None
            and self.kind(term) == kind
            and self._model.integer(term.identity) == identity
        ]
        if kind == "list":
            for term in same:
                if term.slots:
                    return self._list(term)
        elif self._model.integer(size_of(identity)) == 0:
            return {}
        keys = {
            self._texts[self._model.number(rank)]: self._model.holds(has_key(identity, rank))
            for term, rank in self._terms.keys
            if term in same
        }
        others = [value for (other, _), value in self._made.items() if other == kind]
        return self._compose(kind, [term.schema for term in same], keys, others)


def doubles_around(exact: Fraction) -> tuple[float | None, float | None]:
    """The nearest doubles at and above ``exact``, twice the same for a double itself.

    None where there is none, beyond the largest one.
    """
    try:
        near = float(exact)
    except OverflowError:
        largest = sys.float_info.max
        return (largest, None) if exact > 0 else (None, -largest)
    if near == exact:
        return near, near
    low = near if near < exact else math.nextafter(near, -math.inf)
    high = math.nextafter(low, math.inf)
    return low, None if math.isinf(high) else high
