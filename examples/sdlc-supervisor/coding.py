"""The routine of the state 'coding' of the workflow 'sdlc'."""

from __future__ import annotations

from contract import Change, TicketContext, events, states

from stateous import on_state


@on_state(states.coding)
def coding(ctx: TicketContext) -> events.coded:
    """Write the change; on a later visit, mend what brought the ticket back."""
    branch = ctx.token.lower()
    files = [f"src/{branch}.py", f"tests/{branch}.py"]
    match ctx.entered_by.name:
        case "failed":
            ctx.note(f"mended {ctx['report']['failing'][0]}")
        case "timeout":
            ctx.note("mended a test that hung")
        case "joined":
            for review in ctx["reviews"]["branches"]:
                if objection := review["context"].get("objection"):
                    ctx.note(f"mended what {review['workflow']} says: {objection['reason']}")
        case _:
            ctx.note(f"wrote a first draft of: {ctx['title']}")
    if ctx["leaks"] and ctx.get("reviews") is None:
        files.append("deploy/keys.env")
    return events.coded(Change(branch=branch, files=files))
