"""Claims in the writer: the queue, those that wait, `max`, twins (`docs/spec/wire.md` 2.5, 3.8)."""

from __future__ import annotations

from stateous_controlplane.engine.commands import EndLease, Fire, ReportFailed, Start
from tests.support.graphs import flow, graph
from tests.support.writer import LEASE, Writer, claim, given


def test_the_task_that_was_queued_first_comes_first_among_all_states() -> None:
    writer = Writer()
    writer.start("A", "B", "C")
    writer.fire("A", "done")
    got = [given(writer.ask(claim("rest", "work"))) for _ in range(4)]
    assert got == [[(2, 1)], [(3, 1)], [(4, 1)], []]


def test_a_retried_task_goes_to_the_end_of_the_queue() -> None:
    writer = Writer()
    writer.start("A", "B")
    writer.ask(claim())
    writer.ask(ReportFailed(1, "boom"))
    assert given(writer.ask(claim(max=10))) == [(2, 1), (1, 2)]


def test_without_a_state_that_has_work_there_is_nothing() -> None:
    writer = Writer()
    writer.start("A")
    assert writer.ask(claim("rest")) is None
    assert writer.ask(claim("loop/work")) is None
    assert writer.ask(claim("/work")) is None
    assert writer.ask(claim("WORK")) is None
    assert writer.ask(claim("rest", max=3)) == {"tasks": []}


def test_claims_of_one_batch_get_one_task_each_in_order_of_arrival() -> None:
    writer = Writer()
    writer.start("A", "B")
    asked = [writer.submit(claim(supervisor=f"box-{number}")) for number in range(3)]
    writer.run()
    assert [given(writer.body(each)) for each in asked] == [[(1, 1)], [(2, 1)], []]


def test_max_gives_so_many_and_is_answered_as_a_list() -> None:
    writer = Writer()
    writer.start("A", "B", "C")
    assert given(writer.ask(claim(max=2))) == [(1, 1), (2, 1)]
    assert given(writer.ask(claim(max=2))) == [(3, 1)]
    assert writer.ask(claim(max=2)) == {"tasks": []}


def test_a_deep_queue_is_taken_in_order_whatever_else_the_batch_does() -> None:
    writer = Writer()
    writer.start(*(f"T-{number}" for number in range(1, 13)))
    asked = [
        writer.submit(request)
        for request in (
            Start("late"),
            claim(max=3),
            Fire("T-4", "done"),
            claim(),
            Fire("T-6", "stop"),
            Start("later"),
            claim(max=4),
        )
    ]
    writer.run()
    assert given(writer.body(asked[1])) == [(1, 1), (2, 1), (3, 1)]
    assert given(writer.body(asked[3])) == [(5, 1)]
    assert given(writer.body(asked[6])) == [(7, 1), (8, 1), (9, 1), (10, 1)]


def test_a_grant_tells_all_that_a_routine_needs() -> None:
    writer = Writer()
    writer.start("A")
    assert writer.ask(claim()) == {
        "task": 1,
        "token": "A",
        "state": "work",
        "visit": 1,
        "attempt": 1,
        "context": {},
        "memory": {},
        "entered_by": {"name": "__started__"},
    }


# ── claims that wait ────────────────────────────────────────────────────


def test_a_waiting_claim_is_served_in_the_batch_that_queues_the_task() -> None:
    writer = Writer()
    waiting = writer.submit(claim(wait=30))
    writer.run()
    assert writer.waits(waiting)
    writer.store.commits.clear()
    started = writer.submit(Start("A"))
    writer.run()
    assert given(writer.body(waiting)) == [(1, 1)]
    assert writer.status(started) == 201
    assert len(writer.store.commits) == 1
    assert writer.store.commits[0][-1] == "A task_claimed"


def test_waiting_claims_are_served_in_order_of_arrival() -> None:
    writer = Writer()
    waiting = [
        writer.submit(claim(*states, wait=30, supervisor=name))
        for name, states in (("b1", ("rest",)), ("b2", ("work",)), ("b3", ("work", "rest")))
    ]
    writer.run()
    writer.start("A")
    assert [given(writer.body(each)) for each in waiting if not writer.waits(each)] == [[(1, 1)]]
    assert writer.waits(waiting[0])
    writer.start("B")
    assert given(writer.body(waiting[2])) == [(2, 1)]
    writer.fire("A", "done")
    assert given(writer.body(waiting[0])) == [(3, 1)]


def test_a_claim_that_comes_later_does_not_overtake_one_that_waits() -> None:
    writer = Writer()
    first = writer.submit(claim(wait=30, supervisor="first"))
    writer.run()
    second = writer.submit(claim(wait=30, supervisor="second"))
    writer.submit(Start("A"))
    third = writer.submit(claim(supervisor="third"))
    writer.run()
    assert given(writer.body(first)) == [(1, 1)]
    assert writer.waits(second)
    assert writer.body(third) is None


def test_a_retried_and_a_taken_back_task_wake_a_claim_too() -> None:
    writer = Writer()
    writer.start("A")
    writer.ask(claim())
    waiting = writer.submit(claim(wait=30, supervisor="box-2"))
    writer.submit(ReportFailed(1, "boom"))
    writer.run()
    assert given(writer.body(waiting)) == [(1, 2)]
    waiting = writer.submit(claim(wait=30, supervisor="box-3"))
    writer.run()
    writer.clock.advance(121)
    writer.ask(EndLease(1, LEASE))
    assert given(writer.body(waiting)) == [(1, 3)]


def test_a_waiting_claim_is_answered_empty_when_its_time_is_over() -> None:
    writer = Writer()
    short = writer.submit(claim(wait=5))
    long = writer.submit(claim(wait=30, max=3, supervisor="box-2"))
    writer.run()
    assert writer.sequencer.wake_at() <= writer.clock.monotonic() + 5  # type: ignore[operator]
    writer.pass_time(4.9)
    assert writer.waits(short)
    writer.pass_time(0.1)
    assert (writer.status(short), writer.body(short)) == (204, None)
    writer.pass_time(25)
    assert writer.body(long) == {"tasks": []}
    writer.start("A")
    assert writer.task(1).claimed_by is None


def test_the_deadline_of_a_waiting_claim_wakes_the_sequencer() -> None:
    writer = Writer()
    writer.pass_time(1)
    waiting = writer.submit(claim(wait=1))
    writer.run()
    deadline = waiting.deadline
    writer.pass_time(0.5)
    writer.submit(claim(wait=30, supervisor="box-2"))
    writer.run()
    assert writer.sequencer.wake_at() == deadline


def test_nobody_is_given_anything_after_going_away() -> None:
    writer = Writer()
    gone = writer.submit(claim(wait=30, supervisor="gone"))
    there = writer.submit(claim(wait=30, supervisor="there"))
    writer.run()
    gone.withdrawn = True
    writer.start("A")
    assert given(writer.body(there)) == [(1, 1)]
    assert writer.task(1).claimed_by == "there"


def test_with_nothing_to_claim_from_the_answer_is_empty_at_once() -> None:
    writer = Writer()
    nothing = claim(wait=30, request="r")
    nothing = type(nothing)(nothing.supervisor, (), (), nothing.request, 30)
    assert writer.ask(nothing) is None


def test_a_waiting_claim_of_jobs_alone_waits_and_gets_no_task_of_a_token() -> None:
    writer = Writer()
    jobs = type(claim())("box-1", (), ("machine/work", "work"), None, 30)
    waiting = writer.submit(jobs)
    writer.start("A")
    assert writer.waits(waiting)
    writer.pass_time(30)
    assert writer.body(waiting) is None


def test_a_waiting_claim_with_max_gets_what_there_is() -> None:
    writer = Writer()
    waiting = writer.submit(claim(wait=30, max=10))
    writer.run()
    writer.submit(Start("A"))
    writer.submit(Start("B"))
    writer.run()
    assert given(writer.body(waiting)) == [(1, 1)]
    assert given(writer.ask(claim(max=10))) == [(2, 1)]


def test_when_the_waits_end_all_are_answered_and_nobody_waits_any_more() -> None:
    writer = Writer()
    waiting = writer.submit(claim(wait=30))
    writer.run()
    queued = writer.submit(claim(wait=30, max=2, supervisor="box-2"))
    writer.sequencer.end_waits()
    assert writer.body(waiting) is None
    writer.run()
    assert writer.body(queued) == {"tasks": []}
    late = writer.submit(claim(wait=30, supervisor="box-3"))
    writer.sequencer.end()
    assert writer.body(late) is None


def test_at_the_end_what_was_handed_in_is_still_done() -> None:
    writer = Writer()
    waiting = writer.submit(claim(wait=30))
    asked = [writer.submit(Start(f"T-{number}")) for number in range(100)]
    writer.sequencer.end()
    assert {writer.status(each) for each in asked} == {201}
    assert given(writer.body(waiting)) in ([], [(1, 1)])


# ── twins ───────────────────────────────────────────────────────────────


def test_two_equal_requests_at_once_get_one_grant() -> None:
    writer = Writer()
    writer.start("A", "B")
    twins = [writer.submit(claim(request="r1")) for _ in range(2)]
    writer.run()
    assert [given(writer.body(each)) for each in twins] == [[(1, 1)], [(1, 1)]]
    assert writer.task(2).claimed_by is None
    assert writer.kinds("A").count("task_claimed") == 1


def test_two_equal_requests_that_wait_get_one_grant() -> None:
    writer = Writer()
    first = writer.submit(claim(request="r1", wait=30))
    writer.run()
    second = writer.submit(claim("rest", request="r1", wait=30))
    third = writer.submit(claim(request="r2", wait=30, supervisor="box-2"))
    writer.run()
    writer.start("A")
    assert [given(writer.body(each)) for each in (first, second)] == [[(1, 1)], [(1, 1)]]
    assert writer.waits(third)


def test_equal_requests_of_two_supervisors_are_no_twins() -> None:
    writer = Writer()
    waiting = [writer.submit(claim(request="r", wait=30, supervisor=name)) for name in "ab"]
    writer.run()
    writer.start("A")
    assert writer.waits(waiting[1])
    writer.start("B")
    assert given(writer.body(waiting[1])) == [(2, 1)]


def test_twins_that_come_with_the_task_get_one_grant_though_there_is_more() -> None:
    # Two tasks are queued while both wait: the second stays for somebody else.
    writer = Writer()
    twins = [writer.submit(claim(request="r1", wait=30)) for _ in range(2)]
    writer.submit(Start("A"))
    writer.submit(Start("B"))
    writer.run()
    assert [given(writer.body(each)) for each in twins] == [[(1, 1)], [(1, 1)]]
    assert writer.task(2).claimed_by is None


def test_claims_without_a_request_are_never_twins() -> None:
    writer = Writer()
    waiting = [writer.submit(claim(wait=30)) for _ in range(2)]
    writer.run()
    writer.start("A")
    assert given(writer.body(waiting[0])) == [(1, 1)]
    assert writer.waits(waiting[1])


def test_a_document_with_children_names_their_queues() -> None:
    writer = Writer(
        graph(
            "START -> work\nwork -> all on go\nall -> END on joined",
            states={"all": {"parallel": ["code"]}},
            workflows={"code": flow("START -> work\nwork -> END on seen")},
        )
    )
    writer.start("A")
    assert writer.ask(claim("code/work")) is None
    assert given(writer.ask(claim("code/work", "work"))) == [(1, 1)]
