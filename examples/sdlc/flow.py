"""A ticket is coded, tested, reviewed twice at the same time, and merged.

START ──> coding ──coded──> testing ──passed──> reviews ──both approve──> merging ──> END
            ▲                 │                    │
            ├───failed, < 3───┤                    │
            ├───timeout───────┤                    │
            └─────────────────│──────otherwise─────┘
                              └──failed, otherwise──> END
"""

from __future__ import annotations

from schemas import Change, Objection, Report, Review, Ticket

from stateous import END, START, Workflow

# The two reviews are workflows of their own. A state that is parallel runs them as child tokens,
# so that each has its own steps, retries and history. How a review ended is told by its last state.
security = Workflow("security-review", context=Review)
scan = security.state("scan", timeout="15m", retries=2)
security_approved = security.state("approved")

clean = security.event("clean")
leak = security.event("leak", payload=Objection, into="objection")
security_signed = security.event("signed")

security.transition(START, scan)
security.transition(scan, security_approved, on=clean)
security.transition(scan, END, on=leak)
security.transition(scan, END, on="timeout")
security.transition(security_approved, END, on=security_signed)

design = Workflow("design-review", context=Review)
triage = design.state("triage")
design_approved = design.state("approved")

small = design.event("small")
too_large = design.event("too-large", payload=Objection, into="objection")
design_signed = design.event("signed")

design.transition(START, triage)
design.transition(triage, design_approved, on=small)
design.transition(triage, END, on=too_large)
design.transition(design_approved, END, on=design_signed)

flow = Workflow("sdlc", context=Ticket)

# A state's routine runs on a supervisor. `timeout` covers the state with all its attempts,
# `retries` is how often a failed attempt is tried again.
coding = flow.state("coding", timeout="1h", retries=1)
testing = flow.state("testing", timeout="15m", retries=1)
# Each review starts with the ticket's change; how they ended is kept as ctx["reviews"].
reviews = flow.state(
    "reviews", parallel=[security, design], join="all", inputs=["change"], into="reviews"
)
merging = flow.state("merging", retries=3)

# Events carry typed payloads; `into` keeps the payload in the ticket's context, under that key.
coded = flow.event("coded", payload=Change, into="change")
passed = flow.event("passed", payload=Report, into="report")
failed = flow.event("failed", payload=Report, into="report")
merged = flow.event("merged")

flow.transition(START, coding)
flow.transition(coding, testing, on=coded)
flow.transition(testing, reviews, on=passed)

# The retry loop. `count` is how often the event was accepted on this token, this time included.
flow.transition(testing, coding, on=failed, when="count('failed') < 3")
# The third failure ends it: the ticket's context keeps the last report.
flow.transition(testing, END, on=failed, otherwise=True)

# Tests that hang are coding's problem. A timeout that no transition takes would fail the token.
flow.transition(testing, coding, on="timeout")

# The join: `joined` comes once both reviews have ended, in whatever way.
flow.transition(
    reviews,
    merging,
    on="joined",
    when="branches.all(status == 'completed' and final == 'approved')",
)
flow.transition(reviews, coding, on="joined", otherwise=True)

flow.transition(merging, END, on=merged)
