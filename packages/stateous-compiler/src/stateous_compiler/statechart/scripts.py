"""Whether a script parses: the body of a function, as it will run (`docs/spec/statechart.md` 11).

The script engine is loaded here, in the compiler, and by runners of scripts; never in a service.

A body could close the function itself and go on outside of it, as ``}); steal(); (function () {``
does. So it has to parse in two places: in a function that is a statement, behind which the next
token begins a statement, and in a method, behind which it is ``,`` or ``}``. No token is both.
The engine parses all of a text before it runs any of it, and the first thing that the texts here do
is throw: nothing of the body is ever run.
"""

from __future__ import annotations

import re
from typing import Final

_PARAMETERS: Final = "input, emit, require"
_PARSED: Final = "every line of it parses"
_THROW: Final = f'throw "{_PARSED}";\n'
# Two lines stand before the body, in both.
_STATEMENT: Final = (f"{_THROW}function script({_PARAMETERS}) {{\n", "\n}")
_METHOD: Final = (f"{_THROW}({{script({_PARAMETERS}) {{\n", "\n}})")
_LINES_BEFORE: Final = 2
_LINE: Final = re.compile(r"<input>:(\d+)")
#: What parsing a script may take, in bytes.
_MEMORY: Final = 64 * 1024 * 1024


def syntax_problem(source: str) -> tuple[int, str] | None:
    """The line and the sentence of what keeps ``source`` from being a script; None when it is one.

    ``source`` has LF line ends, and is at most 256 KiB long.
    """
    if "\x00" in source:
        return source.count("\n", 0, source.index("\x00")) + 1, "U+0000 may not stand in a script"
    told = _refusal(source, _STATEMENT)
    if told is not None:
        return told
    closed = _refusal(source, _METHOD)
    if closed is not None:
        return closed[0], "the script closes the function that it is the body of"
    return None


def _refusal(source: str, around: tuple[str, str]) -> tuple[int, str] | None:
    import quickjs  # type: ignore[import-untyped]

    context = quickjs.Context()
    context.set_memory_limit(_MEMORY)
    before, after = around
    try:
        context.eval(f"{before}{source}{after}")
    except quickjs.JSException as error:
        told = str(error)
        if told.split("\n")[0] == _PARSED:
            return None
        line = _LINE.search(told)
        number = int(line[1]) - _LINES_BEFORE if line is not None else 1
        # What is missing at the end is missing behind the last line that has something.
        last = source.rstrip().count("\n") + 1
        return min(max(1, number), last), told.split("\n")[0]
    raise AssertionError("the text throws before anything else")
