"""A YAML file as a tree that knows its lines.

Lowering makes trees of the same kind, so that a place in the graph document leads back to the line
that it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from stateous.json import Json
from stateous.statechart.document import Path


class Place(NamedTuple):
    """A line of a file, counted from 1; prints as ``<file>:<line>``."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text, a number, true, false or null."""

    place: Place
    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    place: Place
    items: tuple[Node, ...]


class Member(NamedTuple):
    """One value of a mapping; ``place`` is its key's."""

    place: Place
    node: Node


@dataclass(frozen=True, slots=True)
class Members:
    """A mapping, in the order of the file."""

    place: Place
    members: Mapping[str, Member]

    def get(self, key: str) -> Node | None:
        """The value under ``key``; None when there is no such key."""
        found = self.members.get(key)
        return None if found is None else found.node


Node: TypeAlias = Leaf | Items | Members


def plain(node: Node) -> Json:
    """The value without its places."""
    match node:
        case Leaf(value=value):
            return value
        case Items(items=items):
            return [plain(item) for item in items]
        case Members(members=members):
            return {key: plain(member.node) for key, member in members.items()}


def place_of(root: Node, path: Path) -> Place:
    """Where ``path`` begins, or the innermost part of it that is there."""
    node, place = root, root.place
    for step in path:
        match node, step:
            case Members(members=members), str() if step in members:
                place, node = members[step]
            case Items(items=items), int() if step < len(items):
                node = items[step]
                place = node.place
            case _:
                return place
    return place


def text_of(node: Node | None) -> str | None:
    """The text that ``node`` is; None when it is anything else."""
    return node.value if isinstance(node, Leaf) and isinstance(node.value, str) else None


def is_null(node: Node | None) -> bool:
    """Whether ``node`` is there, and null."""
    return isinstance(node, Leaf) and node.value is None
