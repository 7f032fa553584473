"""The models of the workflow: what a ticket keeps, and what its events carry."""

from __future__ import annotations

from pydantic import BaseModel


class Change(BaseModel):
    """What the coding step made."""

    branch: str
    files: list[str]


class Report(BaseModel):
    """What the testing step found."""

    passed: int
    failing: list[str] = []


class Ticket(BaseModel):
    """The context of a token: one ticket on its way from coding to tested."""

    title: str
    #: How many bugs the first draft has; each later visit of coding mends one.
    bugs: int = 0
    change: Change | None = None
    report: Report | None = None
