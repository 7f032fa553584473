"""Machines as jobs: child runs (`docs/spec/statechart.md` 10.1, 14)."""

from __future__ import annotations

import pytest

from stateous.limits import MAX_RUNS_BEGUN
from stateous.statechart.run_ids import child_id
from stateous_controlplane.engine.commands import SubmitRun
from stateous_controlplane.engine.decide import Decision, Unready, decide
from tests.support.charts import chart
from tests.support.runs import R, Runs

M = """
input: { n: number, note: string? }
initial: a
states:
  a: { ticket: t, timers: { late: 1h }, job: { script: s.js }, on: { done: b, x: c, bad: c } }
  b: { end: done, output: "${input.n + event.data}" }
  c: { end: failed, output: "${event.data}" }
"""
PARENT = chart(
    """
    initial: p
    states:
      p:
        jobs: { one: { machine: m.yaml, input: { n: 1 } }, two: { machine: m.yaml, input: { n: 2 } } }
        on:
          done: over
          failed: { go: lost, when: "${event.data.output != 'mild'}" }
          leave: away
      over: { end: done, output: "${event.data}" }
      lost: { end: failed, output: "${event}" }
      away: { timers: { nap: 1h } }
    """,
    m=M,
)


def begun() -> Runs:
    runs = Runs(PARENT)
    runs.submit()
    return runs


def test_children_start_in_the_parents_command_with_ids_of_their_own() -> None:
    runs = begun()
    one, two = runs.child("one"), runs.child("two")
    assert one == child_id(R, "p", 1, "one")
    assert runs.said("branch_started") == [
        {"run": one, "machine": "m", "job": "one", "state": "p", "visit": 1},
        {"run": two, "machine": "m", "job": "two", "state": "p", "visit": 1},
    ]
    assert runs.said("started", of=one) == [
        {
            "input": {"n": 1, "note": None},
            "graph": PARENT.checksum,
            "machine": "m",
            "by": "parent",
            "parent": R,
            "job": "one",
        }
    ]
    row = runs.of(one)
    assert (row.top, row.parent, row.parent_state, row.workflow) == (R, R, "p", "m.yaml")
    assert runs.at(one) == "a active"
    # The parent's own step comes first, then its children's, in order.
    assert [(entry.token, entry.kind) for entry in runs.ledger[:4]] == [
        (R, "started"),
        (R, "entered"),
        (R, "branch_started"),
        (one, "started"),
    ]


def test_a_child_that_is_done_finishes_its_job() -> None:
    runs = begun()
    runs.finish(output=10, run=runs.child("two"))
    assert runs.at() == "p active"
    assert runs.said("branch_ended") == [
        {"run": runs.child("two"), "job": "two", "status": "completed", "output": 12}
    ]
    runs.finish(output=10, run=runs.child("one"))
    assert (runs.at(), runs.output()) == ("over completed", {"one": 11, "two": 12})


@pytest.mark.parametrize(
    ("event", "data", "expected"),
    [
        ("x", "gone", {"status": "failed", "error": "ended in c", "output": "gone"}),
        (None, None, {"status": "failed", "error": "the job a failed: boom", "output": None}),
    ],
)
def test_a_child_that_fails_raises_failed(
    event: str | None, data: object, expected: object
) -> None:
    runs = begun()
    one, two = runs.child("one"), runs.child("two")
    if event is None:
        runs.lose(run=one)
    else:
        runs.send(event, data, run=one)
    assert runs.at() == "lost failed"
    assert runs.output() == {"name": "failed", "data": expected, "from": "one"}
    assert runs.at(two) == "a cancelled"
    assert runs.said("cancelled", of=two) == [{"reason": "the parent left 'p'"}]


def test_leaving_cancels_all_the_way_down_and_sends_nothing() -> None:
    deep = chart(
        "states: { p: { job: { machine: m.yaml }, on: { x: q } }, q: {} }\ninitial: p",
        m="""
        states:
          a:
            job: { machine: n.yaml }
            exit: { send: { to: parent, event: bye } }
        """,
        n="states: { b: { ticket: t, exit: { send: { to: parent, event: bye } } } }",
    )
    runs = Runs(deep)
    runs.submit()
    middle = runs.child("p")
    lowest = runs.child("a", middle)
    runs.send("x")
    assert [runs.at(middle), runs.at(lowest)] == ["a cancelled", "b cancelled"]
    assert runs.said("sent") == []
    assert runs.open_tickets(lowest) == []
    assert runs.said("cancelled", of=lowest) == [{"reason": f"the parent {middle!r} was cancelled"}]


def test_a_child_whose_input_does_not_fit_fails_its_job() -> None:
    runs = Runs(
        chart(
            """
            initial: p
            states:
              p: { job: { machine: m.yaml, input: { n: "two" } }, on: { failed: over } }
              over: { end: done, output: "${event}" }
            """,
            m=M,
        )
    )
    runs.submit()
    assert runs.output()["from"] == "p"
    assert runs.output()["data"]["status"] == "failed"
    assert "'n'" in runs.output()["data"]["error"]
    assert runs.said("branch_started") == []


def test_a_child_whose_id_is_taken_fails_its_job() -> None:
    runs = Runs(PARENT)
    runs.taken.add(child_id(R, "p", 1, "two"))
    runs.submit()
    assert runs.at() == "lost failed"
    assert "is taken" in runs.output()["data"]["error"]


def test_sixteen_levels_of_children_and_no_more() -> None:
    runs = Runs(
        chart(
            "states: { p: { job: { machine: m.yaml } } }",
            m="""
            initial: a
            states:
              a: { job: { machine: m.yaml }, on: { failed: b } }
              b: {}
            """,
        )
    )
    runs.submit()
    assert len(runs.family.tokens) == 17
    where = [runs.at(run) for run in runs.family.tokens]
    assert where == ["p active", *["a active"] * 15, "b active"]


#: Two jobs each, sixteen levels deep: 65,000 runs, if nothing kept it from it.
DOUBLING = chart(
    "states: { p: { job: { machine: m.yaml } } }",
    m="""
    initial: a
    states:
      a:
        jobs: { one: { machine: m.yaml }, two: { machine: m.yaml } }
        on: { failed: b }
      b: { timers: { never: 8h } }
    """,
)


def test_one_command_starts_a_thousand_runs_and_no_more() -> None:
    runs = Runs(DOUBLING)
    decision = runs.decide(SubmitRun(R, DOUBLING.checksum))
    created = decision.effects.created
    assert len(created) == MAX_RUNS_BEGUN
    stopped = [decision.effects.tokens[run] for run in created]
    assert {token.state for token in stopped if token.status.live} == {"p", "a", "b"}
    failures = [e.data.value["data"] for e in decision.effects.entries if "most" in e.data.text]
    assert failures[0]["error"] == "one command starts at most 1000 runs"


def test_the_ids_of_all_children_are_looked_up_together() -> None:
    runs, submit = Runs(DOUBLING), SubmitRun(R, DOUBLING.checksum)
    unready = decide(runs.family, submit, runs.situation({}))
    assert isinstance(unready, Unready)
    assert len(unready.ids) == MAX_RUNS_BEGUN - 1
    decided = decide(runs.family, submit, runs.situation(dict.fromkeys(unready.ids, False)))
    assert isinstance(decided, Decision)


def test_a_child_that_ends_at_once_is_told_behind_the_parents_own_steps() -> None:
    runs = Runs(
        chart(
            """
            initial: p
            states:
              p: { jobs: { x: { machine: m.yaml }, y: { machine: m.yaml } }, on: { done: over } }
              over: { end: done, output: "${event.data}" }
            """,
            m="states: { f: { end: done, output: 1 } }",
        )
    )
    runs.submit()
    assert (runs.at(), runs.output()) == ("over completed", {"x": 1, "y": 1})
    assert runs.kinds(of=R) == (
        "started entered branch_started branch_started branch_ended branch_ended "
        "event_accepted left entered completed"
    )


def test_a_child_may_be_cancelled_before_it_entered_anything() -> None:
    runs = Runs(
        chart(
            """
            initial: w
            states:
              w: { defer: [x], on: { go: p } }
              p: { job: { machine: m.yaml }, on: { x: q } }
              q: {}
            """,
            m=M,
        )
    )
    runs.submit()
    runs.send("x")
    runs.send("go")
    assert runs.at() == "q active"
    # Its input did not fit, and nobody hears of that any more.
    assert runs.said("event_dropped") == []
    plain = Runs(
        chart(
            """
            initial: w
            states:
              w: { defer: [x], on: { go: p } }
              p: { job: { machine: m.yaml }, on: { x: q } }
              q: {}
            """,
            m="states: { a: {} }",
        )
    )
    plain.submit()
    plain.send("x")
    plain.send("go")
    child = plain.child("p")
    assert plain.at(child) == " cancelled"
    assert plain.kinds(of=child) == "started cancelled"


def test_a_machine_job_without_an_input_passes_none() -> None:
    runs = Runs(
        chart(
            "states: { p: { jobs: { x: { machine: m.yaml }, y: { machine: n.yaml } } } }",
            m="states: { a: {} }",
            n="input: { k: 'number?' }\nstates: { a: {} }",
        )
    )
    runs.submit()
    assert runs.part(runs.child("x")).input.value is None
    assert runs.part(runs.child("y")).input.value == {"k": None}


def test_timers_and_tickets_of_a_child_are_its_own() -> None:
    runs = begun()
    one = runs.child("one")
    assert runs.open_tickets(one) == ["t"]
    assert list(runs.timers(one)) == ["late"]
    runs.ring("late", run=one)
    assert runs.said("event_dropped", of=one) == [
        {"event": "late", "data": None, "from": "a", "reason": "no_rule"}
    ]
    assert runs.answer("t", run=one) == "answer_not_taken"


TWINS = chart(
    """
    initial: a
    states:
      a:
        jobs: { worker: { machine: m.yaml, input: { n: 1 } } }
        on: { tell: { send: { to: worker, event: x } }, next: b, failed: over }
      b:
        entry: { send: { to: worker, event: x } }
        jobs: { worker: { machine: m.yaml, input: { n: 2 } } }
        on: { failed: over }
      over: { end: done, output: "${event.from}" }
    """,
    m=M,
)


@pytest.mark.parametrize(("event", "state"), [("tell", "a"), ("next", "b")])
def test_of_two_jobs_with_one_name_a_send_reaches_that_of_the_active_state(
    event: str, state: str
) -> None:
    runs = Runs(TWINS)
    runs.submit()
    runs.send(event)
    assert runs.at(child_id(R, state, 1, "worker")) == "c failed"
    assert runs.said("undelivered") == []
    assert runs.at() == "over completed"
