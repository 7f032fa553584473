"""The routine of the state 'triage' of the workflow 'design-review'."""

from __future__ import annotations

from contract import Objection, ReviewContext, events, states

from stateous import on_state

#: So many files can be read in one sitting.
MOST_FILES = 5


@on_state(states.design_review.triage)
def triage(ctx: ReviewContext) -> events.design_review.small | events.design_review.too_large:
    """Let a small change through, and send a large one back to be split."""
    files = ctx["change"]["files"]
    if len(files) > MOST_FILES:
        return events.design_review.too_large(Objection(reason="split the change", files=files))
    return events.design_review.small()
