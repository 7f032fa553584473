"""The routine of the state 'testing' of the workflow 'sdlc'."""

from __future__ import annotations

from contract import Report, TicketContext, events, states

from stateous import on_state

TESTS = 12


@on_state(states.testing)
async def testing(ctx: TicketContext) -> events.passed | events.failed:
    """Test the change. One bug of the first draft is mended before each later visit."""
    failing = [f"test_case_{number}" for number in range(ctx.visit, ctx["bugs"] + 1)]
    ctx.note(f"tested {ctx['change']['branch']}: {len(failing)} of {TESTS} tests fail")
    report = Report(passed=TESTS - len(failing), failing=failing)
    return events.failed(report) if failing else events.passed(report)
