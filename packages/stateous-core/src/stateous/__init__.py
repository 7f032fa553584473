"""What workflow authors and writers of routines import (`docs/spec/authoring.md` 2.1).

Each name is loaded on first use: importing a small module of this package, or only the client,
costs no pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stateous.client import Client
    from stateous.errors import OutcomeError
    from stateous.routine import Context, Occurrence, StateRef, on_job, on_state
    from stateous.workflow import END, START, Branches, Workflow

__all__ = [
    "END",
    "START",
    "Branches",
    "Client",
    "Context",
    "Occurrence",
    "OutcomeError",
    "StateRef",
    "Workflow",
    "on_job",
    "on_state",
]

_HOMES: Final = {
    "END": "stateous.workflow",
    "START": "stateous.workflow",
    "Branches": "stateous.workflow",
    "Client": "stateous.client",
    "Context": "stateous.routine",
    "Occurrence": "stateous.routine",
    "OutcomeError": "stateous.errors",
    "StateRef": "stateous.routine",
    "Workflow": "stateous.workflow",
    "on_job": "stateous.routine",
    "on_state": "stateous.routine",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
