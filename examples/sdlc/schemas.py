"""The models of the workflow: what a ticket keeps, and what its events carry."""

from __future__ import annotations

from pydantic import BaseModel

from stateous import Branches


class Change(BaseModel):
    """What the coding step made."""

    branch: str
    files: list[str]


class Report(BaseModel):
    """What the testing step found."""

    passed: int
    failing: list[str] = []


class Objection(BaseModel):
    """Why a review does not let a change through."""

    reason: str
    files: list[str]


class Review(BaseModel):
    """The context of a review: the change comes down from the ticket, the objection goes up."""

    change: Change
    objection: Objection | None = None


class Ticket(BaseModel):
    """The context of a token: one ticket on its way from coding to merged."""

    title: str
    #: How many bugs the first draft has; each later visit of coding mends one.
    bugs: int = 0
    #: Whether the first draft has a file in it that no security review lets through.
    leaks: bool = False
    change: Change | None = None
    report: Report | None = None
    reviews: Branches | None = None
