from itertools import count

import pytest

from stateous_supervisor.messages import Attempt
from stateous_supervisor.session import Ask, Held, Over, Phase, Recall, Rest, Session

FIRST, SECOND = Attempt(1, 1), Attempt(2, 1)


def session(places=2):
    numbers = count(1)
    return Session(places, fresh_request=lambda: f"r{next(numbers)}")


def granted(*attempts):
    return [Held(attempt, on_loop=False) for attempt in attempts]


def test_with_one_free_place_one_task_is_asked_for_the_plain_way():
    assert session(places=1).next_claim(0) == Ask("r1", None)


@pytest.mark.parametrize(("places", "most"), [(2, 2), (4, 4), (100, 100), (1000, 100)])
def test_with_more_free_places_as_many_are_asked_for(places, most):
    assert session(places).next_claim(0) == Ask("r1", most)


def test_running_routines_leave_fewer_places_and_then_none():
    it = session(places=2)
    it.next_claim(0)
    assert it.claim_answered(0.1, granted(FIRST)) == [FIRST]
    assert it.next_claim(0.1) == Ask("r2", None)
    assert it.claim_answered(0.2, granted(SECOND)) == [SECOND]
    assert it.next_claim(0.2) == Rest(None)
    assert it.running == 2
    it.ended(0.3, FIRST)
    assert it.next_claim(0.3) == Ask("r3", None)


@pytest.mark.parametrize(
    ("took", "next_step"),
    [
        pytest.param(0.0, Rest(1.0), id="at once: a second later"),
        pytest.param(1.0, Rest(1.0), id="within a second: a second later"),
        pytest.param(1.01, Ask("r2", 2), id="after a wait in the control plane: at once"),
        pytest.param(20.0, Ask("r2", 2), id="after a long wait: at once"),
    ],
)
def test_after_no_task(took, next_step):
    it = session()
    it.next_claim(5)
    it.claim_answered(5 + took, [])
    assert it.next_claim(5 + took) == next_step


def test_the_end_of_a_routine_ends_the_rest_after_no_task():
    it = session()
    it.next_claim(0)
    it.claim_answered(0, granted(FIRST))
    it.next_claim(0)
    it.claim_answered(0, [])
    assert it.next_claim(0.5) == Rest(0.5)
    it.ended(0.5, FIRST)
    assert it.next_claim(0.5) == Ask("r3", 2)


def test_the_end_of_a_routine_does_not_end_the_wait_after_a_refusal_or_for_an_answer():
    for disturb in (lambda it: it.claim_refused(1), lambda it: it.claim_unanswered(1)):
        it = session()
        it.next_claim(0)
        it.claim_answered(0, granted(FIRST))
        it.next_claim(1)
        disturb(it)
        it.ended(1.5, FIRST)
        assert it.next_claim(1.5) == Rest(0.5)


def test_the_request_stays_the_same_until_an_answer_comes():
    it = session()
    now, waits = 0.0, []
    for _ in range(7):
        assert it.next_claim(now) == Ask("r1", 2)
        waits.append(it.claim_unanswered(now))
        assert it.next_claim(now) == Rest(waits[-1])
        now += waits[-1]
    assert waits == [1, 2, 4, 8, 16, 30, 30]
    assert it.next_claim(now) == Ask("r1", 2)
    it.claim_refused(now)
    assert it.next_claim(now) == Rest(1.0)
    assert it.next_claim(now + 1) == Ask("r2", 2)
    assert it.claim_unanswered(now + 1) == 1, "an answer begins the waits anew"


def test_an_answer_that_nobody_can_read_keeps_the_request():
    it = session()
    it.next_claim(0)
    it.claim_unreadable(0)
    assert it.next_claim(0) == Rest(1.0)
    assert it.next_claim(1) == Ask("r1", 2)


def test_an_attempt_that_is_known_is_not_begun_again():
    it = session()
    it.next_claim(0)
    it.claim_answered(0, granted(FIRST))
    it.next_claim(0)
    assert it.claim_answered(0, granted(FIRST, SECOND)) == [SECOND]


def test_an_attempt_is_held_from_its_grant_until_it_is_settled():
    it = session()
    assert it.held == ()
    it.next_claim(0)
    it.claim_answered(0, [Held(FIRST, on_loop=True)])
    assert it.held == (Held(FIRST, on_loop=True),)
    assert it.ended(1, FIRST)
    assert it.held == (Held(FIRST, on_loop=True),)
    assert it.running == 0
    it.settled(FIRST)
    assert it.held == ()
    assert not it.holds(FIRST)


def test_two_attempts_at_a_task_are_two():
    again = Attempt(FIRST.task, 2)
    it = session()
    it.next_claim(0)
    it.claim_answered(0, granted(FIRST))
    it.ended(1, FIRST)
    it.next_claim(1)
    assert it.claim_answered(1, granted(again)) == [again]
    it.settled(FIRST)
    assert it.holds(again)


def test_a_lost_attempt_is_forgotten_and_frees_its_place():
    it = session(places=1)
    it.next_claim(0)
    it.claim_answered(0, granted(FIRST))
    assert it.lost(1, [FIRST, SECOND]) == [FIRST]
    assert it.held == ()
    assert it.next_claim(1) == Ask("r2", None)
    assert not it.ended(2, FIRST), "what it ends with is not reported"
    assert it.lost(3, [FIRST]) == []


def test_an_attempt_whose_routine_has_ended_is_left_to_the_answer_to_its_report():
    it = session()
    it.next_claim(0)
    it.claim_answered(0, granted(FIRST))
    it.ended(1, FIRST)
    assert it.lost(2, [FIRST]) == []
    assert it.holds(FIRST)


def test_the_phases_of_the_signals():
    it = session()
    assert it.phase is Phase.WORKING
    assert [it.stop(), it.stop(), it.stop()] == [Phase.DRAINING, Phase.ABORTING, Phase.ABORTING]


def test_a_stopped_session_claims_no_more_and_runs_what_a_claim_in_flight_brings():
    it = session()
    it.next_claim(0)
    it.stop()
    assert it.claim_answered(1, granted(FIRST)) == [FIRST]
    assert it.next_claim(1) == Over()


def test_a_claim_without_an_answer_is_recalled_once_when_the_session_stops():
    it = session()
    it.next_claim(0)
    it.stop()
    assert it.next_claim(1) == Recall("r1")
    assert it.claim_answered(1, granted(FIRST)) == [FIRST]
    assert it.next_claim(1) == Over()


def test_a_recall_has_one_try():
    it = session()
    it.next_claim(0)
    it.claim_unanswered(0)
    it.stop()
    assert it.next_claim(0.1) == Recall("r1")
    it.claim_unanswered(0.2)
    assert it.next_claim(0.2) == Over()


def test_nothing_is_recalled_when_nothing_was_asked_or_all_was_answered_or_the_session_aborts():
    unasked = session()
    unasked.stop()
    assert unasked.next_claim(0) == Over()

    answered = session()
    answered.next_claim(0)
    answered.claim_answered(0, [])
    answered.stop()
    assert answered.next_claim(0) == Over()

    aborting = session()
    aborting.next_claim(0)
    aborting.stop()
    aborting.stop()
    assert aborting.next_claim(0) == Over()


# While the outbox cannot be written


def test_while_the_outbox_refuses_nothing_is_claimed_and_what_is_held_stays_so():
    it = session()
    it.next_claim(0)
    it.claim_answered(0, granted(FIRST))
    it.outbox_refuses()
    assert it.next_claim(0) == Rest(None)
    assert it.ended(1, FIRST)
    assert it.next_claim(1) == Rest(None)
    assert it.held == tuple(granted(FIRST)), "its report waits, and its lease is renewed"
    it.outbox_takes()
    assert it.next_claim(2) == Ask("r2", 2)


def test_what_a_claim_that_was_cut_was_granted_is_asked_for_until_an_answer_comes():
    it = session()
    assert it.next_claim(0) == Ask("r1", 2)
    it.outbox_refuses()
    assert it.next_claim(0.5) == Recall("r1")
    it.claim_unanswered(1)
    assert it.next_claim(1.5) == Rest(0.5)
    assert it.next_claim(2) == Recall("r1")
    assert it.claim_answered(2.5, granted(FIRST)) == [FIRST]
    assert it.next_claim(2.5) == Rest(None)


def test_a_claim_without_an_answer_is_repeated_once_the_outbox_takes_messages_again():
    it = session()
    it.next_claim(0)
    it.outbox_refuses()
    it.outbox_takes()
    assert it.next_claim(1) == Ask("r1", 2)


def test_a_stop_while_the_outbox_refuses_ends_the_claims():
    it = session()
    it.outbox_refuses()
    it.stop()
    assert it.next_claim(0) == Over()
