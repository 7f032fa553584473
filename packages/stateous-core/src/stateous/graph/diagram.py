"""A graph document as a Mermaid state diagram (`docs/spec/authoring.md` 9.4).

The compiler writes it beside the graph file, the command draws it from the served document; the same
document gives the same text. Mermaid's grammar is a loose one: words that it takes for its own, and
characters of a guard that would end a label or change its look, are written around here. What the
reader of the picture sees is the name and the guard as the author wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from stateous.errors import GraphError
from stateous.graph.document import FlowSpec, GraphDocument, StateSpec, TransitionSpec
from stateous.names import END, ROUTABLE_OWN_EVENTS, START

#: What a diagram may hold. A child workflow is drawn wherever it runs, so that a small document can
#: unfold to a picture that nobody could draw.
MAX_STATES: Final = 10_000
MAX_LEVELS: Final = 32

_INDENT: Final = "    "
#: How Mermaid writes START and END.
_OUTSIDE: Final = "[*]"

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


def diagram_text(document: GraphDocument) -> str:
    """The whole text, which ends with a line break.

    Raises:
        GraphError: the document unfolds to more states or levels than can be drawn.
    """
    drawing = _Drawing(document)
    lines = drawing.flow(document.top, prefix="", level=1)
    return "".join(f"{line}\n" for line in ["stateDiagram-v2", f"{_INDENT}direction LR", *lines])


class _Drawing:
    """One diagram on its way. It keeps the ids that are taken, so that no two states share one."""

    def __init__(self, document: GraphDocument) -> None:
        self._document = document
        self._states = 0
        # Mermaid gives the START and END of a composite, and of the whole, ids made from its own.
        self._taken = {"root", "root_start", "root_end"}

    def flow(self, flow: FlowSpec, *, prefix: str, level: int) -> Iterator[str]:
        """The lines of one workflow: its states in order, then its transitions."""
        self._states += len(flow.states)
        if self._states > MAX_STATES or level > MAX_LEVELS:
            raise GraphError(
                f"the workflow {self._document.workflow!r} is too large for a diagram: with its"
                f" children it has over {MAX_STATES} states or {MAX_LEVELS} levels"
            )
        indent = _INDENT * level
        ids = {START: _OUTSIDE, END: _OUTSIDE}
        for state in flow.states.values():
            ids[state.name] = self._id(prefix, state.name, composite=bool(state.parallel))
            yield from self._state(state, ids[state.name], level=level)
        for transition in flow.transitions:
            label = _label(transition)
            edge = f"{ids[transition.source]} --> {ids[transition.target]}"
            yield f"{indent}{edge}: {label}" if label else f"{indent}{edge}"

    def _state(self, state: StateSpec, own: str, *, level: int) -> Iterator[str]:
        if not state.parallel:
            yield f"{_INDENT * level}{_declared(state.name, own)}"
            return
        yield f"{_INDENT * level}{_composite(state.name, own)}"
        for number, child in enumerate(state.parallel):
            if number:
                yield f"{_INDENT * (level + 1)}--"
            yield from self._region(self._document.workflows[child], f"{own}__", level=level + 1)
        yield f"{_INDENT * level}}}"

    def _region(self, child: FlowSpec, prefix: str, *, level: int) -> Iterator[str]:
        # A region has no name; the child's stands on a composite of its own inside.
        own = self._id(prefix, child.name, composite=True)
        yield f"{_INDENT * level}{_composite(child.name, own)}"
        yield from self.flow(child, prefix=f"{own}__", level=level + 1)
        yield f"{_INDENT * level}}}"

    def _id(self, prefix: str, name: str, *, composite: bool) -> str:
        wanted = prefix + name.replace("-", "_")
        free, number = wanted, 1
        while free in _KEYWORDS or not self._taken.isdisjoint(_ids_of(free, composite)):
            number += 1
            free = f"{wanted}_{number}"
        self._taken |= _ids_of(free, composite)
        return free


def _ids_of(own: str, composite: bool) -> set[str]:
    return {own, f"{own}_start", f"{own}_end"} if composite else {own}


def _declared(name: str, own: str) -> str:
    return own if name == own else f'state "{name}" as {own}'


def _composite(name: str, own: str) -> str:
    return f"state {own} {{" if name == own else f"{_declared(name, own)} {{"


def _label(transition: TransitionSpec) -> str:
    event = transition.event or ""
    parts = [f"({event})" if event in ROUTABLE_OWN_EVENTS else event]
    if transition.when is not None:
        parts.append(f"[{_harmless(transition.when.strip())}]")
    elif transition.otherwise:
        parts.append("[otherwise]")
    return " ".join(filter(None, parts))


def _harmless(guard: str) -> str:
    """``guard`` on one line, as a label shows it: what could mean something is an entity code."""
    one_line = re.sub(r"[ \t\n\r\f]+", " ", guard)
    printable = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in one_line
    )
    return _MEANINGFUL.sub(_entities, printable)


def _entities(match: re.Match[str]) -> str:
    return "".join(f"#{ord(char)};" for char in match[0])
