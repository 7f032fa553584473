"""What the database stops for another transaction's sake is tried once more, then one by one."""

from __future__ import annotations

import pytest

from stateous_controlplane.engine.commands import Fire
from stateous_controlplane.store.port import Changes, TransactionConflict
from tests.support.writer import Writer


@pytest.mark.parametrize(
    ("conflicts", "statuses", "transactions"),
    [
        pytest.param(1, [200, 200, 200], 2, id="the batch again"),
        pytest.param(2, [200, 200, 200], 5, id="then one by one"),
        pytest.param(3, [200, 200, 200], 6, id="each of them once more too"),
        pytest.param(4, [503, 200, 200], 6, id="and no more often"),
    ],
)
def test_a_conflict_is_tried_again(conflicts: int, statuses: list[int], transactions: int) -> None:
    writer = Writer()
    writer.start("A", "B", "C")
    left = conflicts

    def commit(_: Changes) -> None:
        nonlocal left
        if left:
            left -= 1
            raise TransactionConflict("a deadlock")

    writer.store.faults.commit = commit
    before = writer.store.asked
    asked = [writer.submit(Fire(token, "again")) for token in ("A", "B", "C")]
    writer.run()
    assert [writer.status(each) for each in asked] == statuses
    assert writer.store.asked - before == transactions
    assert [writer.token(token).visits["work"] for token in ("A", "B", "C")] == [
        2 if status == 200 else 1 for status in statuses
    ]
