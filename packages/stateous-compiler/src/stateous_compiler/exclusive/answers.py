"""What a question about guards is answered with (`docs/spec/authoring.md` 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from stateous.guards import Guard, Scope
from stateous.guards.nodes import ContextKey, Count, PayloadField
from stateous.json import Json
from stateous_compiler.exclusive.world import Reading, World


@dataclass(frozen=True, slots=True)
class Question:
    """Are there values on which all of ``true`` hold, and none of ``false``?"""

    true: tuple[Guard, ...]
    false: tuple[Guard, ...] = ()

    @property
    def guards(self) -> tuple[Guard, ...]:
        """All guards that it is about."""
        return (*self.true, *self.false)

    def is_met_by(self, scope: Scope) -> bool:
        """Whether the values of ``scope`` are such ones, as the control plane evaluates."""
        return all(guard.holds(scope) for guard in self.true) and not any(
            guard.holds(scope) for guard in self.false
        )


@dataclass(frozen=True, slots=True)
class Example:
    """Yes: on these values, which the evaluator and the schemas have confirmed.

    ``missing`` are those that read as null because they are not there.
    """

    question: Question
    values: tuple[tuple[Reading, Json], ...]
    missing: frozenset[Reading] = frozenset()


@dataclass(frozen=True, slots=True)
class Never:
    """No, proven."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """Neither could be established; ``reason`` is a clause that says why."""

    reason: str


Answer: TypeAlias = Example | Never | Undecided


def example_of(
    question: Question, world: World, values: Sequence[tuple[Reading, Json]]
) -> Example | None:
    """``values`` as an example, if each passes its run-time check and together they are one."""
    context: dict[str, Json] = {}
    payload: dict[str, Json] = {}
    counts: dict[str, int] = {}
    missing = set()
    for reading, value in values:
        if not world.admits(reading, value):
            if value is not None or not world.may_be_missing(reading):
                return None
            missing.add(reading)
            continue
        match reading:
            case Count(event):
                assert isinstance(value, int)
                counts[event] = value
            case ContextKey(key):
                context[key] = value
            case PayloadField(name):
                payload[name] = value
    if not question.is_met_by(Scope(context, payload, counts)):
        return None
    return Example(question, tuple(values), frozenset(missing))
