"""The tree of workflows: a workflow and those that its parallel states run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from stateous.workflow import Event, Place, State, Workflow


def children_of(flow: Workflow) -> Iterator[tuple[State, Workflow]]:
    """Each parallel state with each workflow that it runs, in declaration order."""
    for state in flow.states.values():
        for child in state.parallel:
            yield state, child


def below(top: Workflow) -> tuple[Workflow, ...]:
    """``top`` and all workflows below it, each once, in the order first met depth-first."""
    met: dict[Workflow, None] = {}
    stack = [top]
    while stack:
        flow = stack.pop()
        if flow not in met:
            met[flow] = None
            stack.extend(reversed([child for _, child in children_of(flow)]))
    return tuple(met)


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Where a model is used: as the context of ``flow``, or as the payload of ``event``."""

    model: type[BaseModel]
    flow: Workflow
    event: Event | None = None

    @property
    def place(self) -> Place:
        """The declaration that names the model."""
        return self.flow.place if self.event is None else self.event.place


def uses_of_models(flows: Iterable[Workflow]) -> list[ModelUse]:
    """Every use of a model: first all contexts, then all payloads, workflow by workflow."""
    flows = list(flows)
    contexts = [ModelUse(flow.context, flow) for flow in flows if flow.context is not None]
    payloads = [
        ModelUse(event.payload, flow, event)
        for flow in flows
        for event in flow.events.values()
        if event.payload is not None
    ]
    return contexts + payloads


def models_of(flows: Iterable[Workflow]) -> list[type[BaseModel]]:
    """The models of :func:`uses_of_models`, each once."""
    return list(dict.fromkeys(use.model for use in uses_of_models(flows)))
