"""Symbolic JSON values, and when the operators of a guard hold between them (`authoring.md` 3.3).

A term has exactly one of the six kinds. A boolean is also the number 0 or 1, as guards see it. A
list or an object has an *identity*: a number that equal ones share and different ones do not. What
is known of an object hangs on its identity: how many keys it has, and which. A list has a length
and, one by one, its first members, the *slots*. Longer lists have further members; of these one
witness stands for each value that the guards look for in a list, so that nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from operator import le, lt
from typing import Final

from stateous.guards.nodes import Operator
from stateous.json import Json
from stateous_compiler.exclusive.logic import (
    Formula,
    Number,
    Unknowns,
    alike,
    both,
    depth_of,
    either,
    has_key,
    if_else,
    implies,
    negation,
    number,
    one_of,
    size_of,
)
from stateous_compiler.exclusive.texts import Texts
from stateous_compiler.kinds import Kind, kind_of

#: The identity of the one empty object.
_EMPTY: Final = 0


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """A symbolic JSON value. What its kinds do not need is None or empty."""

    #: The kinds that it can have, each with the formula that it has it.
    kinds: Mapping[Kind, Formula]
    number: Number = None
    #: The rank of a text.
    text: Number = None
    identity: Number = None
    #: None also for a list inside a list, when nothing is known of its members.
    length: Number = None
    slots: tuple[Term, ...] = ()
    witnesses: tuple[Term, ...] = ()
    #: What the value must fit; True for anything.
    schema: Json = True
    #: The ranks of the keys of an object that is written.
    keys: tuple[Number, ...] = ()

    def is_(self, kind: Kind) -> Formula:
        """Whether it has the kind."""
        return self.kinds.get(kind, False)

    @property
    def is_numeric(self) -> Formula:
        """Whether it is a number for the operators: booleans are."""
        return either(self.is_("number"), self.is_("boolean"))

    def members(self) -> Iterator[tuple[Formula, Term]]:
        """The members of a list that are looked at, each with whether the list has it."""
        for place, slot in enumerate(self.slots):
            yield self.length > place, slot
        for witness in self.witnesses:
            yield self.length > len(self.slots), witness


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many members of a list are looked at: ``slots`` in turn, and one for each search."""

    slots: int
    searches: int


class Terms:
    """All terms of one question, and the laws that they obey."""

    def __init__(self, sizes: Sizes, in_time: Callable[[], object] = bool) -> None:
        """``in_time`` is called before each costly step, and raises when there is no time left."""
        self.sizes = sizes
        self._in_time = in_time
        self.unknowns = Unknowns()
        self.texts = Texts(self.unknowns)
        #: What holds of every JSON value, and what the schemas say.
        self.laws: list[Formula] = []
        #: Whether only values that are easily made are looked for. It leaves out values, so it may
        #: be assumed in the search for an example, and never in a proof.
        self.easy = self.unknowns.truth()
        #: Every value to be found.
        self.wanted: list[Term] = []
        self._identities = count(-1, -1)
        self._compared: dict[tuple[Term, Term], Formula] = {}
        self._preceding: dict[tuple[Term, Term], Formula] = {}
        self._among: dict[tuple[Term, Term], tuple[Formula, Formula]] = {}
        self._searches: list[Term] = []
        #: The keys that objects were asked for, by their ranks.
        self.keys: list[tuple[Term, Number]] = []
        self._closed: list[tuple[Formula, Term, tuple[Number, ...]]] = []
        self._lists: list[tuple[Formula, Term, Term]] = []
        self._written: dict[object, Term] = {}

    def unknown(
        self, kinds: Collection[Kind], schema: Json, member: Callable[[], Term] | None
    ) -> Term:
        """A value to be found, of one of ``kinds``. ``member`` makes the members of a list."""
        flags: dict[Kind, Formula] = dict.fromkeys(kinds, True)
        if len(kinds) > 1:
            flags = {kind: self.unknowns.truth() for kind in kinds}
            self.laws.append(one_of(flags.values()))
        is_list = "list" in kinds and member is not None
        term = Term(
            flags,
            number=self.unknowns.rational() if {"number", "boolean"} & set(kinds) else None,
            text=self.texts.unknown() if "string" in kinds else None,
            identity=self.unknowns.integer() if {"list", "object"} & set(kinds) else None,
            length=self.unknowns.integer() if is_list else None,
            slots=tuple(member() for _ in range(self.sizes.slots)) if is_list and member else (),
            witnesses=(
                tuple(member() for _ in range(self.sizes.searches)) if is_list and member else ()
            ),
            schema=schema,
        )
        self.wanted.append(term)
        self.laws += self._laws_of(term)
        return term

    def _laws_of(self, term: Term) -> Iterator[Formula]:
        if "boolean" in term.kinds:
            zero_or_one = either(term.number == 0, term.number == 1)
            yield implies(term.is_("boolean"), zero_or_one)
        if "object" in term.kinds:
            yield size_of(term.identity) >= 0
            is_empty = size_of(term.identity) == 0
            yield implies(term.is_("object"), alike(is_empty, term.identity == _EMPTY))
        if term.length is not None:
            yield term.length >= 0
            yield implies(self.easy, term.length <= len(term.slots))
            for place, member in term.members():
                inside = either(member.is_("list"), member.is_("object"))
                if inside is not False:
                    deeper = depth_of(member.identity) < depth_of(term.identity)
                    yield implies(both(term.is_("list"), place, inside), deeper)

    def written(self, value: Json) -> Term:
        """A value that is written in a guard or a schema."""
        key = (type(value) is bool, _hashable(value))
        if key not in self._written:
            self._written[key] = self._write(value)
        return self._written[key]

    def _write(self, value: Json) -> Term:
        kinds: dict[Kind, Formula] = {kind_of(value): True}
        match value:
            case None:
                return Term(kinds)
            case bool() | int() | float():
                return Term(kinds, number=number(value))
            case str():
                return Term(kinds, text=self.texts.literal(value))
            case list():
                members = tuple(map(self.written, value))
                # What is written has identities below that of the empty object, each its own.
                identity = next(self._identities)
                return Term(
                    kinds,
                    identity=identity,
                    length=len(value),
                    slots=members,
                    schema={"const": value},
                )
            case dict():
                identity = next(self._identities) if value else _EMPTY
                self.laws.append(size_of(identity) == len(value))
                keys = tuple(map(self.texts.literal, value))
                return Term(kinds, identity=identity, keys=keys, schema={"const": value})

    @property
    def composites(self) -> Iterator[Term]:
        """The lists and objects that are written."""
        return (term for term in self._written.values() if term.identity is not None)

    def condition(self, formula: Formula) -> Term:
        """The boolean that a comparison, ``not``, ``and`` or ``or`` is worth."""
        return Term({"boolean": True}, number=if_else(formula, number(1), number(0)))

    def is_true(self, term: Term) -> Formula:
        """Whether ``term`` counts as true."""
        parts: list[Formula] = []
        if "number" in term.kinds or "boolean" in term.kinds:
            parts.append(both(term.is_numeric, term.number != 0))
        if "string" in term.kinds:
            parts.append(both(term.is_("string"), term.text != self.texts.literal("")))
        if "list" in term.kinds:
            parts.append(both(term.is_("list"), term.length > 0))
        if "object" in term.kinds:
            parts.append(both(term.is_("object"), size_of(term.identity) > 0))
        return either(*parts)

    def equal(self, left: Term, right: Term) -> Formula:
        """Whether ``left == right``."""
        known = self._compared.get((left, right))
        if known is None:
            known = self._compared[left, right] = either(*self._equalities(left, right))
        return known

    def _equalities(self, left: Term, right: Term) -> Iterator[Formula]:
        yield both(left.is_("null"), right.is_("null"))
        if (numeric := both(left.is_numeric, right.is_numeric)) is not False:
            yield both(numeric, left.number == right.number)
        if (texts := both(left.is_("string"), right.is_("string"))) is not False:
            yield both(texts, left.text == right.text)
        if (objects := both(left.is_("object"), right.is_("object"))) is not False:
            yield both(objects, left.identity == right.identity)
        if (lists := both(left.is_("list"), right.is_("list"))) is not False:
            same = left.identity == right.identity
            yield both(lists, same)
            if left.length is not None and right.length is not None:
                self.laws += list(self._laws_of_lists(left, right, lists, same))

    def _laws_of_lists(
        self, left: Term, right: Term, lists: Formula, same: Formula
    ) -> Iterator[Formula]:
        """Two lists are the same when their members are; only slots can tell that they are."""
        pairs = list(zip(left.slots, right.slots, strict=False))
        alike_so_far = both(
            left.length == right.length,
            *(implies(left.length > i, self.equal(*pair)) for i, pair in enumerate(pairs)),
        )
        yield implies(both(lists, same), alike_so_far)
        yield implies(both(lists, alike_so_far, left.length <= len(pairs)), same)
        self._lists.append((both(lists, same), left, right))

    def ordered(self, operator: Operator, left: Term, right: Term) -> Formula:
        """Whether ``left`` stands to ``right`` in the order that ``operator`` names."""
        if operator in {">", ">="}:
            left, right = right, left
        strictly = operator in {"<", ">"}
        holds = lt if strictly else le
        parts: list[Formula] = []
        if (numeric := both(left.is_numeric, right.is_numeric)) is not False:
            parts.append(both(numeric, holds(left.number, right.number)))
        if (texts := both(left.is_("string"), right.is_("string"))) is not False:
            parts.append(both(texts, holds(left.text, right.text)))
        if (lists := both(left.is_("list"), right.is_("list"))) is not False:
            same = False if strictly else self.equal(left, right)
            parts.append(both(lists, either(same, self._precedes(left, right))))
        return either(*parts)

    def _precedes(self, left: Term, right: Term) -> Formula:
        """Whether ``left < right`` for two lists.

        As the first members that differ are, else as the lengths are. Beyond the slots it is open,
        but for equal lists, and not the case in both directions.
        """
        known = self._preceding.get((left, right))
        if known is not None:
            return known
        pairs = list(zip(left.slots, right.slots, strict=False))
        open_ended = both(self.unknowns.truth(), negation(self.equal(left, right)))
        if left.length is None or right.length is None:
            result = open_ended
        else:
            shorter = left.length < right.length
            ended = either(left.length <= len(pairs), right.length <= len(pairs))
            result = either(both(ended, shorter), both(negation(ended), open_ended))
            for i, (one, other) in reversed(list(enumerate(pairs))):
                there = both(left.length > i, right.length > i)
                same = self.equal(one, other)
                result = either(
                    both(negation(there), shorter),
                    both(there, same, result),
                    both(there, negation(same), self.ordered("<", one, other)),
                )
        self._preceding[left, right] = result
        lists = both(left.is_("list"), right.is_("list"))
        if (right, left) in self._preceding:
            self.laws.append(negation(both(lists, result, self._preceding[right, left])))
        return result

    def among(self, left: Term, right: Term) -> tuple[Formula, Formula]:
        """Whether ``left in right``, and whether ``left not in right``."""
        if (left, right) not in self._among:
            found: list[Formula] = []
            missed: list[Formula] = []
            for is_right, holds in self._searched(left, right):
                found.append(both(is_right, holds))
                missed.append(both(is_right, negation(holds)))
            self._among[left, right] = either(*found), either(*missed)
        return self._among[left, right]

    def _searched(self, left: Term, right: Term) -> Iterator[tuple[Formula, Formula]]:
        if "list" in right.kinds:
            if right.witnesses:
                self._searches.append(left)
            yield right.is_("list"), self._holds(right, left)
        if "object" in right.kinds:
            if "string" in left.kinds:
                self.keys.append((right, left.text))
                key = both(left.is_("string"), has_key(right.identity, left.text))
                yield right.is_("object"), key
            else:
                yield right.is_("object"), False
        if "string" in right.kinds:  # no guard that compiles searches a text: left open
            yield both(right.is_("string"), left.is_("string")), self.unknowns.truth()

    def _holds(self, searched: Term, wanted: Term) -> Formula:
        """Whether the list ``searched`` has ``wanted`` among its members."""
        self._in_time()
        return either(
            *(both(place, self.equal(member, wanted)) for place, member in searched.members())
        )

    def require_key(self, term: Term, key: str) -> Formula:
        """Whether the object ``term`` has ``key``."""
        rank = self.texts.literal(key)
        self.keys.append((term, rank))
        return has_key(term.identity, rank)

    def has_only(self, term: Term, keys: Iterable[str]) -> Formula:
        """A formula that holds only where the object ``term`` has no other keys than ``keys``."""
        closed = self.unknowns.truth()
        self._closed.append((closed, term, tuple(map(self.texts.literal, keys))))
        return closed

    def finish(self) -> None:
        """Add the laws of what was asked for. To be called once, at the end."""
        for closed, term, keys in self._closed:
            for _, rank in self.keys:
                among = either(*(rank == key for key in keys))
                self.laws.append(implies(both(closed, has_key(term.identity, rank)), among))
        for term, rank in self.keys:
            present = has_key(term.identity, rank)
            self.laws.append(implies(both(term.is_("object"), present), size_of(term.identity) > 0))
        for bad in self.texts.impossible:
            for term, rank in self.keys:
                has_bad = both(rank == bad, has_key(term.identity, rank))
                self.laws.append(negation(both(term.is_("object"), has_bad)))
        for known in self._written.values():
            if known.is_("object") is True:
                for _, rank in self.keys:
                    among = either(*(rank == key for key in known.keys))
                    self.laws.append(alike(has_key(known.identity, rank), among))
        for same, left, right in self._lists:  # grows while it is walked
            if left.witnesses and right.witnesses:
                for wanted in self._searches:
                    holds = alike(self._holds(left, wanted), self._holds(right, wanted))
                    self.laws.append(implies(same, holds))
        self.laws += self.texts.laws()


def _hashable(value: Json) -> object:
    """A key that equal values share, as guards compare them."""
    match value:
        case list():
            return "list", tuple(map(_hashable, value))
        case dict():
            return "object", frozenset((key, _hashable(member)) for key, member in value.items())
        case _:
            return value
