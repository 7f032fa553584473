from stateous_supervisor.messages import Attempt, Message
from stateous_supervisor.pending import Pending


def note(row, task=1, attempt=1):
    return Message(row, Attempt(task, attempt), "T", "note", {"text": str(row)})


def pending(*messages):
    made = Pending()
    for message in messages:
        made.add(message)
    return made


def test_a_task_has_its_messages_one_after_the_other_also_of_two_attempts():
    it = pending(note(1), note(2, task=2), note(3, attempt=2))
    assert it.head(1) == note(1)
    it.done(note(1))
    assert it.head(1) == note(3, attempt=2)
    assert it.head(2) == note(2, task=2)
    it.done(note(3, attempt=2))
    assert it.head(1) is None
    it.done(note(3, attempt=2))


def test_the_first_message_of_all_is_the_oldest_that_can_go():
    it = pending(note(1), note(2, task=2), note(3))
    assert it.first() == note(1)
    assert it.stay(1) == (note(1), note(3))
    assert it.first() == note(2, task=2)
    it.done(note(2, task=2))
    assert it.first() is None


def test_a_task_that_stays_sends_nothing_more():
    it = pending(note(1))
    it.stay(1)
    it.add(note(2))
    assert it.stays(1)
    assert it.head(1) is None


def test_a_replacement_stands_where_the_replaced_one_stood():
    it = pending(note(1), note(2))
    it.replace(note(1), note(9))
    assert it.head(1) == note(9)
    it.done(note(9))
    assert it.head(1) == note(2)


def test_a_forgotten_attempt_leaves_the_messages_of_the_other():
    it = pending(note(1), note(2, attempt=2))
    it.forget(Attempt(1, 1))
    assert it.head(1) == note(2, attempt=2)
    it.forget(Attempt(1, 2))
    it.forget(Attempt(5, 1))
    assert it.head(1) is None


def emit(row, number, attempt=1, data=None):
    body = {"number": number, "event": "tick", "data": data}
    return Message(row, Attempt(1, attempt), "T", "emit", body)


def test_emitted_values_go_together():
    it = pending(emit(1, 1), emit(2, 2), emit(4, 3))
    assert it.with_followers(emit(1, 1)) == (emit(1, 1), emit(2, 2), emit(4, 3))


def test_all_else_goes_alone():
    it = pending(note(1), note(2))
    assert it.with_followers(note(1)) == (note(1),)


def test_what_stands_between_is_not_overtaken():
    it = pending(emit(1, 1), note(2), emit(3, 2))
    assert it.with_followers(emit(1, 1)) == (emit(1, 1),)


def test_values_of_two_attempts_do_not_go_together():
    it = pending(emit(1, 1), emit(2, 2, attempt=2))
    assert it.with_followers(emit(1, 1)) == (emit(1, 1),)


def test_values_with_a_hole_between_do_not_go_together():
    it = pending(emit(1, 1), emit(2, 3))
    assert it.with_followers(emit(1, 1)) == (emit(1, 1),)


def test_a_request_has_so_many_values_and_bytes():
    many = [emit(number, number) for number in range(1, 700)]
    assert len(pending(*many).with_followers(many[0])) == 500

    large = [emit(number, number, data="x" * 400_000) for number in range(1, 5)]
    assert len(pending(*large).with_followers(large[0])) == 2

    huge = [emit(number, number, data="x" * 1_048_574) for number in range(1, 3)]
    assert pending(*huge).with_followers(huge[0]) == (huge[0],)
