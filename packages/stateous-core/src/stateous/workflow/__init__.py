"""The authoring DSL: declare a workflow in Python (`docs/spec/authoring.md` 2)."""

from stateous.workflow.branches import Branch, Branches
from stateous.workflow.declaration import Workflow
from stateous.workflow.elements import END, START, Event, State, Terminal, Transition
from stateous.workflow.places import Place

__all__ = [
    "END",
    "START",
    "Branch",
    "Branches",
    "Event",
    "Place",
    "State",
    "Terminal",
    "Transition",
    "Workflow",
]
