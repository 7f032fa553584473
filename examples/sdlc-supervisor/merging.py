"""The routine of the state 'merging' of the workflow 'sdlc'."""

from __future__ import annotations

from contract import TicketContext, events, states

from stateous import on_state


@on_state(states.merging)
def merging(ctx: TicketContext) -> events.merged:
    """Merge the change that every review has approved."""
    approvals = ", ".join(review["workflow"] for review in ctx["reviews"]["branches"])
    ctx.note(f"merged {ctx['change']['branch']}, approved by {approvals}")
    return events.merged()
