"""Transitions and sends, from the form that people write to the normal form.

`docs/spec/statechart.md` 1.3 and 2. A part that cannot be understood is a problem, and something
harmless stands in its place, so that what is around it is still checked.
"""

from __future__ import annotations

from stateous.statechart.document import Path
from stateous.statechart.expressions import ExpressionError
from stateous.statechart.fields import shown
from stateous.statechart.templates import sole_expression
from stateous_compiler.statechart.gathering import Gathering
from stateous_compiler.statechart.nodes import (
    Items,
    Leaf,
    Member,
    Members,
    Node,
    is_null,
    plain,
    text_of,
)


class Rules:
    """Lowers the rules of one file."""

    def __init__(self, gathering: Gathering, file: str) -> None:
        self._gathering = gathering
        self._file = file

    def on(self, source: Node, path: Path) -> Node | None:
        """``on`` of a state; None when it has no event."""
        if not isinstance(source, Members):
            self._not("'on' must be a mapping of events", source, path)
            return None
        lowered = {
            event: Member(place, self._transitions(node, (*path, event)))
            for event, (place, node) in source.members.items()
        }
        return Members(source.place, lowered) if lowered else None

    def around(self, source: Node, path: Path) -> Node | None:
        """``entry`` or ``exit``, which becomes its list of sends; None when there is none."""
        if not isinstance(source, Members):
            self._not(f"{path[-1]!r} must be a mapping with 'send'", source, path)
            return None
        for key, (place, _) in source.members.items():
            if key != "send":
                self._gathering.add(
                    "unknown-field", (*path, key), f"{path[-1]!r} has no field {shown(key)}", place
                )
        send = source.get("send")
        if send is None:
            self._not(f"{path[-1]!r} must have 'send'", source, path)
            return None
        return self._sends(send, path)

    def _transitions(self, source: Node, path: Path) -> Node:
        listed = source.items if isinstance(source, Items) else (source,)
        lowered = [self._transition(each, (*path, at)) for at, each in enumerate(listed)]
        return Items(source.place, tuple(lowered))

    def _transition(self, source: Node, path: Path) -> Node:
        match source:
            case Leaf(place=place, value=str()):
                return Members(place, {"go": Member(place, source)})
            case Members():
                return self._in_full(source, path)
            case _:
                self._not(
                    "a transition must be the name of a state, a mapping or a list of those",
                    source,
                    path,
                )
                return Members(source.place, {})

    def _in_full(self, source: Members, path: Path) -> Node:
        lowered: dict[str, Member] = {}
        for key, (place, node) in source.members.items():
            kept: Node | None = node
            if key == "when":
                kept = self._when(node, (*path, key))
            elif key == "send":
                kept = self._sends(node, (*path, key))
            if kept is not None:
                lowered[key] = Member(place, kept)
        return Members(source.place, lowered)

    def _when(self, source: Node, path: Path) -> Node | None:
        text = text_of(source)
        if text is None:
            return source
        try:
            expression = sole_expression(text)
        except ExpressionError as error:
            self._gathering.add("expression", path, str(error), source.place)
            return None
        if expression is None:
            self._gathering.add(
                "when-not-expression",
                path,
                f"a condition is one expression, '${{…}}', and not {shown(text)}",
                source.place,
            )
            return None
        return Leaf(source.place, expression)

    def _sends(self, source: Node, path: Path) -> Node | None:
        match source:
            case Items(items=items):
                listed = items
            case Members():
                listed = (source,)
            case _:
                self._not("'send' must be a send or a list of sends", source, path)
                return None
        lowered = [self._send(each, (*path, at)) for at, each in enumerate(listed)]
        return Items(source.place, tuple(lowered)) if lowered else None

    def _send(self, source: Node, path: Path) -> Node:
        if not isinstance(source, Members):
            return source
        lowered: dict[str, Member] = {}
        for key, (place, node) in source.members.items():
            if key == "to":
                lowered[key] = Member(place, self._to(node, (*path, key)))
            elif not (key == "data" and is_null(node)):
                lowered[key] = Member(place, node)
        return Members(source.place, lowered)

    def _to(self, source: Node, path: Path) -> Node:
        if not isinstance(source, Members) or "machine" not in source.members:
            return source
        place, node = source.members["machine"]
        named = self._gathering.machine(node, self._file, (*path, "machine"))
        return Members(source.place, {**source.members, "machine": Member(place, named)})

    def _not(self, what: str, source: Node, path: Path) -> None:
        text = f"{what}, not {shown(plain(source))}"
        self._gathering.add("bad-value", path, text, source.place)
