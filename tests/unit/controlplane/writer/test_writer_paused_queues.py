"""Claims beside pauses in one batch: a task that is ready at its end is never left beside a claim."""

from __future__ import annotations

import pytest

from stateous_controlplane.engine.commands import Pause, Resume
from tests.support.writer import Writer, claim, given


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], [Pause("T-1"), Resume("T-1")]),
        ([Pause("T-1")], [Resume("T-1")]),
        ([Pause("T-1"), Resume("T-1")], []),
        ([Pause("T-1"), Resume("T-1"), Pause("T-1")], [Resume("T-1"), Pause("T-1")]),
    ],
    ids=["pause after it", "pause before, resume after it", "both before it", "again and again"],
)
def test_a_claim_gets_a_task_that_is_ready_at_some_moment_of_its_batch(
    before: list[Pause | Resume], after: list[Pause | Resume]
) -> None:
    writer = Writer()
    writer.start("T-1")
    for each in before:
        writer.submit(each)
    submission = writer.submit(claim(wait=20))
    for each in after:
        writer.submit(each)
    writer.run()
    assert given(writer.body(submission)) == [(1, 1)]
    assert writer.kinds("T-1").count("task_claimed") == 1


def test_a_claim_of_several_gets_each_task_once_across_a_pause() -> None:
    writer = Writer()
    writer.start("T-1", "T-2")
    first = writer.submit(claim(supervisor="box-1"))
    writer.submit(Pause("T-2"))
    second = writer.submit(claim(supervisor="box-2", wait=20, max=2))
    writer.submit(Resume("T-2"))
    writer.run()
    assert given(writer.body(first)) == [(1, 1)]
    assert given(writer.body(second)) == [(2, 1)]
