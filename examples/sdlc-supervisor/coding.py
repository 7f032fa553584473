"""The routine of the state 'coding' of the workflow 'sdlc'."""

from __future__ import annotations

from contract import Change, TicketContext, events, states

from stateous import on_state


@on_state(states.coding)
def coding(ctx: TicketContext) -> events.coded:
    """Write the change; on a later visit, mend what the last test report names."""
    report = ctx.get("report")
    if report is None:
        ctx.note(f"wrote a first draft of: {ctx['title']}")
    else:
        ctx.note(f"mended {report['failing'][0]}")
    branch = ctx.token.lower()
    return events.coded(Change(branch=branch, files=[f"src/{branch}.py", f"tests/{branch}.py"]))
