from stateous_supervisor.backoff import Backoff


def test_a_call_without_an_answer_waits_longer_and_longer_without_end():
    backoff = Backoff()
    assert [backoff.unanswered() for _ in range(8)] == [1, 2, 4, 8, 16, 30, 30, 30]


def test_an_answer_begins_it_anew():
    backoff = Backoff()
    backoff.unanswered()
    backoff.unanswered()
    backoff.answered()
    assert backoff.unanswered() == 1
