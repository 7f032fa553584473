"""Stands in for the example's routine of 'coding': 'slow 6' takes six seconds, on its first try."""

from __future__ import annotations

import time

from contract import Change, TicketContext, events, states

from stateous import on_state


@on_state(states.coding)
def coding(ctx: TicketContext) -> events.coded:
    title = ctx["title"]
    if title.startswith("slow ") and ctx.attempt == 1:
        time.sleep(float(title.removeprefix("slow ")))
    return events.coded(Change(branch=ctx.token.lower(), files=[]))
