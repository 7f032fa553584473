"""What a parallel state's ``joined`` carries, as models (`docs/spec/authoring.md` 2.7)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel


class Branch(BaseModel):
    """How one child of a parallel state ended.

    ``final`` is the state that the child was in when it ended, and ``payload`` that of the event
    by which it *entered* ``final``: null when that event had none, and after START. ``context`` is
    the child's context when it ended.
    """

    workflow: str
    token: str
    status: Literal["completed", "failed"]
    final: str
    payload: dict[str, Any] | None = None
    context: dict[str, Any]


class Branches(BaseModel):
    """The payload of ``joined``; the type of a context field that a state's ``into`` names.

    With ``join="all"`` one entry per child in the order of ``parallel``, with ``join="any"`` the
    child that ended first.
    """

    branches: list[Branch]
