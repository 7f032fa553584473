"""A script, run in this process by quickjs-ng. Loaded in the fork server's children only."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

# The package `quickjs` around it starts a thread when it is imported, which a fork would not bring along.
import _quickjs  # type: ignore[import-not-found]

from stateous.statechart.script_text import (
    function_text,
    line_in,
    line_with,
    message_of,
    script_problem,
)

# For calls within calls, in bytes; far below what the system gives a process.
_STACK: Final = 768 * 1024
# What it may take to tell of a failure when the script has used up all it had.
_RESERVE: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a script may use: memory, and each value as JSON, in bytes; and how often it may emit."""

    memory: int
    value: int
    emitted: int


class Answers(Protocol):
    """Where a script's answers go. None of the methods raises; the last two may end the process."""

    def emitted(self, name: str, value: str) -> str | None:
        """Take a name and a value as JSON; None, or why the name cannot be used."""

    def failed(self, message: str, line: int | None, status: str = "failed") -> None:
        """Take the failure, which is the last answer."""

    def done(self, output: str) -> None:
        """Take the output as JSON, which is the last answer."""


def run(source: str, given: str, bounds: Bounds, prelude: str, answers: Answers) -> None:
    """Run a script whole: what it says, and how it ends, goes to ``answers``.

    ``given`` is the input as JSON, ``prelude`` the text of `prelude.js`.
    """
    problem = script_problem(source, lambda text: _error_of(_context(bounds), text))
    if problem is not None:
        return answers.failed(problem.message, problem.line)
    context = _context(bounds)

    def over(message: str, stack: str) -> None:
        answers.failed(message, line_in(stack, source) or line_with(source, "return"))

    step = context.eval(prelude)(
        _as_value(context, "sent", answers.emitted),
        _as_value(context, "over", over),
        bounds.value,
        bounds.emitted,
    )
    try:
        word = step("run", context.eval(function_text(source)), given)
        if not word:
            while context.execute_pending_job():
                pass
            if not step("threw later"):
                return answers.done(step("output"))
            word = "throw"
        full = context.memory()["malloc_size"] > bounds.memory / 2
        context.set_memory_limit(bounds.memory + _RESERVE)
        message, stack, classes = (json.loads(step(it)) for it in ("message", "stack", "classes"))
        if message == "null" and (full or "throw" not in source):
            # Where there is no memory for the error that says so, the engine throws null.
            message = "out of memory"
        line = line_in(stack, source, made_by=classes.split()) or line_with(source, word)
        return answers.failed(message, line, "denied" if step("denied") else "failed")
    except _quickjs.JSException as error:
        told = str(error)
        return answers.failed(message_of(told), line_in(told, source) or 1)


def _context(bounds: Bounds) -> _quickjs.Context:
    context = _quickjs.Context()
    context.set_memory_limit(bounds.memory)
    context.set_max_stack_size(_STACK)
    return context


def _error_of(context: _quickjs.Context, text: str) -> str | None:
    try:
        context.eval(text)
    except _quickjs.JSException as error:
        return str(error)
    return None


def _as_value(
    context: _quickjs.Context, name: str, function: Callable[..., object]
) -> _quickjs.Object:
    """``function`` as a value of the engine, which no global names."""
    context.add_callable(name, function)
    value = context.get(name)
    context.eval(f"delete globalThis.{name}")
    return value
