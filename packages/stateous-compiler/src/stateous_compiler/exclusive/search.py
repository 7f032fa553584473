"""The search for values that answer a question, and the proof that there are none.

The solver proposes a model, the evaluator and the validator confirm it. What they do not confirm is
left out of the next search, and so on, until an example is found or nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from stateous.json import Json
from stateous_compiler.exclusive.admission import Admission, longest_lists
from stateous_compiler.exclusive.answers import (
    Answer,
    Example,
    Never,
    Question,
    Undecided,
    example_of,
)
from stateous_compiler.exclusive.composing import Composer
from stateous_compiler.exclusive.encoding import MOST_SPOKEN_OF, Encoding
from stateous_compiler.exclusive.logic import Formula, No, Solver, both, negation
from stateous_compiler.exclusive.readback import NotMadeError, Readback
from stateous_compiler.exclusive.terms import Sizes, Terms
from stateous_compiler.exclusive.text_order import TextTooLongError
from stateous_compiler.exclusive.texts import NoTextError
from stateous_compiler.exclusive.world import World
from stateous_compiler.kinds import Kind

#: Seconds since some moment.
Clock: TypeAlias = Callable[[], float]

_MOST_PROPOSALS: Final = 100
_MOST_GUESSES: Final = 20
_MOST_FILLINGS: Final = 4
_TOO_LONG: Final = "it takes too long to tell"


class _TimeIsUpError(Exception):
    """The formulas alone take longer to write than a question may."""


def search(question: Question, world: World, deadline: float, clock: Clock) -> Answer:
    """The answer to a question whose guards read something, but no branches."""

    def in_time() -> None:
        if clock() >= deadline:
            raise _TimeIsUpError

    try:
        encoding = Encoding(world, question.guards, in_time)
        for guard in question.true:
            encoding.terms.laws.append(encoding.holds(guard))
        for guard in question.false:
            encoding.terms.laws.append(negation(encoding.holds(guard)))
        proposals = _Proposals(encoding.terms, world.schemas, 0, deadline, clock)
        for readback in proposals:
            example = _confirmed(question, world, encoding, readback, proposals)
            if example is not None:
                return example
    except TextTooLongError:
        return Undecided("only very long texts could make them true")
    except _TimeIsUpError:
        return Undecided(_TOO_LONG)
    return Never() if proposals.exhausted else Undecided(proposals.reason)


def _confirmed(
    question: Question,
    world: World,
    encoding: Encoding,
    readback: Readback,
    proposals: _Proposals,
) -> Example | None:
    """What is read back as an example. If it is none, it will not be proposed again."""
    try:
        values = [(reading, readback.value(term)) for reading, term in encoding.values.items()]
    except NotMadeError as error:
        if error.law is not None:
            proposals.require(error.law)
        else:
            kinds = (term.is_(readback.kind(term)) for term in encoding.values.values())
            proposals.leave_out(both(*kinds), wholly=False)
        return None
    example = example_of(question, world, values)
    if example is not None:
        return example
    same = {reading: readback.exactly(encoding.values[reading], value) for reading, value in values}
    refused = [reading for reading, value in values if not world.can_be(reading, value)]
    for reading in refused:
        formula, wholly = same[reading]
        proposals.leave_out(formula, wholly=wholly)
    if not refused:
        formula = both(*(part for part, _ in same.values()))
        proposals.leave_out(formula, wholly=all(wholly for _, wholly in same.values()))
    proposals.require(*readback.laws)
    return None


class _Proposals:
    """Models of all laws of ``terms``, one after another; easy ones first."""

    def __init__(
        self,
        terms: Terms,
        schemas: Mapping[str, Json],
        level: int,
        deadline: float,
        clock: Clock,
    ) -> None:
        self._terms = terms
        self._schemas = schemas
        self._level = level
        self._deadline = deadline
        self._clock = clock
        self._solver = Solver()
        # How often more was left out than was looked at: from then on nothing is proven.
        self._guesses = 0
        #: Whether nothing is left, and nothing was left out that might have been an example.
        self.exhausted = False
        #: Why there are no more proposals.
        self.reason = "no example was confirmed, and none could be excluded"
        terms.finish()
        self.require(*terms.laws)

    def require(self, *laws: Formula) -> None:
        """Propose only what obeys ``laws``, as every example does."""
        for law in laws:
            self._solver.require(law)

    def leave_out(self, formula: Formula, *, wholly: bool) -> None:
        """Propose nothing of which ``formula`` holds.

        ``wholly``: all such values were looked at. Otherwise there may be an example among them.
        """
        self.require(negation(formula))
        self._guesses += not wholly

    def __iter__(self) -> Iterator[Readback]:
        assumed = [self._terms.easy]
        for _ in range(_MOST_PROPOSALS):
            if self._guesses > _MOST_GUESSES:
                return
            left = self._deadline - self._clock()
            answer = self._solver.model(*assumed, seconds=left) if left > 0 else No.ANSWER
            if answer is No.NOT_SO:
                assumed = []
            elif answer is No.NEVER:
                self.exhausted = not self._guesses
                return
            elif answer is No.ANSWER:
                in_time = self._clock() < self._deadline
                self.reason = "the solver cannot tell" if in_time else _TOO_LONG
                return
            else:
                try:
                    readback = Readback(self._terms, answer, self._compose)
                except NoTextError as error:
                    if not error.laws:
                        return
                    self.require(*error.laws)
                else:
                    yield readback

    def _compose(
        self, kind: Kind, schemas: list[Json], keys: dict[str, bool], others: list[Json]
    ) -> Json:
        return Composer(self._schemas, self._fill).compose(kind, schemas, keys, others, self._level)

    def _fill(self, schema: Json, level: int) -> Iterator[Json]:
        """A few values that fit ``schema``, each another one."""
        slots = max(1, min(longest_lists(self._schemas, schema), MOST_SPOKEN_OF))
        terms = Terms(Sizes(slots, 0))
        term = Admission(terms, self._schemas).value(schema)
        proposals = _Proposals(terms, self._schemas, level, self._deadline, self._clock)
        for _, readback in zip(range(_MOST_FILLINGS), proposals, strict=False):
            value = readback.value(term)
            yield value
            formula, _ = readback.exactly(term, value)
            proposals.leave_out(formula, wholly=False)
            proposals.require(*readback.laws)
