# Generated from the workflow 'sdlc'. Do not edit: `stateous init supervisor` writes this file again.
from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from stateous import Context, Occurrence, StateRef

__workflow__ = "sdlc"
__checksum__ = "sha256:3a460425504872748dd6897159636f1f1546dff7d89276588569549ac35a14bb"
__contract__ = "sha256:90e234e4d39592ff89506f57429e31592a7289f70c25dfddb29efcabc8796cd7"


class Branch(BaseModel):
    workflow: str
    token: str
    status: Literal["completed", "failed"]
    final: str
    payload: dict[str, Any] | None = None
    context: dict[str, Any]


class Branches(BaseModel):
    branches: list[Branch]


class Change(BaseModel):
    branch: str
    files: list[str]


class Objection(BaseModel):
    reason: str
    files: list[str]


class Report(BaseModel):
    passed: int
    failing: list[str] = []


class Review(BaseModel):
    change: Change
    objection: Objection | None = None


class Ticket(BaseModel):
    title: str
    bugs: int = 0
    leaks: bool = False
    change: Change | None = None
    report: Report | None = None
    reviews: Branches | None = None


TicketContext = Context[Ticket]
ReviewContext = Context[Review]


class events:
    class coded(Occurrence[Change]):
        name = "coded"

    class passed(Occurrence[Report]):
        name = "passed"

    class failed(Occurrence[Report]):
        name = "failed"

    class merged(Occurrence[None]):
        name = "merged"

    class security_review:
        class clean(Occurrence[None]):
            name = "clean"

        class leak(Occurrence[Objection]):
            name = "leak"

        class signed(Occurrence[None]):
            name = "signed"

    class design_review:
        class small(Occurrence[None]):
            name = "small"

        class too_large(Occurrence[Objection]):
            name = "too-large"

        class signed(Occurrence[None]):
            name = "signed"


class states:
    coding = StateRef("coding", emits=(events.coded,))
    testing = StateRef("testing", emits=(events.passed, events.failed))
    merging = StateRef("merging", emits=(events.merged,))

    class security_review:
        scan = StateRef("security-review/scan", emits=(events.security_review.clean, events.security_review.leak))
        approved = StateRef("security-review/approved", emits=(events.security_review.signed,))

    class design_review:
        triage = StateRef("design-review/triage", emits=(events.design_review.small, events.design_review.too_large))
        approved = StateRef("design-review/approved", emits=(events.design_review.signed,))
