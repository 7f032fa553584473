import pytest

from stateous_supervisor.aftermath import Entry, what_follows

INV_7 = Entry("INV-7", "review", 2)
CHILD = Entry("INV-7.1", "tax-check/ask", 1)


@pytest.mark.parametrize(
    ("entry", "after", "follows"),
    [
        (INV_7, ("review", 2, "active"), "it is tried again"),
        (CHILD, ("ask", 1, "active"), "it is tried again"),
        (INV_7, ("review", 2, "failed"), "no retry is left, and the token has failed"),
        (INV_7, ("triage", 1, "active"), "no retry is left, and 'error' has moved the token to triage"),
        (INV_7, ("review", 3, "active"), "no retry is left, and 'error' has moved the token to review"),
        (INV_7, ("review", 2, "completed"), "no retry is left, and 'error' has ended the token"),
        (INV_7, ("review", 2, "paused"), "the token is paused, so nothing follows before its resume"),
    ],
)  # fmt: skip
def test_what_follows_a_failed_attempt(entry, after, follows):
    state, visit, status = after
    assert what_follows(entry, {"state": state, "visit": visit, "status": status}) == follows


RUN = Entry("run-a", "pricing", 2)


@pytest.mark.parametrize(
    ("path", "status", "follows"),
    [
        ([("quoting", 1), ("pricing", 2)], "active", "it is tried again, or no retry is left and the run stays where it is"),
        ([("quoting", 1), ("asking", 1)], "active", "no retry is left, and 'failed' has moved the run to quoting/asking"),
        ([("pricing", 3)], "active", "no retry is left, and 'failed' has moved the run to pricing"),
        ([("pricing", 2)], "failed", "no retry is left, and the run has failed"),
        ([("approved", 1)], "completed", "no retry is left, and the run is completed"),
        ([("pricing", 2)], "paused", "the run is paused, so nothing follows before its resume"),
    ],
)  # fmt: skip
def test_what_follows_a_failed_attempt_at_a_job(path, status, follows):
    configuration = [{"state": state, "visit": visit, "entered_at": "…"} for state, visit in path]
    assert what_follows(RUN, {"configuration": configuration, "status": status}) == follows
