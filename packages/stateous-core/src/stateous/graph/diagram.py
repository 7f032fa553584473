"""A graph document as a Mermaid state diagram (`docs/spec/authoring.md` 9.4).

The compiler writes it beside the graph file, the command draws it from the served document; the same
document gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stateous.errors import GraphError
from stateous.graph.document import FlowSpec, GraphDocument, StateSpec, TransitionSpec
from stateous.graph.mermaid import HEAD, INDENT, OUTSIDE, Ids, composite_begin, declared, harmless
from stateous.names import END, ROUTABLE_OWN_EVENTS, START

#: What a diagram may hold. A child workflow is drawn wherever it runs, so that a small document can
#: unfold to a picture that nobody could draw.
MAX_STATES: Final = 10_000
MAX_LEVELS: Final = 32


def diagram_text(document: GraphDocument) -> str:
    """The whole text, which ends with a line break.

    Raises:
        GraphError: the document unfolds to more states or levels than can be drawn.
    """
    drawing = _Drawing(document)
    lines = drawing.flow(document.top, prefix="", level=1)
    return "".join(f"{line}\n" for line in [*HEAD, *lines])


class _Drawing:
    """One diagram on its way."""

    def __init__(self, document: GraphDocument) -> None:
        self._document = document
        self._states = 0
        self._ids = Ids()

    def flow(self, flow: FlowSpec, *, prefix: str, level: int) -> Iterator[str]:
        """The lines of one workflow: its states in order, then its transitions."""
        self._states += len(flow.states)
        if self._states > MAX_STATES or level > MAX_LEVELS:
            raise GraphError(
                f"the workflow {self._document.workflow!r} is too large for a diagram: with its"
                f" children it has over {MAX_STATES} states or {MAX_LEVELS} levels"
            )
        indent = INDENT * level
        ids = {START: OUTSIDE, END: OUTSIDE}
        for state in flow.states.values():
            ids[state.name] = self._ids.new(
                state.name, prefix=prefix, composite=bool(state.parallel)
            )
            yield from self._state(state, ids[state.name], level=level)
        for transition in flow.transitions:
            label = _label(transition)
            edge = f"{ids[transition.source]} --> {ids[transition.target]}"
            yield f"{indent}{edge}: {label}" if label else f"{indent}{edge}"

    def _state(self, state: StateSpec, own: str, *, level: int) -> Iterator[str]:
        if not state.parallel:
            yield f"{INDENT * level}{declared(state.name, own)}"
            return
        yield f"{INDENT * level}{composite_begin(state.name, own)}"
        for number, child in enumerate(state.parallel):
            if number:
                yield f"{INDENT * (level + 1)}--"
            yield from self._region(self._document.workflows[child], f"{own}__", level=level + 1)
        yield f"{INDENT * level}}}"

    def _region(self, child: FlowSpec, prefix: str, *, level: int) -> Iterator[str]:
        # A region has no name; the child's stands on a composite of its own inside.
        own = self._ids.new(child.name, prefix=prefix, composite=True)
        yield f"{INDENT * level}{composite_begin(child.name, own)}"
        yield from self.flow(child, prefix=f"{own}__", level=level + 1)
        yield f"{INDENT * level}}}"


def _label(transition: TransitionSpec) -> str:
    event = transition.event or ""
    parts = [f"({event})" if event in ROUTABLE_OWN_EVENTS else event]
    if transition.when is not None:
        parts.append(f"[{harmless(transition.when.strip())}]")
    elif transition.otherwise:
        parts.append("[otherwise]")
    return " ".join(filter(None, parts))
