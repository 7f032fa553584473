"""Whether a script parses: the body of a function, as it will run (`docs/spec/statechart.md` 11).

The script engine is loaded here, in the compiler, and by the processes that scripts run in; never in a
service.
"""

from __future__ import annotations

from typing import Final

from stateous.statechart.script_text import script_problem

#: What parsing a script may take, in bytes.
_MEMORY: Final = 64 * 1024 * 1024


def syntax_problem(source: str) -> tuple[int, str] | None:
    """The line and the sentence of what keeps ``source`` from being a script; None when it is one.

    ``source`` has LF line ends, and is at most 256 KiB long.
    """
    found = script_problem(source, _error_of)
    return None if found is None else (found.line, found.message)


def _error_of(text: str) -> str | None:
    import quickjs  # type: ignore[import-untyped]

    context = quickjs.Context()
    context.set_memory_limit(_MEMORY)
    try:
        context.eval(text)
    except quickjs.JSException as error:
        return str(error)
    return None
