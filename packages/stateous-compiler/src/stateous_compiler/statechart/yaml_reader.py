"""Reading a chart's YAML, as `docs/spec/statechart.md` 1 restricts it.

ruamel.yaml makes events of the text; the tree is built here, so that nothing of YAML is let through
that a chart does not have. A value under an anchor is read once and shared, which is why its size
and depth are counted where it is used: a few lines of aliases can stand for gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import Scanner

from stateous.json import write_json
from stateous.limits import MAX_CHART_BYTES, MAX_JSON_DEPTH
from stateous.visible import visible
from stateous_compiler.statechart.nodes import Items, Leaf, Member, Members, Node, Place
from stateous_compiler.statechart.problems import ChartProblem
from stateous_compiler.statechart.scalars import resolve

_MERGE: Final = "<<"
_LONE: Final = re.compile("[\ud800-\udfff]")


def read_yaml(text: str, file: str) -> tuple[Node | None, list[ChartProblem]]:
    """The tree of ``text``, whose lines belong to ``file``, and what section 1 refuses of it.

    After a problem the tree is what the file seems to mean, so that its other problems can be
    told too; None when nothing can be told.
    """
    builder = _Builder(file)
    try:
        return builder.document(_events(_with_line_feeds(text), file)), builder.problems
    except _Unreadable as error:
        return None, [*builder.problems, error.problem]


class _Unreadable(Exception):
    def __init__(self, code: str, place: Place, text: str) -> None:
        super().__init__(text)
        self.problem = ChartProblem(code, place, "", text)


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")


def _with_pairs(text: str) -> str:
    """JSON writes a character of the upper planes as two escapes; together they are one."""
    if not _LONE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


class _Scanner(Scanner):
    """ruamel's, which outside of { } and [ ] knows no tab at all: here one may end a line, also
    before a comment, and stand behind the ``:`` of a key. It indents nothing."""

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while not self.flow_level and self.reader.peek() == "\t" and self._separates():
            while self.reader.peek() in " \t":
                self.reader.forward()
            super().scan_to_next_token()

    def _separates(self) -> bool:
        at = self.reader.pointer
        before = self.reader.buffer[at - self.reader.column : at]
        length = 1
        while self.reader.peek(length) in " \t":
            length += 1
        return before.rstrip(" ").endswith(":") or self.reader.peek(length) in "#\n\0"


def _events(text: str, file: str) -> Iterator[Any]:
    yaml = YAML(typ="safe", pure=True)
    yaml.Scanner = _Scanner
    try:
        yield from yaml.parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise _Unreadable("yaml", Place(file, line), _sentence(error, text)) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        found = text[error.position : error.position + 1]
        told = f"U+{ord(found):04X} may not stand in YAML" if found else "this is not YAML"
        raise _Unreadable("yaml", Place(file, line), told) from None
    except (YAMLError, ValueError, OverflowError, AssertionError) as error:
        # ruamel asserts that it knows the version of a `%YAML` line.
        raise _Unreadable("yaml", Place(file, 1), visible(str(error).split("\n")[0])) from None


def _sentence(error: MarkedYAMLError, text: str) -> str:
    told = ", ".join(filter(None, (error.context, error.problem))) or "this is not YAML"
    mark = error.problem_mark
    if mark is not None and text[mark.index : mark.index + 1] == "\t":
        told += "; indent with spaces"
    if mark is not None and text[max(0, mark.index - 1) : mark.index + 1] == "${":
        told += "; inside { } a value with ${…} must stand in quotes"
    return told


@dataclass(frozen=True, slots=True)
class _Built:
    """A node, with what it would take written out: bytes of JSON, and levels."""

    node: Node
    size: int
    depth: int
    quoted: bool = False


@dataclass(slots=True)
class _Open:
    """A list or mapping that is not closed yet."""

    place: Place
    anchor: str | None
    mapping: bool
    items: list[Node] = field(default_factory=list)
    members: dict[str, Member] = field(default_factory=dict)
    #: The key whose value comes next, with its place; a key that counts for nothing is None.
    key: tuple[str | None, Place] | None = None
    size: int = 2
    depth: int = 0


class _Builder:
    def __init__(self, file: str) -> None:
        self.problems: list[ChartProblem] = []
        self._file = file
        self._stack: list[_Open] = []
        self._anchors: dict[str, _Built | None] = {}
        self._root: Node | None = None
        self._documents = 0

    def document(self, events: Iterator[Any]) -> Node:
        for event in events:
            self._take(event)
        if self._root is None:
            raise _Unreadable("yaml", Place(self._file, 1), "the file has no document in it")
        return self._root

    def _take(self, event: Any) -> None:
        place = Place(self._file, event.start_mark.line + 1)
        match event:
            case DocumentStartEvent():
                self._begin(event, place)
            case AliasEvent():
                self._place(self._aliased(event.anchor, place), place)
            case ScalarEvent():
                self._no_tag(event, place)
                built = self._scalar(event, place)
                self._anchor(event.anchor, built)
                self._place(built, place)
            case MappingStartEvent() | SequenceStartEvent():
                self._no_tag(event, place)
                self._open(event, place)
            case MappingEndEvent() | SequenceEndEvent():
                self._close()
            case _:
                pass

    def _begin(self, event: DocumentStartEvent, place: Place) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _Unreadable("yaml", place, "a file has one document; here begins another one")
        if event.version is not None and tuple(event.version) != (1, 2):
            self._problem(place, "a chart is written in YAML 1.2")

    def _no_tag(self, event: NodeEvent, place: Place) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._problem(place, f"tags are not allowed: {visible(str(tag))!r:.80}")

    def _scalar(self, event: ScalarEvent, place: Place) -> _Built:
        text = _with_pairs(event.value)
        if "\x00" in text or _LONE.search(text):
            self._problem(place, "a text holds U+0000 or half a character")
            text = _LONE.sub("", text.replace("\x00", ""))
        value: bool | int | float | str | None = text
        if event.style is None:
            try:
                value = resolve(text)
            except ValueError as error:
                self._problem(place, str(error))
        return _Built(
            Leaf(place, value), len(write_json(value).encode()), 0, event.style is not None
        )

    def _aliased(self, anchor: str, place: Place) -> _Built:
        if anchor not in self._anchors:
            raise _Unreadable("yaml", place, f"no value has the anchor '&{visible(anchor)}'")
        built = self._anchors[anchor]
        if built is None:
            raise _Unreadable("yaml", place, f"'*{visible(anchor)}' stands inside its own value")
        return built

    def _anchor(self, anchor: str | None, built: _Built | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = built

    def _open(self, event: MappingStartEvent | SequenceStartEvent, place: Place) -> None:
        if len(self._stack) >= MAX_JSON_DEPTH:
            self._too_deep(place)
        self._anchor(event.anchor, None)
        self._stack.append(_Open(place, event.anchor, isinstance(event, MappingStartEvent)))

    def _close(self) -> None:
        closed = self._stack.pop()
        node: Node = (
            Members(closed.place, closed.members)
            if closed.mapping
            else Items(closed.place, tuple(closed.items))
        )
        built = _Built(node, closed.size, closed.depth + 1)
        self._anchor(closed.anchor, built)
        self._place(built, closed.place)

    def _place(self, built: _Built, place: Place) -> None:
        """Put a node where it stands: into what is open, or as the document."""
        if not self._stack:
            self._root = built.node
            return
        into = self._stack[-1]
        if into.mapping and into.key is None:
            into.key = (self._key(built, place), place)
            return
        into.size += built.size + 1
        into.depth = max(into.depth, built.depth)
        if len(self._stack) + built.depth > MAX_JSON_DEPTH:
            self._too_deep(place)
        if into.size > MAX_CHART_BYTES:
            raise _Unreadable(
                "too-large", place, f"with this the file is over {MAX_CHART_BYTES} bytes"
            )
        if into.key is None:
            into.items.append(built.node)
            return
        (key, key_place), into.key = into.key, None
        if key is None:
            return
        into.size += len(write_json(key).encode()) + 1
        if key in into.members:
            self._problem(key_place, f"the key {key!r:.80} is there twice")
        else:
            into.members[key] = Member(key_place, built.node)

    def _key(self, built: _Built, place: Place) -> str | None:
        node = built.node
        if isinstance(node, Leaf) and node.value == _MERGE and not built.quoted:
            self._problem(place, "merge keys ('<<') are not allowed")
        elif isinstance(node, Leaf) and isinstance(node.value, str):
            return node.value
        else:
            shown = "a list or mapping"
            if isinstance(node, Leaf):
                shown = f"{write_json(node.value):.80}: put it in quotes"
            self._problem(place, f"a key must be a text, not {shown}")
        return None

    def _too_deep(self, place: Place) -> None:
        text = f"values nest more than {MAX_JSON_DEPTH} levels deep"
        raise _Unreadable("too-large", place, text)

    def _problem(self, place: Place, text: str) -> None:
        self.problems.append(ChartProblem("yaml", place, "", text))
