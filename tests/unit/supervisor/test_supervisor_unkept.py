import pytest

from stateous_supervisor.errors import OutboxError
from stateous_supervisor.messages import Attempt, Draft, Message, Outgoing
from stateous_supervisor.unkept import UnkeptOutbox


def draft(text):
    return Draft(Attempt(1, 1), "run-a", "note", {"text": text})


def message(row, text):
    return Message(row, Attempt(1, 1), "run-a", "note", {"text": text})


def test_messages_are_numbered_and_passed_on_in_order():
    passed = []
    outbox: Outgoing = UnkeptOutbox(written=passed.extend)

    assert outbox.put(draft("a")).result(0) == message(1, "a")
    assert outbox.put(draft("b")).result(0) == message(2, "b")
    assert passed == [message(1, "a"), message(2, "b")]


def test_who_replaces_a_message_sends_the_new_one_himself():
    passed = []
    outbox = UnkeptOutbox(written=passed.extend)
    first = outbox.put(draft("a")).result(0)

    assert outbox.replace(first, draft("b")).result(0) == message(2, "b")
    assert passed == [first]


def test_nothing_is_there_of_an_earlier_run():
    outbox = UnkeptOutbox(written=lambda _: None)
    outbox.remove(outbox.put(draft("a")).result(0))
    outbox.forget(Attempt(1, 1))
    outbox.hurry()

    assert (outbox.left, outbox.path) == ((), None)


def test_closed_it_takes_nothing():
    outbox = UnkeptOutbox(written=lambda _: None)
    outbox.close()
    outbox.close()

    with pytest.raises(OutboxError, match="has stopped"):
        outbox.put(draft("a"))
    with pytest.raises(OutboxError, match="has stopped"):
        outbox.replace(message(1, "a"), draft("b"))
