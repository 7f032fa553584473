"""One compile: the tree of workflows, what is known of its models, and how problems are made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stateous.names import START
from stateous.workflow import Event, Place, State, Transition, Workflow
from stateous_compiler.flow import LoadedFlow, shown_place
from stateous_compiler.models import Models, Shape, write_models
from stateous_compiler.problems import Problem
from stateous_compiler.tree import below, models_of


@dataclass(frozen=True, slots=True)
class Compilation:
    """What every check looks at. ``flows`` are all workflows, the top one first."""

    folder: Path
    flows: tuple[Workflow, ...]
    models: Models

    @property
    def top(self) -> Workflow:
        """The workflow that is compiled."""
        return self.flows[0]

    def context_of(self, flow: Workflow) -> Shape | None:
        """The properties of a workflow's context; None when it takes every key."""
        return None if flow.context is None else self.models.shapes[flow.context]

    def payload_of(self, event: Event) -> Shape | None:
        """The properties of an event's payload; None when it carries none."""
        return None if event.payload is None else self.models.shapes[event.payload]

    def at(self, place: Place) -> str:
        """A place as texts and problems name it."""
        return shown_place(place, self.folder)

    def problem(self, code: str, flow: Workflow, place: Place, text: str) -> Problem:
        """A problem of ``flow``, which a child workflow's text says in front."""
        prefix = "" if flow is self.top else f"in child workflow {flow.name!r}: "
        return Problem(code, self.at(place), flow.name, prefix + text)


def begin(loaded: LoadedFlow) -> Compilation:
    """The compilation of a workflow that was loaded."""
    flows = below(loaded.workflow)
    return Compilation(loaded.folder, flows, write_models(models_of(flows)))


def group_of(transition: Transition) -> str:
    """The group of a transition as texts name it: ``'packed' from 'packing'``, or ``START``."""
    source = transition.source
    return f"{transition.event!r} from {source.name!r}" if isinstance(source, State) else "START"


def leaves_start(transition: Transition) -> bool:
    """Whether the transition leads out of START."""
    return transition.source.name == START


def spelled(transition: Transition) -> str:
    """The guard of a transition as written, in double quotes."""
    return f'"{transition.when.text.strip()}"' if transition.when is not None else ""
