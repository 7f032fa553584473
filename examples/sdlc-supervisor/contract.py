# Generated from the workflow 'sdlc'. Do not edit: `stateous init supervisor` writes this file again.
from __future__ import annotations

from pydantic import BaseModel

from stateous import Context, Occurrence, StateRef

__workflow__ = "sdlc"
__checksum__ = "sha256:65f7697eda09cdeca06d64f048404511dc1c93fd15fc1a3834d50024b382c2a6"
__contract__ = "sha256:9f6dc3c684f7f2da4209104f135ee363ed1f78fc1caa804c718c8901e563ef36"


class Change(BaseModel):
    branch: str
    files: list[str]


class Report(BaseModel):
    passed: int
    failing: list[str] = []


class Ticket(BaseModel):
    title: str
    bugs: int = 0
    change: Change | None = None
    report: Report | None = None


TicketContext = Context[Ticket]


class events:
    class coded(Occurrence[Change]):
        name = "coded"

    class passed(Occurrence[Report]):
        name = "passed"

    class failed(Occurrence[Report]):
        name = "failed"


class states:
    coding = StateRef("coding", emits=(events.coded,))
    testing = StateRef("testing", emits=(events.passed, events.failed))
