"""The door: whether guards can be true or false together (`docs/spec/authoring.md` 4)."""

from __future__ import annotations

import time
from typing import Final

from stateous.guards import Guard, Scope
from stateous.guards.nodes import Constant, walk
from stateous_compiler.exclusive.answers import Answer, Example, Never, Question, Undecided
from stateous_compiler.exclusive.world import World, readings_of

#: Wall clock, in all, for one question.
LIMIT_SECONDS: Final = 5.0

# `docs/spec/authoring.md` 4.2: pairs with texts from here on are not decided.
_FIRST_BEYOND: Final = "\U0002ff00"


def decide(question: Question, world: World) -> Answer:
    """The answer to ``question``, within five seconds.

    z3 is imported only when the question cannot be answered without it.
    """
    deadline = time.monotonic() + LIMIT_SECONDS
    guards = question.guards
    if any(guard.branches for guard in guards):
        return Undecided("a condition on branches is not compared with others")
    if not readings_of(*guards):
        return Example(question, ()) if question.is_met_by(Scope({})) else Never()
    if any(map(_reads_beyond, guards)):
        return Undecided("it compares with a text that holds a character from U+2FF00 on")
    from stateous_compiler.exclusive.search import search

    return search(question, world, deadline, time.monotonic)


def _reads_beyond(guard: Guard) -> bool:
    return any(
        isinstance(node, Constant)
        and isinstance(node.value, str)
        and any(letter >= _FIRST_BEYOND for letter in node.value)
        for node in walk(guard.tree)
    )
