"""A parsed guard: its text, its tree, what it reads, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stateous.guards.evaluate import NO_ENTRY, Condition, Scope, compile_condition
from stateous.guards.nodes import (
    BranchContext,
    BranchPayload,
    ContextKey,
    Count,
    Expression,
    PayloadField,
    Quantifier,
    walk,
)


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on a transition, made by :func:`stateous.guards.parse_guard`.

    ``text`` is the author's, outer blanks included: it is what the graph document keeps. What the
    guard reads stands in the order of the text, each name once. ``payload_fields`` are those of
    the routed event; a child's are in ``branch_payload_fields``.
    """

    text: str
    tree: Expression = field(repr=False)
    context_keys: tuple[str, ...] = field(init=False, repr=False, compare=False)
    payload_fields: tuple[str, ...] = field(init=False, repr=False, compare=False)
    events: tuple[str, ...] = field(init=False, repr=False, compare=False)
    branches: bool = field(init=False, repr=False, compare=False)
    branch_context_fields: tuple[str, ...] = field(init=False, repr=False, compare=False)
    branch_payload_fields: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _condition: Condition = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        nodes = tuple(walk(self.tree))
        reads: dict[str, object] = {
            "context_keys": _once(node.key for node in nodes if isinstance(node, ContextKey)),
            "payload_fields": _once(node.field for node in nodes if isinstance(node, PayloadField)),
            "events": _once(node.event for node in nodes if isinstance(node, Count)),
            "branches": any(isinstance(node, Quantifier) for node in nodes),
            "branch_context_fields": _once(
                node.field for node in nodes if isinstance(node, BranchContext)
            ),
            "branch_payload_fields": _once(
                node.field for node in nodes if isinstance(node, BranchPayload)
            ),
            "_condition": compile_condition(self.tree),
        }
        for name, value in reads.items():
            object.__setattr__(self, name, value)

    def holds(self, scope: Scope) -> bool:
        """Whether the guard is true on ``scope``. Never raises on JSON values."""
        return self._condition(scope, NO_ENTRY)


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
