"""What a writer knows, held against what its database would say."""

from __future__ import annotations

from stateous_controlplane.store.port import Needs
from tests.support.writer import Writer


def assert_known_is_on_record(writer: Writer) -> None:
    """Families that are known are what a load of them brings, and the heads of queues are right.

    Between two batches. When nothing is known, nothing can be wrong.
    """
    known = writer.sequencer._known
    if known is None:
        return
    tops = set(known._families)
    with writer.store.transaction(writer.name) as transaction:
        loaded = transaction.load(Needs(tokens=tops))
        places = {place for each in known._families.values() for place in each.memory}
        memory = transaction.memory(places)
        queued = transaction.load(Needs(queues=dict.fromkeys(known.ready._queues, 1000))).queued
    assert known.tokens == loaded.tokens
    assert known.tasks == loaded.tasks
    assert known._timer_tops.keys() == loaded.timers.keys()
    for top, family in known._families.items():
        assert family.tokens == {
            each.token: each for each in loaded.tokens.values() if each.top == top
        }
        assert family.tasks.items() <= loaded.tasks.items()
        assert family.timers.items() <= loaded.timers.items()
        assert family.holding == loaded.holding.get(top, 0)
        assert family.memory == {place: memory[place] for place in family.memory}
    for name, queue in known.ready._queues.items():
        there = queued.get(name, [])
        sure = there if queue.whole else [each for each in there if queue.reaches(each)]
        assert queue.known >= set(sure), name
        head = known.ready._head(queue)
        if head is not None and head.task in known.tasks and queue.reaches(head):
            assert head == there[0], name
    begun = {(token, task.state) for token in known._begun for task in loaded.tasks.values()}
    with writer.store.transaction(writer.name) as transaction:
        on_record = transaction.memory(begun)
    for (token, state), values in on_record.items():
        assert known.memory(token, state) == values, (token, state)
