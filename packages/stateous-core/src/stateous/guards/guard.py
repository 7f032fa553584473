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

    ``text`` is the author's, outer blanks included: it is what the graph document keeps. The names
    that the guard reads stand in the order of the text, each once: keys of the context, fields of
    the routed event's payload, counted events, and inside quantifiers (``branches`` tells whether
    there is one) fields of the children's contexts and payloads.
    """

    text: str
    tree: Expression = field(repr=False)
    context_keys: tuple[str, ...]
    payload_fields: tuple[str, ...]
    events: tuple[str, ...]
    branches: bool
    branch_context_fields: tuple[str, ...]
    branch_payload_fields: tuple[str, ...]
    condition: Condition = field(repr=False, compare=False)

    def holds(self, scope: Scope) -> bool:
        """Whether the guard is true on ``scope``. Never raises on JSON values."""
        return self.condition(scope, NO_ENTRY)


def guard_of(text: str, tree: Expression) -> Guard:
    """The guard that the author wrote as ``text`` and the parser read as ``tree``."""
    nodes = tuple(walk(tree))
    return Guard(
        text=text,
        tree=tree,
        context_keys=_once(node.key for node in nodes if isinstance(node, ContextKey)),
        payload_fields=_once(node.field for node in nodes if isinstance(node, PayloadField)),
        events=_once(node.event for node in nodes if isinstance(node, Count)),
        branches=any(isinstance(node, Quantifier) for node in nodes),
        branch_context_fields=_once(
            node.field for node in nodes if isinstance(node, BranchContext)
        ),
        branch_payload_fields=_once(
            node.field for node in nodes if isinstance(node, BranchPayload)
        ),
        condition=compile_condition(tree),
    )


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
