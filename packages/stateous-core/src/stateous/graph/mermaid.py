"""Mermaid's state diagrams: ids, labels and composites, written so that they mean what they say.

Mermaid's grammar is a loose one: words that it takes for its own, and characters that would end a
label or change its look, are written around here. What the reader of the picture sees is the name
and the condition as the author wrote them.
"""

from __future__ import annotations

import re
from typing import Final

INDENT: Final = "    "
#: How Mermaid writes the beginning and the end.
OUTSIDE: Final = "[*]"

#: The first lines of every diagram.
HEAD: Final = ("stateDiagram-v2", f"{INDENT}direction LR")

#: Words that begin a statement of another kind, in any case, when they stand where an id may.
_KEYWORDS: Final = frozenset(
    [
        "acctitle",
        "accdescr",
        "as",
        "class",
        "classdef",
        "click",
        "default",
        "direction",
        "hide",
        "href",
        "note",
        "scale",
        "state",
        "statediagram",
        "style",
    ]
)

# Each of these ends a label, or makes Mermaid read more into it than text: comments, directives,
# entities, markdown, formulas, links.
_MEANINGFUL: Final = re.compile(
    r"""
      [#;:"%{}&*`~$@\\]
    | < (?= [A-Za-z/!?] )             # the beginning of a tag
    | (?<= \] ) \(                    # a link
    | (?<! [A-Za-z0-9_] ) _+          # emphasis, which inside a word is none
    | _+ (?! [A-Za-z0-9_] )
    | (?<= www ) \.
    | (?<= direction ) [ ] (?= (?: tb | bt | rl | lr ) )
    """,
    re.VERBOSE | re.IGNORECASE,
)


class Ids:
    """The ids of one diagram. It keeps those that are taken, so that no two states share one."""

    def __init__(self) -> None:
        # Mermaid gives the START and END of a composite, and of the whole, ids made from its own.
        self._taken = {"root", "root_start", "root_end"}

    def new(self, name: str, *, prefix: str = "", composite: bool) -> str:
        """A free id that looks like ``name``."""
        wanted = prefix + name.replace("-", "_")
        free, number = wanted, 1
        while free.lower() in _KEYWORDS or not self._taken.isdisjoint(_ids_of(free, composite)):
            number += 1
            free = f"{wanted}_{number}"
        self._taken |= _ids_of(free, composite)
        return free


def _ids_of(own: str, composite: bool) -> set[str]:
    return {own, f"{own}_start", f"{own}_end"} if composite else {own}


def declared(name: str, own: str) -> str:
    """The line that declares a state called ``name`` with the id ``own``."""
    return own if name == own else f'state "{name}" as {own}'


def composite_begin(name: str, own: str) -> str:
    """The line that begins a state with others inside; ``}`` ends it."""
    return f"state {own} {{" if name == own else f"{declared(name, own)} {{"


def harmless(guard: str) -> str:
    """``guard`` on one line, as a label shows it: what could mean something is an entity code."""
    one_line = re.sub(r"[ \t\n\r\f]+", " ", guard)
    printable = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in one_line
    )
    return _MEANINGFUL.sub(_entities, printable)


def _entities(match: re.Match[str]) -> str:
    return "".join(f"#{ord(char)};" for char in match[0])
