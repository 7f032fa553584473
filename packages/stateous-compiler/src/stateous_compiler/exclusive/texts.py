"""Texts as ranks: numbers that stand in the order of the texts.

All that a guard can ask of texts is whether they are equal, which of two comes first, and, by way
of a schema, how long they are. The order of texts by code point can be laid out on the rational
numbers, so each unknown text is an unknown *rank*, and each text that is written in a guard or a
schema, a *landmark*, has a fixed one: "" is 0, the next landmark 1, and so on. What lies between
two landmarks is a *gap*. Nearly all gaps hold as many texts as anyone could need; a gap that holds
few of the length that a schema asks for gets them as landmarks of their own, after which a gap
holds either none or enough. This decides in linear arithmetic what the solver's own texts decide in
seconds, or not at all (long texts).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final

from stateous_compiler.exclusive.logic import (
    Formula,
    Model,
    Number,
    Unknowns,
    both,
    either,
    implies,
    negation,
    number,
)
from stateous_compiler.exclusive.text_order import (
    ANY_LENGTH,
    Lengths,
    between,
    can_occur,
    few_between,
    some_between,
)

# Beyond it, gaps with few texts are no longer told from those with many.
_MOST_LANDMARKS: Final = 2000


class NoTextError(Exception):
    """No text was found for a rank. ``laws`` hold, and keep ranks from where no text can be."""

    def __init__(self, laws: list[Formula]) -> None:
        self.laws = laws


class Texts:
    """The texts of one question, known and unknown."""

    def __init__(self, unknowns: Unknowns) -> None:
        self._unknowns = unknowns
        self._literals: dict[str, Number] = {"": number(0)}
        self._unknown: list[Number] = []
        self._bounded: list[tuple[Number, Lengths, Formula]] = []
        self._written: list[tuple[Formula, Number, list[Number]]] = []
        #: The landmarks, rising, with their ranks. Empty until :meth:`laws` lays them out.
        self._landmarks: list[tuple[Fraction, str]] = []
        self._barred: dict[Lengths, list[tuple[Fraction, Fraction | None]]] = {}
        self._found: dict[str, Fraction] = {}

    def literal(self, text: str) -> Number:
        """The rank of a text that is written somewhere."""
        if text not in self._literals:
            self._literals[text] = self._unknowns.rational()
        return self._literals[text]

    @property
    def impossible(self) -> list[Number]:
        """The ranks of literals that no JSON holds."""
        return [rank for text, rank in self._literals.items() if not can_occur(text)]

    def unknown(self) -> Number:
        """The rank of a text that is to be found."""
        rank = self._unknowns.rational()
        self._unknown.append(rank)
        return rank

    def has_length(self, rank: Number, lengths: Lengths) -> Formula:
        """A formula that holds only where the text of ``rank`` has one of ``lengths``."""
        fits = self._unknowns.truth()
        self._bounded.append((rank, lengths, fits))
        return fits

    def is_written(self, rank: Number, texts: Iterable[str]) -> Formula:
        """A formula that holds only where the text of ``rank`` is one of ``texts`` or a literal.

        The empty text is not meant, unless it is among ``texts``.
        """
        ranks = [self.literal(text) for text in texts]
        written = self._unknowns.truth()
        self._written.append((written, rank, ranks))
        return written

    def laws(self) -> Iterator[Formula]:
        """What ranks obey. Called once, when everything has been asked for.

        Raises:
            TextTooLongError: a schema asks for very long texts.
        """
        self._lay_out()
        for rank, text in self._landmarks:
            if text in self._literals and text:
                yield self._literals[text] == number(rank)
        for rank in self._unknown:
            yield rank >= 0
            yield from self._of_length(rank, ANY_LENGTH)
        for written, rank, more in self._written:
            ranks = [place for text, place in self._literals.items() if text] + more
            yield implies(written, either(*(rank == place for place in ranks)))
        for rank, lengths, fits in self._bounded:
            for law in self._of_length(rank, lengths):
                yield implies(fits, law)

    def found(self, text: str) -> tuple[Number, list[Formula]]:
        """The rank of a text that :meth:`read` found, which becomes a landmark, and new laws."""
        place = self._found[text]
        rank = number(place)
        if (place, text) in self._landmarks:
            return rank, []
        insort(self._landmarks, (place, text))
        laws = [
            implies(fits, unknown != rank)
            for unknown, lengths, fits in self._bounded
            if text not in lengths
        ]
        return rank, laws

    def read(self, model: Model) -> dict[Fraction, str]:
        """A text for each rank that an unknown text has in ``model``, and all landmarks.

        Raises:
            NoTextError: none was found for one of them.
        """
        wanted = {model.number(rank): ANY_LENGTH for rank in self._unknown}
        for rank, lengths, fits in self._bounded:
            if model.holds(fits):
                place = model.number(rank)
                wanted[place] = wanted.get(place, ANY_LENGTH) & lengths
        found = dict(self._landmarks)
        for start, low, end, high in self._gaps():
            inside = sorted(
                place for place in wanted if start < place and (end is None or place < end)
            )
            if inside:
                texts = some_between(low, high, [wanted[place] for place in inside])
                if texts is None:
                    raise NoTextError(list(self._nothing_inside(start, low, end, high)))
                found.update(zip(inside, texts, strict=True))
        self._found = {text: place for place, text in found.items()}
        return found

    def _nothing_inside(
        self, start: Fraction, low: str, end: Fraction | None, high: str | None
    ) -> Iterator[Formula]:
        """That no text has its rank in a gap, if that is so since :meth:`found` made it a gap."""
        if next(between(low, high, ANY_LENGTH), None) is None:
            for rank in self._unknown:
                yield _outside(rank, start, end)

    def _lay_out(self) -> None:
        classes = {ANY_LENGTH, *(lengths for _, lengths, _ in self._bounded)}
        crowd = 2 * len(self._unknown) + 2
        texts = set(self._literals)
        while True:
            ordered = sorted(texts)
            for low, high in zip(ordered, [*ordered[1:], None], strict=True):
                for lengths in classes:
                    texts.update(few_between(low, high, lengths, crowd) or ())
            if len(texts) == len(ordered) or len(texts) > _MOST_LANDMARKS:
                break
        self._landmarks = [(Fraction(rank), text) for rank, text in enumerate(sorted(texts))]

    def _of_length(self, rank: Number, lengths: Lengths) -> Iterator[Formula]:
        if lengths not in self._barred:
            self._barred[lengths] = list(self._without(lengths))
        for start, end in self._barred[lengths]:
            yield rank != number(start) if start == end else _outside(rank, start, end)

    def _without(self, lengths: Lengths) -> Iterator[tuple[Fraction, Fraction | None]]:
        """Where no text of ``lengths`` has its rank: at landmarks, and in gaps."""
        for place, text in self._landmarks:
            if text not in lengths or not can_occur(text):
                yield place, place
        for start, low, end, high in self._gaps():
            if next(between(low, high, lengths), None) is None:
                yield start, end

    def _gaps(self) -> Iterator[tuple[Fraction, str, Fraction | None, str | None]]:
        ends: list[tuple[Fraction | None, str | None]] = [*self._landmarks[1:], (None, None)]
        for (start, low), (end, high) in zip(self._landmarks, ends, strict=True):
            yield start, low, end, high


def _outside(rank: Number, start: Fraction, end: Fraction | None) -> Formula:
    below = True if end is None else rank < number(end)
    return negation(both(rank > number(start), below))
