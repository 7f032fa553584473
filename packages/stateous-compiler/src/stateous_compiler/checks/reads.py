"""B9 to B12 and B20: what guards read exists, and what they search is a list or an object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from stateous.guards import Guard
from stateous.guards.nodes import (
    And,
    BranchContext,
    BranchName,
    BranchPayload,
    Compare,
    Constant,
    ContextKey,
    Count,
    Expression,
    ListOf,
    Not,
    Or,
    PayloadField,
    Quantifier,
    walk,
)
from stateous.names import ROUTABLE_OWN_EVENTS
from stateous.workflow import State, Transition, Workflow
from stateous_compiler.compilation import Compilation, group_of, spelled
from stateous_compiler.kinds import UNKNOWN, Kind, can_be_searched, kinds_of
from stateous_compiler.models import Shape
from stateous_compiler.problems import Problem


def check(compilation: Compilation, flow: Workflow) -> Iterator[Problem]:
    """The problems of what the guards of a workflow read."""
    for transition in flow.transitions:
        yield from problems_of(compilation, flow, transition)


def problems_of(
    compilation: Compilation, flow: Workflow, transition: Transition
) -> Iterator[Problem]:
    """The problems of what one guard reads."""
    if transition.when is not None:
        yield from _Reads(compilation, flow, transition, transition.when).problems()


class _Reads:
    """One guard, and the models of what it can read."""

    def __init__(
        self, compilation: Compilation, flow: Workflow, transition: Transition, guard: Guard
    ) -> None:
        self._compilation = compilation
        self._flow = flow
        self._transition = transition
        self._guard = guard
        self._context = compilation.context_of(flow)
        event = flow.events.get(transition.event)
        self._payload = compilation.payload_of(event) if event is not None else None
        source = transition.source
        children = source.parallel if isinstance(source, State) else ()
        self._child_contexts = [compilation.context_of(child) for child in children]
        self._child_payloads = [
            shape
            for child in children
            for event in child.events.values()
            if (shape := compilation.payload_of(event)) is not None
        ]

    def problems(self) -> Iterator[Problem]:
        guard = self._guard
        for key in guard.context_keys:
            if self._context is not None and (why := self._context.lacks(key)):
                yield self._problem("unknown-context-key", f"reads ctx[{key!r}]: {why}")
        for field in guard.payload_fields:
            if self._payload is not None and (why := self._payload.lacks(field)):
                yield self._problem("unknown-payload-field", f"reads payload.{field}: {why}")
        yield from self._branch_fields()
        for searched in _searched(guard):
            if not all(map(can_be_searched, self._kinds(searched))):
                text = (
                    f"searches {_spell(searched)}, which is not known to be a list or an object;"
                    " compare it with a list such as ['a', 'b']"
                )
                yield self._problem("in-not-list", text)
        for event in guard.events:
            if event not in self._flow.events and event not in ROUTABLE_OWN_EVENTS:
                yield self._problem("unknown-count", f"counts {event!r}, which is not an event")

    def _branch_fields(self) -> Iterator[Problem]:
        for field in self._guard.branch_context_fields:
            if all(shape is not None and shape.lacks(field) for shape in self._child_contexts):
                why = _all_lack(field, self._child_contexts, "no child workflow has a context")
                text = f"reads context.{field} of the children: {why}"
                yield self._problem("unknown-branch-field", text)
        for field in self._guard.branch_payload_fields:
            if all(shape.lacks(field) for shape in self._child_payloads):
                why = _all_lack(field, self._child_payloads, "no event of theirs has a payload")
                text = f"reads payload.{field} of the children: {why}"
                yield self._problem("unknown-branch-field", text)

    def _kinds(self, searched: Expression) -> list[frozenset[Kind]]:
        """The kinds of what stands behind ``in``, for each model that has it."""
        match searched:
            case ListOf():
                return [frozenset({"list"})]
            case ContextKey(key):
                return self._kinds_in([self._context], key)
            case PayloadField(field):
                return self._kinds_in([self._payload], field)
            case BranchContext(field):
                return self._kinds_in(self._child_contexts, field)
            case BranchPayload(field):
                return self._kinds_in(self._child_payloads, field)
            case (
                Constant()
                | BranchName()
                | Count()
                | Not()
                | And()
                | Or()
                | Compare()
                | Quantifier()
            ):
                return [UNKNOWN]
            case _:
                assert_never(searched)

    def _kinds_in(self, shapes: Iterable[Shape | None], name: str) -> list[frozenset[Kind]]:
        schemas = self._compilation.models.schemas
        return [
            UNKNOWN if shape is None else kinds_of(schemas, shape.properties[name])
            for shape in shapes
            if shape is None or shape.properties.get(name) is not None
        ]

    def _problem(self, code: str, text: str) -> Problem:
        transition = self._transition
        sentence = f"{group_of(transition)}: {spelled(transition)} {text}"
        return self._compilation.problem(code, self._flow, transition.place, sentence)


def _searched(guard: Guard) -> Iterable[Expression]:
    """What stands behind an ``in``, each thing once."""
    return dict.fromkeys(
        right
        for node in walk(guard.tree)
        if isinstance(node, Compare)
        for _, operator, right in node.pairs()
        if operator in {"in", "not in"}
    )


def _all_lack(field: str, shapes: Iterable[Shape | None], nothing: str) -> str:
    reasons = dict.fromkeys(shape.lacks(field) for shape in shapes if shape is not None)
    return "; ".join(reason for reason in reasons if reason) or nothing


def _spell(node: Expression) -> str:
    match node:
        case ContextKey(key):
            return f"ctx[{key!r}]"
        case PayloadField(field) | BranchPayload(field):
            return f"payload.{field}"
        case BranchContext(field):
            return f"context.{field}"
        case BranchName(name):
            return name
        case Count(event):
            return f"count({event!r})"
        case _:
            return "a condition"
