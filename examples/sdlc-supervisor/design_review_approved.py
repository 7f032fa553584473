"""The routine of the state 'approved' of the workflow 'design-review'."""

from __future__ import annotations

from contract import ReviewContext, events, states

from stateous import on_state


@on_state(states.design_review.approved)
def approved(ctx: ReviewContext) -> events.design_review.signed:
    """Sign the approval."""
    ctx.note(f"{ctx['change']['branch']} is small enough to be read")
    return events.design_review.signed()
