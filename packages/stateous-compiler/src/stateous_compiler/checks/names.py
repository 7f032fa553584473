"""C22 to C25: ids that fit, models that can be told apart and written, names for Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel

from stateous.graph.references import keys_below
from stateous.limits import MAX_NAME, MAX_TOKEN_ID
from stateous.workflow import Place, State, Workflow
from stateous_compiler.compilation import Compilation
from stateous_compiler.contract_names import Subject, contract_problems
from stateous_compiler.graph import build_graph
from stateous_compiler.problems import Problem
from stateous_compiler.tree import ModelUse, children_of, uses_of_models

#: The digits of a visit that compile makes room for.
_VISIT_DIGITS: Final = 3


def check(compilation: Compilation) -> Iterator[Problem]:
    """The problems of names and models over the tree."""
    yield from _ids(compilation)
    uses = list({use.model: use for use in reversed(uses_of_models(compilation.flows))}.values())
    uses.reverse()  # now each model once, where it is used first
    twins = _twins(uses)
    for use, earlier in twins.items():
        text = (
            f"there is another model {use.model.__name__}, used at {compilation.at(earlier.place)};"
            " contract.py needs two names"
        )
        yield compilation.problem("model-name-twice", use.flow, use.place, text)
    failures = compilation.models.failures
    for use in uses:
        if use.model in failures:
            text = f"the model {use.model.__name__} has no JSON Schema: {failures[use.model]}"
            yield compilation.problem("model-schema", use.flow, use.place, text)
    left_out = {use.model for pair in twins.items() for use in pair} | failures.keys()
    yield from _contract(compilation, [use for use in uses if use.model not in left_out])


def _ids(compilation: Compilation) -> Iterator[Problem]:
    below = _longest_below(compilation.top)
    worst, longest = None, 0
    for state, child in children_of(compilation.top):
        length = _suffix(state, child) + below.get(child, 0)
        if length > longest:
            worst, longest = state, length
    if worst is not None and MAX_NAME + longest > MAX_TOKEN_ID:
        text = (
            f"state {worst.name!r}: the ids of child tokens below it add {longest} characters to"
            f" their top token's, which may have {MAX_NAME}: that makes {MAX_NAME + longest},"
            f" and the limit is {MAX_TOKEN_ID}; use shorter names"
        )
        yield compilation.problem("child-id-too-long", compilation.top, worst.place, text)


def _suffix(state: State, child: Workflow) -> int:
    """How much longer the id of a child's token is than that of its parent."""
    return len(f".{state.name}.{'0' * _VISIT_DIGITS}.{child.name}")


def _longest_below(top: Workflow) -> dict[Workflow, int]:
    """How much longer ids become at most below each workflow that ``top`` runs.

    Where a workflow runs itself the way ends as soon as it comes again.
    """
    longest: dict[Workflow, int] = {}
    met = {top}
    stack = [(top, children_of(top))]
    while stack:
        flow, rest = stack[-1]
        child = next((child for _, child in rest if child not in met), None)
        if child is not None:
            met.add(child)
            stack.append((child, children_of(child)))
            continue
        stack.pop()
        if flow is not top:
            lengths = (
                _suffix(state, each) + longest.get(each, 0) for state, each in children_of(flow)
            )
            longest[flow] = max(lengths, default=0)
    return longest


def _twins(uses: list[ModelUse]) -> dict[ModelUse, ModelUse]:
    """The uses of models whose name another model has, each with the first use of that one."""
    first: dict[str, ModelUse] = {}
    twins = {}
    for use in uses:
        earlier = first.setdefault(use.model.__name__, use)
        if earlier is not use:
            twins[use] = earlier
    return twins


def _contract(compilation: Compilation, uses: list[ModelUse]) -> Iterator[Problem]:
    models = compilation.models
    keys: dict[type[BaseModel], str] = {use.model: models.keys[use.model] for use in uses}
    bringers: dict[str, ModelUse] = {}
    for use in uses:
        for key in keys_below(models.schemas, keys[use.model]):
            bringers.setdefault(key, use)
    for subject, text in contract_problems(build_graph(compilation.flows, keys, models.schemas)):
        flow, place = _where(compilation, subject, bringers)
        yield compilation.problem("contract-name", flow, place, text)


def _where(
    compilation: Compilation, subject: Subject, bringers: dict[str, ModelUse]
) -> tuple[Workflow, Place]:
    if subject.kind == "schema":
        use = bringers[subject.name]
        return use.flow, use.place
    flow = next(flow for flow in compilation.flows if flow.name == subject.workflow)
    match subject.kind:
        case "workflow":
            return flow, flow.place
        case "state":
            return flow, flow.states[subject.name].place
        case "event":
            return flow, flow.events[subject.name].place
