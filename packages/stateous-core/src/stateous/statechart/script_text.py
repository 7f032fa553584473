"""A script's text as a function, and what is wrong with it (pure: an engine is lent to it).

**A script is the body of a function, and nothing else** (`docs/spec/statechart.md` 11). JavaScript
engines have no way to parse a body alone, so the text of a function is made around it, and a body such
as ``}); evil(function () {`` would close that function and go on outside of it. So it has to parse in two
places: in a function that is a statement, behind which the next token begins a statement, and in a
method, behind which it is ``,`` or ``}``. No token is both. An engine parses all of a text before it
runs any of it, and the first thing that these texts do is throw.

**Lines.** The text begins so many lines down that whatever else has a place in a stack (the code around
the script, code that the script makes of texts) stands above it.

Only the standard library is imported: the processes that scripts run in load this module too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

#: Lines above the script in every text that is made of it.
LINES_ABOVE: Final = 10_000

#: Evaluates a text in quickjs-ng as a program: the error that it ends with, as the engine has it
#: (the name, the message, and below the stack); None when it ends without one.
Evaluate = Callable[[str], "str | None"]

_PARAMETERS: Final = "input,emit,require"
_SYNTAX: Final = "SyntaxError: "
_PLACE: Final = re.compile(r"<input>:(\d+)(?::(\d+))?")
_FRAME: Final = re.compile(r"at (?:([^\n]*) \()?<input>:(\d+)")


@dataclass(frozen=True, slots=True)
class ScriptProblem:
    """Why a text is not the body of a function. ``line`` counts from 1."""

    line: int
    message: str


def function_text(source: str) -> str:
    """A program whose value is the function that the script is the body of.

    It must not be evaluated before :func:`script_problem` has found nothing.
    """
    return f"{_above()}(function({_PARAMETERS}){{{source}\n}})"


def script_problem(source: str, evaluate: Evaluate) -> ScriptProblem | None:
    """What is wrong with the text of a script; None when it is the body of a function.

    Nothing of it is run: what is evaluated throws before it comes to the script. But functions of a
    text that left its own are declared, so ``evaluate`` is not to be where the script runs later.
    """
    if "\x00" in source:
        return ScriptProblem(source[: source.index("\x00")].count("\n") + 1, "it holds U+0000")
    told = evaluate(f"throw 0;{_above()}function script({_PARAMETERS}){{{source}\n}}") or ""
    if not _threw_zero(told):
        return ScriptProblem(line_in(told, source) or 1, message_of(told).removeprefix(_SYNTAX))
    told = evaluate(f"throw 0;{_above()}({{script({_PARAMETERS}){{{source}\n}}}})") or ""
    if not _threw_zero(told):
        return ScriptProblem(
            line_in(told, source) or 1, "the script closes the function that it is the body of"
        )
    return None


def line_in(stack: str, source: str, *, made_by: Collection[str] = ()) -> int | None:
    """The innermost line of the script that a stack names, at most its last; None without one.

    ``made_by`` are names of the error's own classes: an error is where it is made, and not where its
    class is, so their constructors do not count as long as they are innermost.
    """
    # What is missing at the end is missing behind the last line that has something.
    last = len(source.rstrip().splitlines()) or 1
    first = None
    for function, row in _FRAME.findall(stack):
        line = int(row) - LINES_ABOVE
        if line > 0:
            first = first or min(line, last)
            if function not in made_by:
                return min(line, last)
    return first


def line_with(source: str, word: str) -> int:
    """Where a value without a place was thrown or returned, as far as the text can tell.

    It is the first line that has a ``throw``, or the last that has a ``return``; 1 when none has.
    """
    found = [
        number
        for number, text in enumerate(source.split("\n"), 1)
        if re.search(rf"\b{word}\b", text)
    ]
    if not found:
        return 1
    return found[-1] if word == "return" else found[0]


def message_of(told: str) -> str:
    """An error as the engine has it, without its stack."""
    return told.partition("\n    at ")[0].rstrip("\n")


def _threw_zero(told: str) -> bool:
    return told.startswith("0\n") or told == "0"


def _above() -> str:
    return "\n" * LINES_ABOVE
