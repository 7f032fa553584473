"""A ticket is coded, then tested; tests that fail send it back, three times at most.

START ──> coding ──coded──> testing ──passed──> END
            ▲                  │
            └──failed, < 3─────┤
                               └──failed, otherwise──> END
"""

from __future__ import annotations

from schemas import Change, Report, Ticket

from stateous import END, START, Workflow

flow = Workflow("sdlc", context=Ticket)

# A state's routine runs on a supervisor. `timeout` covers the state with all its attempts,
# `retries` is how often a failed attempt is tried again.
coding = flow.state("coding", timeout="1h", retries=1)
testing = flow.state("testing", timeout="15m", retries=1)

# Events carry typed payloads; `into` keeps the payload in the ticket's context, under that key.
coded = flow.event("coded", payload=Change, into="change")
passed = flow.event("passed", payload=Report, into="report")
failed = flow.event("failed", payload=Report, into="report")

flow.transition(START, coding)
flow.transition(coding, testing, on=coded)
flow.transition(testing, END, on=passed)

# The retry loop. `count` is how often the event was accepted on this token, this time included.
flow.transition(testing, coding, on=failed, when="count('failed') < 3")
# The third failure ends it: the ticket's context keeps the last report.
flow.transition(testing, END, on=failed, otherwise=True)

# Tests that hang are coding's problem. A timeout that no transition takes would fail the token.
flow.transition(testing, coding, on="timeout")
