"""The routine of the state 'scan' of the workflow 'security-review'."""

from __future__ import annotations

from contract import Objection, ReviewContext, events, states

from stateous import on_state


@on_state(states.security_review.scan)
def scan(ctx: ReviewContext) -> events.security_review.clean | events.security_review.leak:
    """Look for files that hold secrets."""
    leaks = [file for file in ctx["change"]["files"] if file.endswith(".env")]
    if leaks:
        return events.security_review.leak(Objection(reason="secrets in the change", files=leaks))
    return events.security_review.clean()
